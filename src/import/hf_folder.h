// A Hugging Face folder as a checkpoint.
#pragma once

#include "import/checkpoint.h"

namespace pteron::importer {

Result<Checkpoint> open_hf_folder(const std::string& folder);

}  // namespace pteron::importer
