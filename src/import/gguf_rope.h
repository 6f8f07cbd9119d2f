// Rotary embeddings in GGUF: metadata keys and factor tensors, as Hugging Face rope fields.
#pragma once

#include <nlohmann/json.hpp>

#include "import/gguf_config.h"

namespace pteron::importer {

// Writes rope_theta, partial_rotary_factor and rope_scaling. A file gives the factors that Llama 3 applies to its frequencies as the tensor
// rope_freqs.weight and says no more: where they are those of the rule (factor, low 1, high 4, original context 8192) the config says
// "llama3", else "longrope" with these factors for every length and no change of magnitude, which is the same arithmetic.
Status write_rope(const GgufFile& file, const GgufArchitecture& architecture, const GgufHeads& heads, nlohmann::json& config);

}  // namespace pteron::importer
