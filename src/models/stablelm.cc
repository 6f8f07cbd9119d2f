#include "models/llama_layout.h"

namespace pteron::models {

void describe_stablelm(Config& config, const HasTensor& has, Decoder& out) {
  describe_llama_layout(config, has,
                        {.vocab = 50304, .hidden = 2560, .intermediate = 6912, .kv_heads = 32, .max_positions = 4096, .norm = Norm::Kind::layer, .eps = 1e-5, .partial = 0.25}, out);
  if (config.boolean("use_qkv_bias", false)) add_attention_biases(out, false);
  const bool parallel = config.boolean("use_parallel_residual", false), head_norms = config.boolean("qk_layernorm", false);
  for (size_t i = 0; i < out.blocks.size(); ++i) {
    Block& block = out.blocks[i];
    block.parallel = parallel;
    if (parallel) block.mlp_pre = Norm{};
    if (!head_norms) continue;
    const auto norm = [&](const char* name, int64_t heads) {
      Norm n = block.attention_pre;
      n.weight.clear();
      n.bias.clear();
      n.shape = {heads, out.head_dim};
      for (int64_t h = 0; h < heads; ++h) n.weight_rows.push_back(layer_prefix(out, i) + "self_attn." + name + ".norms." + std::to_string(h) + ".weight");
      return n;
    };
    block.attention.query_norm = norm("q_layernorm", out.heads);
    block.attention.key_norm = norm("k_layernorm", out.kv_heads);
  }
}

}  // namespace pteron::models
