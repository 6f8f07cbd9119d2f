#include "import/gguf_rope.h"

#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "core/constant_recipes.h"

namespace pteron::importer {
namespace {

using nlohmann::json;

constexpr double kDefaultBase = 10000.0;
constexpr double kLlama3Context = 8192, kLlama3Low = 1, kLlama3High = 4;

// The values of a factor tensor, one for each rotated pair; empty where the file has none.
Result<std::vector<float>> factors(const GgufFile& file, const char* name, int64_t pairs) {
  const GgufTensor* tensor = file.find_tensor(name);
  if (tensor == nullptr) return std::vector<float>();
  if (tensor->shape != std::vector<int64_t>{pairs}) {
    return Status::error(Code::invalid_data, "a tensor has the wrong shape",
                         {file.path(), name, shape_text({pairs}), shape_text(tensor->shape)});
  }
  PTERON_ASSIGN(const ConstantPtr source, file.source(*tensor));
  std::vector<float> values(static_cast<size_t>(pairs));
  PTERON_TRY(source->read_rows_f32(0, pairs, values.data()));
  for (float value : values) {
    if (!(value > 0) || std::isinf(value))
      return Status::error(Code::invalid_data, "a rotary factor is not positive",
                           {file.path(), name, "positive numbers", std::to_string(value)});
  }
  return values;
}

// What Llama 3 divides the frequency of a wavelength by.
double llama3_factor(double wavelength, double factor) {
  if (wavelength < kLlama3Context / kLlama3High) return 1;
  if (wavelength > kLlama3Context / kLlama3Low) return factor;
  const double smooth = (kLlama3Context / wavelength - kLlama3Low) / (kLlama3High - kLlama3Low);
  return 1 / ((1 - smooth) / factor + smooth);
}

bool is_llama3(const std::vector<float>& values, double base) {
  const double factor = values.back();
  for (size_t i = 0; i < values.size(); ++i) {
    const double frequency = std::pow(base, -static_cast<double>(i) / static_cast<double>(values.size()));
    const double expected = llama3_factor(2 * std::numbers::pi / frequency, factor);
    if (std::abs(values[i] - expected) > 1e-4 * expected) return false;
  }
  return factor > 1;
}

json longrope(const std::vector<float>& short_factors, const std::vector<float>& long_factors) {
  return {{"rope_type", "longrope"}, {"short_factor", short_factors}, {"long_factor", long_factors}};
}

// From the keys <architecture>.rope.scaling.*; null where they ask for nothing.
Result<json> scaling_from_keys(const GgufFile& file, const std::string& prefix) {
  PTERON_ASSIGN(const std::optional<std::string> type, file.string(prefix + "scaling.type"));
  PTERON_ASSIGN(std::optional<double> factor, file.number(prefix + "scaling.factor"));
  if (!factor) {
    PTERON_ASSIGN(factor, file.number(prefix + "scale_linear"));  // what older files have
  }
  const std::string kind = type.value_or("linear");
  if (kind == "none" || kind == "longrope" || (kind == "linear" && factor.value_or(1.0) == 1.0)) return json();
  if (kind != "linear" && kind != "yarn")
    return Status::error(Code::unsupported, "unknown rope scaling",
                         {file.path(), prefix + "scaling.type", "none, linear, yarn or longrope", kind});
  if (!factor || !(*factor > 0) || std::isinf(*factor))
    return Status::error(Code::invalid_data, "a rope scaling without factor",
                         {file.path(), prefix + "scaling.factor", "a positive number", factor ? std::to_string(*factor) : "nothing"});
  json scaling = {{"rope_type", kind}, {"factor", *factor}};
  if (kind == "linear") return scaling;
  PTERON_ASSIGN(const std::optional<int64_t> original, file.integer(prefix + "scaling.original_context_length"));
  if (original) scaling["original_max_position_embeddings"] = *original;
  for (const char* key : {"beta_fast", "beta_slow"}) {
    PTERON_ASSIGN(const std::optional<double> value, file.number(prefix + "scaling.yarn_" + key));
    if (value) scaling[key] = *value;
  }
  return scaling;
}

}  // namespace

Status write_rope(const GgufFile& file, const GgufArchitecture& architecture, const GgufHeads& heads, json& config) {
  const std::string prefix = std::string(architecture.name) + ".rope.";
  PTERON_ASSIGN(const std::optional<double> base, file.number(prefix + "freq_base"));
  PTERON_ASSIGN(const std::optional<int64_t> dimensions, file.integer(prefix + "dimension_count"));
  const int64_t rotated = dimensions.value_or(heads.dim);
  if (rotated < 0 || rotated > heads.dim || rotated % 2 != 0) {
    return Status::error(
        Code::invalid_data, "a metadata value is out of range",
        {file.path(), prefix + "dimension_count", "an even number up to " + std::to_string(heads.dim), std::to_string(rotated)});
  }
  const double theta = base.value_or(kDefaultBase);
  if (!(theta > 0) || std::isinf(theta))
    return Status::error(Code::invalid_data, "a metadata value is out of range",
                         {file.path(), prefix + "freq_base", "a positive number", std::to_string(theta)});
  config["rope_theta"] = theta;
  config["partial_rotary_factor"] = static_cast<double>(rotated) / static_cast<double>(heads.dim);

  PTERON_ASSIGN(json scaling, scaling_from_keys(file, prefix));
  PTERON_ASSIGN(const std::vector<float> llama3, factors(file, "rope_freqs.weight", rotated / 2));
  PTERON_ASSIGN(const std::vector<float> short_factors, factors(file, "rope_factors_short.weight", rotated / 2));
  PTERON_ASSIGN(const std::vector<float> long_factors, factors(file, "rope_factors_long.weight", rotated / 2));
  if (!short_factors.empty() && !long_factors.empty()) {
    scaling = longrope(short_factors, long_factors);
    PTERON_ASSIGN(const std::optional<double> magnitude, file.number(prefix + "scaling.attn_factor"));
    if (magnitude) scaling["attention_factor"] = *magnitude;
  } else if (!llama3.empty() && is_llama3(llama3, theta)) {
    scaling = {{"rope_type", "llama3"},
               {"factor", llama3.back()},
               {"low_freq_factor", kLlama3Low},
               {"high_freq_factor", kLlama3High},
               {"original_max_position_embeddings", kLlama3Context}};
  } else if (!llama3.empty()) {
    scaling = longrope(llama3, llama3);
    scaling["attention_factor"] = 1.0;
    scaling["factor"] = 1.0;
  }
  config["rope_scaling"] = std::move(scaling);
  return Status();
}

}  // namespace pteron::importer
