#include "import/gguf_config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "import/gguf_rope.h"

namespace pteron::importer {
namespace {

using nlohmann::json;

constexpr int64_t kMaxSize = int64_t{1} << 31;  // of any dimension in the metadata
constexpr int64_t kMaxHeads = int64_t{1} << 20;

// Reads "<architecture>.<key>" and writes config keys; the first failure is kept and later calls do nothing.
class ConfigWriter {
 public:
  ConfigWriter(const GgufFile& file, const GgufArchitecture& architecture) : file_(file), prefix_(std::string(architecture.name) + ".") {}

  // An integer in [1, 2^31]; copied where present.
  void size(const char* key, const char* to) {
    if (const std::optional<int64_t> value = read_size(key)) config[to] = *value;
  }
  void required_size(const char* key, const char* to) {
    size(key, to);
    if (!config.contains(to))
      keep(Status::error(Code::invalid_data, "a metadata key is missing", {file_.path(), prefix_ + key, "an integer", "nothing"}));
  }
  void number(const char* key, const char* to) {
    const std::optional<double> value = take(file_.number(prefix_ + key));
    if (value && std::isfinite(*value)) config[to] = *value;
    if (value && !std::isfinite(*value)) fail(key, "a finite number", std::to_string(*value));
  }
  std::optional<int64_t> read_size(const char* key) {
    const std::optional<int64_t> value = uniform(key);
    if (!value || (*value >= 1 && *value <= kMaxSize)) return value;
    fail(key, "1 to 2^31", std::to_string(*value));
    return std::nullopt;
  }
  // A number that may be given once or once a layer; it must be the same for all.
  std::optional<int64_t> uniform(const char* key) {
    const std::vector<int64_t> values = integers(key);
    if (values.empty()) return std::nullopt;
    if (std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end()) return values.front();
    keep(Status::error(Code::unsupported, "layers that differ are not supported",
                       {file_.path(), prefix_ + key, "the same number for all layers", "a list that differs"}));
    return std::nullopt;
  }
  std::vector<int64_t> integers(const char* key) {
    Result<std::vector<int64_t>> values = file_.integers(prefix_ + key);
    if (values.ok()) return std::move(values).value();
    keep(std::move(values).status());
    return {};
  }
  std::optional<bool> flag(const char* key) { return take(file_.boolean(prefix_ + key)); }
  void fail(const char* key, std::string expected, std::string found) {
    keep(Status::error(Code::invalid_data, "a metadata value is out of range",
                       {file_.path(), prefix_ + key, std::move(expected), std::move(found)}));
  }
  void keep(Status status) {
    if (status_.ok()) status_ = std::move(status);
  }
  bool has_tensor(std::string_view name) const { return file_.find_tensor(name) != nullptr; }

  Status take_status() { return std::move(status_); }
  json config = json::object();

