#include <cmath>

#include "models/llama_layout.h"

namespace pteron::models {
namespace {

// The activation: `hidden_activation` where set; in the older `hidden_act`, "gelu" means the tanh form.
std::string gemma_activation(Config& config) {
  if (config.has("hidden_activation")) return activation_name(config, "hidden_activation", config.text("hidden_activation", ""));
  const std::string old = config.text("hidden_act", "gelu_pytorch_tanh");
  return old == "gelu" ? "gelu_tanh" : activation_name(config, "hidden_act", old);
}

// What all Gemmas share: norms that add 1 to their weight (unless the file's weights contain it), the scaled embedding, the tanh gate.
double describe_gemma_base(Config& config, const HasTensor& has, LlamaDefaults defaults, Decoder& out) {
  defaults.activation = "gelu_pytorch_tanh";
  defaults.tied = true;
  describe_llama_layout(config, has, defaults, out);
  if (config.boolean("use_bidirectional_attention", false)) {
    config.fail("use_bidirectional_attention", "bidirectional attention is not supported", "false", "true");
  }
  const double offset = config.boolean("norm_weights_include_one", false) ? 0 : 1;
  const std::string activation = gemma_activation(config);
  for (Block& block : out.blocks) {
    block.mlp.activation = activation;
    block.attention_pre.offset = block.mlp_pre.offset = offset;
  }
  out.final_norm.offset = offset;
  out.embedding_scale = std::sqrt(static_cast<double>(out.hidden));
  if (config.boolean("attention_bias", false)) add_attention_biases(out, true);
  return offset;
}

// Gemma 2 and 3: a norm before and after each half of the block, the score scale from the configuration.
void add_sandwich_norms(Config& config, double scalar_default, Decoder& out) {
  const double scalar = config.number("query_pre_attn_scalar", scalar_default);
  if (!(scalar > 0)) config.fail("query_pre_attn_scalar", "a field has a wrong value", "a positive number", std::to_string(scalar));
  for (size_t i = 0; i < out.blocks.size(); ++i) {
    Block& block = out.blocks[i];
    block.attention_post = block.mlp_pre;  // post_attention_layernorm
    block.mlp_pre.weight = layer_prefix(out, i) + "pre_feedforward_layernorm.weight";
    block.mlp_post = block.mlp_pre;
    block.mlp_post.weight = layer_prefix(out, i) + "post_feedforward_layernorm.weight";
    block.attention.scale = 1 / std::sqrt(scalar);
  }
}

// A softcap: absent takes the default, null means none.
double softcap(Config& config, const char* key, double fallback) {
  if (config.mentions(key) && !config.has(key)) return 0;
  const double cap = config.number(key, fallback);
  if (cap < 0) config.fail(key, "a field has a wrong value", "a positive number", std::to_string(cap));
  return cap;
}

}  // namespace

void describe_gemma(Config& config, const HasTensor& has, Decoder& out) {
  describe_gemma_base(config, has, {.vocab = 256000, .hidden = 3072, .intermediate = 24576, .layers = 28, .heads = 16, .kv_heads = 16, .head_dim = 256, .max_positions = 8192}, out);
}

void describe_gemma2(Config& config, const HasTensor& has, Decoder& out) {
  describe_gemma_base(config, has, {.vocab = 256000, .hidden = 2304, .intermediate = 9216, .layers = 26, .heads = 8, .kv_heads = 4, .head_dim = 256, .max_positions = 8192}, out);
  add_sandwich_norms(config, 256, out);
  const double cap = softcap(config, "attn_logit_softcapping", 50);
  for (Block& block : out.blocks) block.attention.softcap = cap;
  out.logits_softcap = softcap(config, "final_logit_softcapping", 30);
  const auto window = config.mentions("sliding_window") ? config.optional_size("sliding_window") : std::optional<int64_t>(4096);
  set_windows(config, window, [](int64_t layer) { return layer % 2 == 0; }, out);
}

void describe_gemma3(Config& config, const HasTensor& has, Decoder& out) {
  const double offset = describe_gemma_base(
      config, has, {.vocab = 262208, .hidden = 2304, .intermediate = 9216, .layers = 26, .heads = 8, .kv_heads = 4, .head_dim = 256, .max_positions = 131072, .theta = 1e6}, out);
  if (!config.status().ok()) return;
  add_sandwich_norms(config, 256, out);
  add_head_norms(out, offset);
  out.logits_softcap = softcap(config, "final_logit_softcapping", 0);
  const auto window = config.mentions("sliding_window") ? config.optional_size("sliding_window") : std::optional<int64_t>(4096);
  const int64_t pattern = config.size("sliding_window_pattern", config.size("_sliding_window_pattern", 6));
  set_windows(config, window, [=](int64_t layer) { return (layer + 1) % pattern != 0; }, out);
  // Sliding layers rotate with their own base, and the scaling of the full ones does not touch them.
  out.ropes.push_back(read_rope(config, {.theta = 10000, .partial = 1, .head_dim = out.head_dim, .max_positions = out.max_positions, .layer_type = "sliding_attention",
                                         .theta_key = "rope_local_base_freq", .old_scaling = false}));
  for (Block& block : out.blocks) block.attention.rope = block.attention.window > 0 ? 1 : 0;
}

}  // namespace pteron::models
