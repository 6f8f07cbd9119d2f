#include <cmath>

#include "models/llama_layout.h"

namespace pteron::models {
namespace {

Norm layer_norm(const std::string& name, int64_t hidden, double eps) {
  Norm n;
  n.kind = Norm::Kind::layer;
  n.weight = name + ".weight";
  n.bias = name + ".bias";
  n.shape = {hidden};
  n.eps = eps;
  return n;
}

// Weights are stored as [in, out].
Matrix transposed(const std::string& name, int64_t out, int64_t in) {
  Matrix m;
  m.weight = name + ".weight";
  m.bias = name + ".bias";
  m.out = out;
  m.in = in;
  m.transposed = true;
  return m;
}

Block gpt2_block(const Decoder& d, const std::string& prefix, double eps, int64_t inner, const std::string& activation) {
  Block b;
  b.attention_pre = layer_norm(prefix + "ln_1", d.hidden, eps);
  b.mlp_pre = layer_norm(prefix + "ln_2", d.hidden, eps);
  for (Matrix* m : {&b.attention.query, &b.attention.key, &b.attention.value}) *m = transposed(prefix + "attn.c_attn", d.hidden, d.hidden);
  fuse(prefix + "attn.c_attn.weight", {{&b.attention.query, "query"}, {&b.attention.key, "key"}, {&b.attention.value, "value"}});
  b.attention.output = transposed(prefix + "attn.c_proj", d.hidden, d.hidden);
  b.mlp.gated = false;
  b.mlp.activation = activation;
  b.mlp.up = transposed(prefix + "mlp.c_fc", inner, d.hidden);
  b.mlp.down = transposed(prefix + "mlp.c_proj", d.hidden, inner);
  return b;
}

}  // namespace

void describe_gpt2(Config& config, const HasTensor& has, Decoder& out) {
  out.vocab = config.size("vocab_size", 50257);
  out.hidden = config.size("n_embd", config.size("hidden_size", 768));
  out.heads = out.kv_heads = config.size("n_head", config.size("num_attention_heads", 12, kMaxHeads), kMaxHeads);
  const int64_t layers = config.size("n_layer", config.size("num_hidden_layers", 12, kMaxLayers), kMaxLayers);
  out.max_positions = config.size("n_positions", config.size("max_position_embeddings", 1024));
  out.positions_limited = true;
  const double eps = norm_eps(config, "layer_norm_epsilon", 1e-5);
  const std::string activation = activation_name(config, "activation_function", config.text("activation_function", "gelu_new"));
  const int64_t inner = config.optional_size("n_inner").value_or(4 * out.hidden);
  if (config.boolean("add_cross_attention", false)) config.fail("add_cross_attention", "cross attention is not supported", "false", "true");
  if (out.hidden % out.heads != 0) config.fail("n_head", "the heads do not divide the hidden size", "a divisor of " + std::to_string(out.hidden), std::to_string(out.heads));
  if (!config.status().ok()) return;
  out.head_dim = out.hidden / out.heads;
  const std::string prefix = find_prefix(has, {"transformer.", ""}, "wte.weight");
  out.embedding = prefix + "wte.weight";
  out.position_embedding = prefix + "wpe.weight";
  const double scale = config.boolean("scale_attn_weights", true) ? 1 / std::sqrt(static_cast<double>(out.head_dim)) : 1;
  const bool by_layer = config.boolean("scale_attn_by_inverse_layer_idx", false);
  for (int64_t i = 0; i < layers; ++i) {
    out.blocks.push_back(gpt2_block(out, prefix + "h." + std::to_string(i) + ".", eps, inner, activation));
    out.blocks.back().attention.scale = by_layer ? scale / static_cast<double>(i + 1) : scale;
  }
  out.final_norm = layer_norm(prefix + "ln_f", out.hidden, eps);
  out.tied = config.boolean("tie_word_embeddings", true);
  out.head.weight = "lm_head.weight";
  out.head.out = out.vocab;
  out.head.in = out.hidden;
  out.ignored = {"attn.bias", "attn.masked_bias"};
  if (out.tied) out.ignored.push_back("lm_head.weight");
}

}  // namespace pteron::models
