#include "models/llama_layout.h"

namespace pteron::models {

void describe_cohere(Config& config, const HasTensor& has, Decoder& out) {
  // The default of the RoPE base changed between versions of the class, so a configuration that leaves it out does not say what it means.
  auto parameters = config.object("rope_parameters");
  if (!config.has("rope_theta") && !(parameters && parameters->has("rope_theta"))) {
    config.fail("rope_theta", "versions of this architecture disagree about a field that is missing", "a number", "nothing");
  }
  describe_llama_layout(config, has,
                        {.vocab = 256000, .hidden = 8192, .intermediate = 22528, .layers = 40, .heads = 64, .max_positions = 8192, .norm = Norm::Kind::layer, .eps = 1e-5,
                         .interleaved = true, .tied = true},
                        out);
  if (config.boolean("attention_bias", false)) add_attention_biases(out, true);
  const bool head_norms = config.boolean("use_qk_norm", false);
  if (head_norms) add_head_norms(out, 0);
  for (Block& block : out.blocks) {
    block.parallel = true;  // both halves read the one norm
    block.mlp_pre = Norm{};
    block.attention_pre.bias.clear();
    block.attention.query_norm.shape = {out.heads, out.head_dim};
    block.attention.key_norm.shape = {out.kv_heads, out.head_dim};
  }
  out.final_norm.bias.clear();
  out.logits_scale = config.number("logit_scale", 0.0625);
}

}  // namespace pteron::models
