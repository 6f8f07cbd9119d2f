#include "models/llama_layout.h"

namespace pteron::models {

void describe_olmo2(Config& config, const HasTensor& has, Decoder& out) {
  describe_llama_layout(config, has, {.vocab = 50304, .eps = 1e-5}, out);
  if (config.boolean("attention_bias", false)) add_attention_biases(out, true);
  add_head_norms(out, 0);
  for (size_t i = 0; i < out.blocks.size(); ++i) {
    Block& block = out.blocks[i];
    // Norms follow the halves of the block, and those of query and key span all heads.
    block.attention_post = block.mlp_pre;
    block.mlp_post = block.mlp_pre;
    block.mlp_post.weight = layer_prefix(out, i) + "post_feedforward_layernorm.weight";
    block.attention_pre = block.mlp_pre = Norm{};
    block.attention.norm_whole = true;
    block.attention.query_norm.shape = {block.attention.query.out};
    block.attention.key_norm.shape = {block.attention.key.out};
  }
}

}  // namespace pteron::models
