#include "models/llama_layout.h"

namespace pteron::models {

void describe_llama(Config& config, const HasTensor& has, Decoder& out) {
  describe_llama_layout(config, has, {}, out);
  if (config.boolean("attention_bias", false)) add_attention_biases(out, true);
  if (config.boolean("mlp_bias", false)) add_mlp_biases(out);
}

}  // namespace pteron::models
