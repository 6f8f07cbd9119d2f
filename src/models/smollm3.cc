#include "models/llama_layout.h"

namespace pteron::models {

void describe_smollm3(Config& config, const HasTensor& has, Decoder& out) {
  describe_llama_layout(config, has, {.vocab = 128256, .hidden = 2048, .layers = 36, .heads = 16, .kv_heads = 4, .max_positions = 32768, .theta = 2e6, .tied = true}, out);
  if (config.boolean("attention_bias", false)) add_attention_biases(out, true);
  if (config.boolean("mlp_bias", false)) add_mlp_biases(out);
  // The name is the wrong way round: 1 marks a layer that rotates.
  const std::vector<int64_t> rotates = config.integers("no_rope_layers");
  const int64_t interval = config.size("no_rope_layer_interval", 4);
  if (!rotates.empty() && rotates.size() != out.blocks.size()) {
    config.fail("no_rope_layers", "there must be one entry a layer", std::to_string(out.blocks.size()), std::to_string(rotates.size()));
    return;
  }
  const auto has_rope = [&](int64_t layer) { return rotates.empty() ? (layer + 1) % interval != 0 : rotates[static_cast<size_t>(layer)] != 0; };
  std::optional<int64_t> window;
  if (config.boolean("use_sliding_window", false)) window = config.optional_size("sliding_window");
  set_windows(config, window, [&](int64_t layer) { return !has_rope(layer); }, out);
  for (size_t i = 0; i < out.blocks.size(); ++i) {
    if (!has_rope(static_cast<int64_t>(i))) out.blocks[i].attention.rope = -1;
  }
}

}  // namespace pteron::models
