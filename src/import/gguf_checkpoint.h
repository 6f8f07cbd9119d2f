// A GGUF file as a checkpoint.
#pragma once

#include "import/checkpoint.h"

namespace pteron::importer {

Result<Checkpoint> open_gguf_checkpoint(const std::string& path);

}  // namespace pteron::importer
