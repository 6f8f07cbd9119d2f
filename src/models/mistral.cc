#include "models/llama_layout.h"

namespace pteron::models {

void describe_mistral(Config& config, const HasTensor& has, Decoder& out) {
  describe_llama_layout(config, has, {.intermediate = 14336, .kv_heads = 8, .max_positions = 131072}, out);
  // Only an explicit null means that no layer slides.
  const auto window = config.mentions("sliding_window") ? config.optional_size("sliding_window") : std::optional<int64_t>(4096);
  set_windows(config, window, [](int64_t) { return true; }, out);
}

}  // namespace pteron::models
