#include "llm/generation_config.h"

#include <limits>
#include <string>

#include "llm/json.h"

namespace pteron::llm {
namespace {

constexpr int64_t kAbsentTopK = 50;

bool present(const Json& root, std::string_view key) {
  const Json* value = root.find(key);
  return value != nullptr && !value->is(Json::Kind::null);
}

Result<TokenId> token(const Json& value, const JsonPath& path) {
  PTERON_ASSIGN(const int64_t id, json_size(value, path));
  if (id > std::numeric_limits<TokenId>::max()) return json_error(path, "a token id", value);
  return static_cast<TokenId>(id);
}

// What a sampler takes; `least` itself only where `with_least` says so.
struct Range {
  double least, most;
  bool with_least;
  std::string_view words;
};
constexpr double kLargest = std::numeric_limits<double>::max();
constexpr Range kShare = {0, 1, true, "a number from 0 to 1"};

Status read_number(const Json& root, std::string_view key, const Range& range, std::optional<double>& out) {
  if (!present(root, key)) return {};
  const Json& value = *root.find(key);
  const bool number = value.is(Json::Kind::number) || value.is(Json::Kind::integer);
  if (!number || value.number() < range.least || value.number() > range.most || (value.number() == range.least && !range.with_least)) {
    return json_error(JsonPath{nullptr, key, 0}, range.words, value);
  }
  out = value.number();
  return {};
}

// One id or a list of them.
Status read_eos(const Json& root, std::vector<TokenId>& out) {
  constexpr std::string_view kKey = "eos_token_id";
  const JsonPath path{nullptr, kKey, 0};
  if (!present(root, kKey)) return {};
  const Json& value = *root.find(kKey);
  if (!value.is(Json::Kind::array)) {
    PTERON_ASSIGN(const TokenId id, token(value, path));
    out.push_back(id);
    return {};
  }
  for (size_t i = 0; i < value.items().size(); ++i) {
    PTERON_ASSIGN(const TokenId id, token(value.items()[i], path.element(i)));
    out.push_back(id);
  }
  return {};
}

}  // namespace

Result<GenerationConfig> parse_generation_config(std::string_view json) {
  PTERON_ASSIGN(const Json root, Json::parse(json));
  PTERON_TRY(json_expect(root, Json::Kind::object, {}));
  GenerationConfig out;
  PTERON_TRY(read_eos(root, out.eos_tokens));
  PTERON_TRY(read_number(root, "temperature", {0, kLargest, true, "a number from 0"}, out.temperature));
  PTERON_TRY(read_number(root, "top_p", kShare, out.top_p));
  PTERON_TRY(read_number(root, "min_p", kShare, out.min_p));
  PTERON_TRY(read_number(root, "typical_p", {0, 1, false, "a number above 0, at most 1"}, out.typical_p));
  PTERON_TRY(read_number(root, "repetition_penalty", {0, kLargest, false, "a number above 0"}, out.repetition_penalty));
  if (present(root, "top_k")) {
    PTERON_ASSIGN(out.top_k, json_size(*root.find("top_k"), JsonPath{nullptr, "top_k", 0}));
  }
  if (present(root, "do_sample")) {
    const Json& value = *root.find("do_sample");
    if (!value.is(Json::Kind::boolean)) return json_error(JsonPath{nullptr, "do_sample", 0}, "true or false", value);
    out.do_sample = value.boolean();
  }
  return out;
}

SamplerParams GenerationConfig::sampler() const {
  SamplerParams params;
  params.repetition_penalty = repetition_penalty.value_or(1.0);
  if (!do_sample.value_or(temperature.has_value())) {
    params.temperature = 0;
    return params;
  }
  params.temperature = temperature.value_or(1.0);
  params.top_k = top_k.value_or(kAbsentTopK);
  params.top_p = top_p.value_or(1.0);
  params.min_p = min_p.value_or(0.0);
  params.typical_p = typical_p.value_or(1.0);
  return params;
}

}  // namespace pteron::llm
