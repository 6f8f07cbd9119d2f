#include "models/llama_layout.h"

namespace pteron::models {
namespace {

void name_norm(Norm& norm, const std::string& name) {
  norm.weight = name + ".weight";
  norm.bias = name + ".bias";
}

}  // namespace

void describe_falcon(Config& config, const HasTensor& has, Decoder& out) {
  const bool new_decoder = config.boolean("new_decoder_architecture", false), multi_query = config.boolean("multi_query", true);
  const bool parallel = new_decoder || config.boolean("parallel_attn", true), bias = config.boolean("bias", false);
  const int64_t heads = config.size("num_attention_heads", config.size("n_head", 71, kMaxHeads), kMaxHeads);
  describe_llama_layout(config, has,
                        {.vocab = 65024, .hidden = 4544, .intermediate = 4 * config.size("hidden_size", 4544), .layers = config.size("n_layer", 32, kMaxLayers), .heads = heads,
                         .norm = Norm::Kind::layer, .eps = 1e-5, .tied = true, .activation = "gelu"},
                        out);
  if (!config.status().ok()) return;
  out.kv_heads = new_decoder ? config.size("num_kv_heads", heads, kMaxHeads) : multi_query ? 1 : heads;
  if (heads % out.kv_heads != 0) config.fail("num_kv_heads", "the key heads do not divide the query heads", "a divisor of " + std::to_string(heads), std::to_string(out.kv_heads));
  const int64_t intermediate = config.size("ffn_hidden_size", 4 * out.hidden);
  const double eps = norm_eps(config, "layer_norm_epsilon", 1e-5);
  const std::string activation = activation_name(config, "activation", config.text("activation", "gelu"));
  out.alibi = config.boolean("alibi", false);
  if (out.alibi) out.ropes.clear();
  const bool two_norms = new_decoder && config.size("num_ln_in_parallel_attn", 2) == 2;
  const std::string prefix = find_prefix(has, {"transformer.", ""}, "word_embeddings.weight");
  out.embedding = prefix + "word_embeddings.weight";
  out.final_norm.eps = eps;
  name_norm(out.final_norm, prefix + "ln_f");
  for (size_t i = 0; i < out.blocks.size(); ++i) {
    const std::string layer = prefix + "h." + std::to_string(i) + ".";
    Block& block = out.blocks[i];
    block.attention_pre.eps = block.mlp_pre.eps = eps;
    name_norm(block.attention_pre, layer + (two_norms ? "ln_attn" : "input_layernorm"));
    name_norm(block.mlp_pre, layer + (two_norms ? "ln_mlp" : "post_attention_layernorm"));
    if (parallel && !two_norms) block.mlp_pre = Norm{};
    block.parallel = parallel;
    Attention& a = block.attention;
    if (out.alibi) a.rope = -1;
    a.key.out = a.value.out = out.kv_heads * out.head_dim;
    if (multi_query && !new_decoder) {
      for (Matrix* m : {&a.query, &a.key, &a.value}) m->bias = bias ? layer + "self_attention.query_key_value.bias" : "";
      fuse(layer + "self_attention.query_key_value.weight", {{&a.query, "query"}, {&a.key, "key"}, {&a.value, "value"}});
    } else {
      fuse_by_head(layer + "self_attention.query_key_value", bias, heads, out.kv_heads, out.head_dim, a);
    }
    rename(a.output, layer + "self_attention.dense", bias);
    block.mlp.gated = false;
    block.mlp.activation = activation;
    block.mlp.up.out = block.mlp.down.in = intermediate;
    rename(block.mlp.up, layer + "mlp.dense_h_to_4h", bias);
    rename(block.mlp.down, layer + "mlp.dense_4h_to_h", bias);
  }
}

}  // namespace pteron::models
