// The tensors of a GGUF file under their Hugging Face names and in their Hugging Face layout.
#pragma once

#include <memory>

#include "core/constant_source.h"
#include "import/gguf_config.h"

namespace pteron::importer {

// Row permutations keep the block encoding. An error for a tensor that the architecture does not
// have: computing without it would give another model.
Result<std::shared_ptr<const WeightSource>> gguf_weights(const GgufFile& file, const GgufArchitecture& architecture);

}  // namespace pteron::importer
