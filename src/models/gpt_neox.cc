#include "models/llama_layout.h"

namespace pteron::models {

void describe_gpt_neox(Config& config, const HasTensor& has, Decoder& out) {
  describe_llama_layout(config, has,
                        {.vocab = 50432, .hidden = 6144, .intermediate = 24576, .layers = 44, .heads = 64, .max_positions = 2048, .norm = Norm::Kind::layer, .eps = 1e-5,
                         .partial = 0.25, .activation = "gelu"},
                        out);
  if (!config.status().ok()) return;
  const std::string prefix = find_prefix(has, {"gpt_neox.", ""}, "embed_in.weight");
  const bool bias = config.boolean("attention_bias", true), parallel = config.boolean("use_parallel_residual", true);
  out.embedding = prefix + "embed_in.weight";
  out.final_norm.weight = prefix + "final_layer_norm.weight";
  out.final_norm.bias = prefix + "final_layer_norm.bias";
  out.head.weight = "embed_out.weight";
  for (size_t i = 0; i < out.blocks.size(); ++i) {
    const std::string layer = prefix + "layers." + std::to_string(i) + ".";
    Block& block = out.blocks[i];
    block.parallel = parallel;
    block.mlp.gated = false;
    for (auto [norm, name] : {std::pair{&block.attention_pre, "input_layernorm"}, std::pair{&block.mlp_pre, "post_attention_layernorm"}}) {
      norm->weight = layer + name + ".weight";
      norm->bias = layer + name + ".bias";
    }
    fuse_by_head(layer + "attention.query_key_value", bias, out.heads, out.heads, out.head_dim, block.attention);
    rename(block.attention.output, layer + "attention.dense", bias);
    rename(block.mlp.up, layer + "mlp.dense_h_to_4h", true);
    rename(block.mlp.down, layer + "mlp.dense_4h_to_h", true);
  }
  out.ignored = {"attention.bias", "attention.masked_bias", "rotary_emb.inv_freq"};
  if (out.tied) out.ignored.push_back("embed_out.weight");
}

}  // namespace pteron::models
