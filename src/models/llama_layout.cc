#include "models/llama_layout.h"

#include <algorithm>
#include <cmath>

namespace pteron::models {
namespace {

constexpr const char* kEmbedding = "embed_tokens.weight";

std::string model_prefix(const Decoder& decoder) { return decoder.embedding.substr(0, decoder.embedding.size() - std::char_traits<char>::length(kEmbedding)); }

// Where the output head lies beside a model under `prefix`.
std::string head_name(const std::string& prefix) { return (prefix == "language_model.model." ? "language_model." : "") + std::string("lm_head.weight"); }

Block plain_block(const Decoder& d, const std::string& prefix, int64_t intermediate, const LlamaDefaults& defaults, double eps, const std::string& activation) {
  const auto norm = [&](const char* name) {
    Norm n;
    n.kind = defaults.norm;
    n.weight = prefix + name + ".weight";
    if (defaults.norm == Norm::Kind::layer) n.bias = prefix + name + ".bias";
    n.shape = {d.hidden};
    n.eps = eps;
    return n;
  };
  const auto matrix = [&](const char* name, int64_t out, int64_t in) {
    Matrix m;
    m.weight = prefix + name + ".weight";
    m.out = out;
    m.in = in;
    return m;
  };
  Block b;
  b.attention_pre = norm("input_layernorm");
  b.mlp_pre = norm("post_attention_layernorm");
  b.attention.query = matrix("self_attn.q_proj", d.heads * d.head_dim, d.hidden);
  b.attention.key = matrix("self_attn.k_proj", d.kv_heads * d.head_dim, d.hidden);
  b.attention.value = matrix("self_attn.v_proj", d.kv_heads * d.head_dim, d.hidden);
  b.attention.output = matrix("self_attn.o_proj", d.hidden, d.heads * d.head_dim);
  b.attention.rope = 0;
  b.attention.scale = 1 / std::sqrt(static_cast<double>(d.head_dim));
  b.mlp.activation = activation;
  b.mlp.gate = matrix("mlp.gate_proj", intermediate, d.hidden);
  b.mlp.up = matrix("mlp.up_proj", intermediate, d.hidden);
  b.mlp.down = matrix("mlp.down_proj", d.hidden, intermediate);
  return b;
}

std::string bias_of(const Matrix& m) { return m.weight.substr(0, m.weight.size() - 6) + "bias"; }

}  // namespace

std::string activation_name(Config& config, std::string_view key, const std::string& name) {
  if (name == "silu" || name == "swish") return "silu";
  if (name == "gelu" || name == "gelu_python") return "gelu";
  if (name == "gelu_new" || name == "gelu_pytorch_tanh" || name == "gelu_fast" || name == "gelu_tanh") return "gelu_tanh";
  if (name == "relu") return "relu";
  config.fail(key, "the activation is not supported", "silu, gelu, gelu_new, gelu_pytorch_tanh or relu", name);
  return "silu";
}

double norm_eps(Config& config, std::string_view key, double fallback) {
  const double eps = config.number(key, fallback);
  if (!(eps >= 0)) config.fail(key, "a field has a wrong value", "a number that is not negative", std::to_string(eps));
  return eps;
}

std::string find_prefix(const HasTensor& has, std::initializer_list<const char*> prefixes, const std::string& tensor) {
  for (const char* prefix : prefixes) {
    if (has(prefix + tensor)) return prefix;
  }
  return *prefixes.begin();
}

std::string layer_prefix(const Decoder& decoder, size_t layer) { return model_prefix(decoder) + "layers." + std::to_string(layer) + "."; }

void describe_llama_layout(Config& config, const HasTensor& has, const LlamaDefaults& defaults, Decoder& out) {
  out.vocab = config.size("vocab_size", defaults.vocab);
  out.hidden = config.size("hidden_size", defaults.hidden);
  out.heads = config.size("num_attention_heads", defaults.heads, kMaxHeads);
  out.kv_heads = config.size("num_key_value_heads", defaults.kv_heads.value_or(out.heads), kMaxHeads);
  const int64_t layers = config.size("num_hidden_layers", defaults.layers, kMaxLayers);
  const int64_t intermediate = config.size("intermediate_size", defaults.intermediate);
  const auto head_dim = config.optional_size("head_dim", kMaxHeadDim);
  if (!head_dim && !defaults.head_dim && out.hidden % out.heads != 0) {
    config.fail("num_attention_heads", "the heads do not divide the hidden size", "a divisor of " + std::to_string(out.hidden), std::to_string(out.heads));
  }
  out.head_dim = head_dim.value_or(defaults.head_dim.value_or(std::max<int64_t>(1, out.hidden / out.heads)));
  if (out.heads % out.kv_heads != 0) {
    config.fail("num_key_value_heads", "the key heads do not divide the query heads", "a divisor of " + std::to_string(out.heads), std::to_string(out.kv_heads));
  }
  out.max_positions = config.size("max_position_embeddings", defaults.max_positions);
  const double eps = norm_eps(config, defaults.norm == Norm::Kind::rms ? "rms_norm_eps" : "layer_norm_eps", defaults.eps);
  const std::string activation = activation_name(config, "hidden_act", config.text("hidden_act", defaults.activation));
  if (!config.status().ok()) return;

  const std::string prefix = find_prefix(has, {"model.", "", "language_model.model.", "model.language_model."}, kEmbedding);
  out.embedding = prefix + kEmbedding;
  out.ropes = {read_rope(config, {.theta = defaults.theta,
                                  .partial = defaults.partial,
                                  .head_dim = out.head_dim,
                                  .max_positions = out.max_positions,
                                  .interleaved = defaults.interleaved,
                                  .layer_type = {}})};
  for (int64_t i = 0; i < layers; ++i) {
    out.blocks.push_back(plain_block(out, prefix + "layers." + std::to_string(i) + ".", intermediate, defaults, eps, activation));
  }
  out.final_norm = out.blocks[0].attention_pre;
  out.final_norm.weight = prefix + "norm.weight";
  if (!out.final_norm.bias.empty()) out.final_norm.bias = prefix + "norm.bias";
  out.tied = config.boolean("tie_word_embeddings", defaults.tied);
  out.head.weight = head_name(prefix);
  out.head.out = out.vocab;
  out.head.in = out.hidden;
  out.ignored = {"rotary_emb.inv_freq"};
  if (out.tied) out.ignored.push_back("lm_head.weight");
}

void add_attention_biases(Decoder& out, bool output_too) {
  for (Block& block : out.blocks) {
    Attention& a = block.attention;
    for (Matrix* m : {&a.query, &a.key, &a.value}) m->bias = bias_of(*m);
    if (output_too) a.output.bias = bias_of(a.output);
  }
}

void add_mlp_biases(Decoder& out) {
  for (Block& block : out.blocks) {
    for (Matrix* m : {&block.mlp.gate, &block.mlp.up, &block.mlp.down}) m->bias = bias_of(*m);
  }
}

void fuse(const std::string& weight, std::initializer_list<FusedPart> parts) {
  int64_t total = 0;
  for (const FusedPart& p : parts) total += p.matrix->out;
  int64_t begin = 0;
  for (const FusedPart& p : parts) {
    p.matrix->weight = weight;
    if (!p.matrix->bias.empty()) p.matrix->bias = bias_of(*p.matrix);
    p.matrix->part = p.part;
    p.matrix->stored_out = total;
    p.matrix->rows = {{begin, begin + p.matrix->out}};
    begin += p.matrix->out;
  }
}

void fuse_by_head(const std::string& name, bool bias, int64_t heads, int64_t kv_heads, int64_t head_dim, Attention& attention) {
  const int64_t group = heads / kv_heads * head_dim, stride = group + 2 * head_dim;
  struct Slot {
    Matrix* matrix;
    const char* part;
    int64_t begin, rows;
  };
  for (const Slot& slot : {Slot{&attention.query, "query", 0, group}, Slot{&attention.key, "key", group, head_dim}, Slot{&attention.value, "value", group + head_dim, head_dim}}) {
    rename(*slot.matrix, name, bias);
    slot.matrix->part = slot.part;
    slot.matrix->stored_out = kv_heads * stride;
    slot.matrix->rows.clear();
    for (int64_t h = 0; h < kv_heads; ++h) slot.matrix->rows.emplace_back(h * stride + slot.begin, h * stride + slot.begin + slot.rows);
  }
}

void rename(Matrix& matrix, const std::string& name, bool bias) {
  matrix.weight = name + ".weight";
  matrix.bias = bias ? name + ".bias" : "";
}

void set_windows(Config& config, std::optional<int64_t> window, const std::function<bool(int64_t)>& sliding, Decoder& out) {
  const std::vector<std::string> types = config.texts("layer_types");
  if (!types.empty() && types.size() != out.blocks.size()) {
    config.fail("layer_types", "there must be one layer type a layer", std::to_string(out.blocks.size()), std::to_string(types.size()));
    return;
  }
  for (size_t i = 0; i < out.blocks.size(); ++i) {
    bool slides = window.has_value() && sliding(static_cast<int64_t>(i));
    if (!types.empty()) {
      if (types[i] != "full_attention" && types[i] != "sliding_attention") {
        config.fail("layer_types", "a layer type is not supported", "full_attention or sliding_attention", types[i]);
        return;
      }
      slides = types[i] == "sliding_attention";
      if (slides && !window) {
        config.fail("sliding_window", "a sliding layer needs a window", "a positive integer", "nothing");
        return;
      }
    }
    out.blocks[i].attention.window = slides ? *window : 0;
  }
}

void add_head_norms(Decoder& out, double offset) {
  for (size_t i = 0; i < out.blocks.size(); ++i) {
    Block& block = out.blocks[i];
    Norm n = out.final_norm;
    n.bias.clear();
    n.shape = {out.head_dim};
    n.offset = offset;
    const std::string prefix = layer_prefix(out, i) + "self_attn.";
    n.weight = prefix + "q_norm.weight";
    block.attention.query_norm = n;
    n.weight = prefix + "k_norm.weight";
    block.attention.key_norm = n;
  }
}

}  // namespace pteron::models