 private:
  template <class T>
  std::optional<T> take(Result<std::optional<T>> result) {
    if (result.ok()) return std::move(result).value();
    keep(std::move(result).status());
    return std::nullopt;
  }
  const GgufFile& file_;
  std::string prefix_;
  Status status_;
};

void write_special_tokens(const GgufFile& file, ConfigWriter& out) {
  constexpr std::array<std::pair<const char*, const char*>, 3> kTokens = {
      {{"bos_token_id", "bos_token_id"}, {"eos_token_id", "eos_token_id"}, {"padding_token_id", "pad_token_id"}}};
  for (const auto& [key, to] : kTokens) {
    Result<std::optional<int64_t>> id = gguf_token_id(file, key);
    if (!id.ok()) return out.keep(std::move(id).status());
    if (*id) out.config[to] = **id;
  }
}

// What nearly all architectures share.
void write_shared(const GgufFile& file, const GgufArchitecture& architecture, const GgufHeads& heads, ConfigWriter& out) {
  json& config = out.config;
  config["architectures"] = json::array({architecture.hf_class});
  config["model_type"] = architecture.model_type;
  config["hidden_act"] = architecture.activation;
  config["torch_dtype"] = "float32";
  out.required_size("embedding_length", "hidden_size");
  out.required_size("block_count", "num_hidden_layers");
  out.required_size("feed_forward_length", "intermediate_size");
  out.required_size("context_length", "max_position_embeddings");
  config["num_attention_heads"] = heads.query;
  config["num_key_value_heads"] = heads.key;
  config["head_dim"] = heads.dim;
  out.number("attention.layer_norm_rms_epsilon", "rms_norm_eps");
  const bool tied = !out.has_tensor("output.weight");
  config["tie_word_embeddings"] = tied;
  const GgufTensor* embedding = file.find_tensor("token_embd.weight");
  if (embedding == nullptr || embedding->shape.size() != 2) {
    return out.keep(
        Status::error(Code::invalid_data, "a tensor is missing",
                      {file.path(), "token_embd.weight", "a tensor of two dimensions", embedding == nullptr ? "nothing" : "another rank"}));
  }
  config["vocab_size"] = embedding->shape[0];
  if (out.uniform("expert_count").value_or(0) > 0) {
    out.keep(Status::error(Code::unsupported, "mixtures of experts are not supported",
                           {file.path(), std::string(architecture.name) + ".expert_count", "0", "more"}));
  }
}

// The scale that Gemma 2 and 3 use is in no key: only the largest of each (by layers) scales by the hidden size a head.
void write_gemma_scale(const GgufHeads& heads, int64_t layers_of_largest, ConfigWriter& out) {
  if (out.config.value("num_hidden_layers", int64_t{0}) == layers_of_largest) {
    out.config["query_pre_attn_scalar"] = out.config.value("hidden_size", int64_t{0}) / heads.query;
  } else {
    out.config["query_pre_attn_scalar"] = heads.dim;
  }
}

// Which layers of Gemma 3 slide: every sixth does not, unless the file says otherwise by a period or by a flag a layer.
void write_layer_kinds(ConfigWriter& out) {
  const std::vector<int64_t> pattern = out.integers("attention.sliding_window_pattern");
  if (pattern.size() <= 1) {
    out.config["sliding_window_pattern"] = pattern.empty() || pattern[0] <= 0 ? 6 : pattern[0];
    return;
  }
  json kinds = json::array();
  for (int64_t sliding : pattern) kinds.push_back(sliding != 0 ? "sliding_attention" : "full_attention");
  out.config["layer_types"] = std::move(kinds);
}

void write_gemma(const GgufArchitecture& architecture, const GgufHeads& heads, ConfigWriter& out) {
  json& config = out.config;
  config["hidden_activation"] = architecture.activation;
  config["norm_weights_include_one"] = true;
  out.number("final_logit_softcapping", "final_logit_softcapping");
  if (architecture.name == "gemma2") {
    config["sliding_window"] = 4096;
    out.size("attention.sliding_window", "sliding_window");
    out.number("attn_logit_softcapping", "attn_logit_softcapping");
    write_gemma_scale(heads, 46, out);
  }
  if (architecture.name == "gemma3") {
    out.required_size("attention.sliding_window", "sliding_window");
    write_layer_kinds(out);
    config["rope_local_base_freq"] = 10000.0;
    out.number("rope.freq_base_swa", "rope_local_base_freq");
    write_gemma_scale(heads, 62, out);
  }
}

void write_phi3(ConfigWriter& out) {
  out.config["sliding_window"] = nullptr;
  if (out.uniform("attention.sliding_window").value_or(0) > 0) out.size("attention.sliding_window", "sliding_window");
  out.size("rope.scaling.original_context_length", "original_max_position_embeddings");
}

void write_granite(ConfigWriter& out) {
  out.number("attention.scale", "attention_multiplier");
  out.number("embedding_scale", "embedding_multiplier");
  out.number("residual_scale", "residual_multiplier");
  out.number("logit_scale", "logits_scaling");
}

void write_gpt2(const GgufHeads& heads, ConfigWriter& out) {
  json& config = out.config;
  config["activation_function"] = config["hidden_act"];
  config["n_embd"] = config["hidden_size"];
  config["n_layer"] = config["num_hidden_layers"];
  config["n_inner"] = config["intermediate_size"];
  config["n_positions"] = config["max_position_embeddings"];
  config["n_head"] = heads.query;
  out.number("attention.layer_norm_epsilon", "layer_norm_epsilon");
}

void write_gpt_neox(ConfigWriter& out) {
  out.number("attention.layer_norm_epsilon", "layer_norm_eps");
  out.config["use_parallel_residual"] = out.flag("use_parallel_residual").value_or(true);
  out.config["attention_bias"] = out.has_tensor("blk.0.attn_qkv.bias");
  out.config["rotary_pct"] = out.config["partial_rotary_factor"];
  out.config["rotary_emb_base"] = out.config["rope_theta"];
}

void write_stablelm(ConfigWriter& out) {
  out.number("attention.layer_norm_epsilon", "layer_norm_eps");
  out.config["use_parallel_residual"] = !out.has_tensor("blk.0.ffn_norm.weight");  // a parallel block has one norm
  out.config["use_qkv_bias"] = out.has_tensor("blk.0.attn_q.bias");
  out.config["qk_layernorm"] = out.has_tensor("blk.0.attn_q_norm.weight");
}

void write_falcon(const GgufHeads& heads, ConfigWriter& out) {
  json& config = out.config;
  out.number("attention.layer_norm_epsilon", "layer_norm_epsilon");
  const bool two_norms = out.has_tensor("blk.0.attn_norm_2.weight");
  const bool grouped = two_norms || (heads.key != 1 && heads.key != heads.query);
  config["new_decoder_architecture"] = grouped;
  config["multi_query"] = heads.key == 1;
  config["num_kv_heads"] = heads.key;
  config["num_ln_in_parallel_attn"] = two_norms ? 2 : 1;
  config["parallel_attn"] = true;
  config["alibi"] = false;
  config["bias"] = out.has_tensor("blk.0.attn_qkv.bias");
  config["ffn_hidden_size"] = config["intermediate_size"];
}

void write_cohere(ConfigWriter& out) {
  out.number("attention.layer_norm_epsilon", "layer_norm_eps");
  out.number("logit_scale", "logit_scale");
  out.config["use_qk_norm"] = out.has_tensor("blk.0.attn_q_norm.weight");
  out.config["attention_bias"] = out.has_tensor("blk.0.attn_q.bias");
}

void write_own(const GgufArchitecture& architecture, const GgufHeads& heads, ConfigWriter& out) {
  const std::string_view name = architecture.name;
  if (architecture.norms_include_one) return write_gemma(architecture, heads, out);
  if (name == "phi3") return write_phi3(out);
  if (name == "gpt2") return write_gpt2(heads, out);
  if (name == "gptneox") return write_gpt_neox(out);
  if (name == "stablelm") return write_stablelm(out);
  if (name == "falcon") return write_falcon(heads, out);
  if (name == "command-r") return write_cohere(out);
  if (name == "granite") write_granite(out);
  if (name == "qwen2" || name == "qwen3") out.config["use_sliding_window"] = false;
  if (name == "olmo2" && !out.integers("attention.sliding_window").empty())
    out.fail("attention.sliding_window", "nothing: Olmo 3 is not supported", "a window");
  if (name == "smollm3") out.config["no_rope_layer_interval"] = 4;
  if (name != "qwen2") out.config["attention_bias"] = out.has_tensor("blk.0.attn_q.bias");
  out.config["mlp_bias"] = out.has_tensor("blk.0.ffn_up.bias");
}

}  // namespace

Result<GgufHeads> gguf_heads(const GgufFile& file) {
  PTERON_ASSIGN(const GgufArchitecture* architecture, gguf_architecture(file));
  ConfigWriter reader(file, *architecture);
  GgufHeads heads;
  const std::optional<int64_t> query = reader.read_size("attention.head_count"), key = reader.read_size("attention.head_count_kv");
  const std::optional<int64_t> key_length = reader.read_size("attention.key_length"),
                               value_length = reader.read_size("attention.value_length");
  const std::optional<int64_t> hidden = reader.read_size("embedding_length");
  PTERON_TRY(reader.take_status());
  const std::string prefix = std::string(architecture->name) + ".";
  if (!query)
    return Status::error(Code::invalid_data, "a metadata key is missing",
                         {file.path(), prefix + "attention.head_count", "an integer", "nothing"});
  if (!key_length && !hidden)
    return Status::error(Code::invalid_data, "a metadata key is missing",
                         {file.path(), prefix + "embedding_length", "an integer", "nothing"});
  heads.query = *query;
  heads.key = key.value_or(*query);
  if (!key_length && *hidden % heads.query != 0) {
    return Status::error(Code::invalid_data, "the heads do not divide the hidden size",
                         {file.path(), prefix + "attention.head_count", "a divisor of " + std::to_string(*hidden), std::to_string(*query)});
  }
  heads.dim = key_length ? *key_length : *hidden / heads.query;
  if (value_length && *value_length != heads.dim) {
    return Status::error(Code::unsupported, "key and value heads of different lengths are not supported",
                         {file.path(), prefix + "attention.value_length", std::to_string(heads.dim), std::to_string(*value_length)});
  }
  if (heads.query > kMaxHeads || heads.key > kMaxHeads || heads.dim > kMaxHeads || heads.query % heads.key != 0) {
    return Status::error(
        Code::invalid_data, "impossible attention heads",
        {file.path(), prefix + "attention.head_count_kv", "a divisor of " + std::to_string(heads.query), std::to_string(heads.key)});
  }
  return heads;
}

Result<std::optional<int64_t>> gguf_token_id(const GgufFile& file, std::string_view key) {
  PTERON_ASSIGN(const std::optional<int64_t> id, file.integer("tokenizer.ggml." + std::string(key)));
  return id == std::optional<int64_t>(UINT32_MAX) ? std::nullopt : id;
}

Result<json> gguf_config(const GgufFile& file, const GgufArchitecture& architecture) {
  PTERON_ASSIGN(const GgufHeads heads, gguf_heads(file));
  ConfigWriter out(file, architecture);
  write_special_tokens(file, out);
  write_shared(file, architecture, heads, out);
  PTERON_TRY(out.take_status());
  PTERON_TRY(write_rope(file, architecture, heads, out.config));
  write_own(architecture, heads, out);
  PTERON_TRY(out.take_status());
  return std::move(out.config);
}

Result<json> gguf_generation_config(const GgufFile& file) {
  json config = json::object();
  for (const auto& [key, to] : {std::pair{"bos_token_id", "bos_token_id"}, std::pair{"padding_token_id", "pad_token_id"}}) {
    PTERON_ASSIGN(const std::optional<int64_t> id, gguf_token_id(file, key));
    if (id) config[to] = *id;
  }
  json ends = json::array();
  for (const char* key : {"eos_token_id", "eot_token_id", "eom_token_id"}) {
    PTERON_ASSIGN(const std::optional<int64_t> id, gguf_token_id(file, key));
    if (id && std::find(ends.begin(), ends.end(), json(*id)) == ends.end()) ends.push_back(*id);
  }
  if (!ends.empty()) config["eos_token_id"] = ends.size() == 1 ? ends[0] : ends;
  for (const auto& [key, to] :
       {std::pair{"general.sampling.temp", "temperature"}, std::pair{"general.sampling.top_p", "top_p"},
        std::pair{"general.sampling.min_p", "min_p"}, std::pair{"general.sampling.penalty_repeat", "repetition_penalty"}}) {
    PTERON_ASSIGN(const std::optional<double> value, file.number(key));
    if (value) config[to] = *value;
  }
  PTERON_ASSIGN(const std::optional<int64_t> top_k, file.integer("general.sampling.top_k"));
  if (top_k) config["top_k"] = *top_k;
  return config;
}

}  // namespace pteron::importer
