#include "models/llama_layout.h"

namespace pteron::models {

void describe_granite(Config& config, const HasTensor& has, Decoder& out) {
  describe_llama_layout(config, has, {}, out);
  if (config.boolean("attention_bias", false)) add_attention_biases(out, true);
  if (config.boolean("mlp_bias", false)) add_mlp_biases(out);
  const double scale = config.number("attention_multiplier", 1), residual = config.number("residual_multiplier", 1), divisor = config.number("logits_scaling", 1);
  if (divisor == 0) config.fail("logits_scaling", "a field has a wrong value", "a number other than 0", "0");
  for (Block& block : out.blocks) {
    block.attention.scale = scale;
    block.residual_multiplier = residual;
  }
  out.embedding_scale = config.number("embedding_multiplier", 1);
  out.logits_scale = 1 / divisor;
}

}  // namespace pteron::models
