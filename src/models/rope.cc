#include "models/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace pteron::models {
namespace {

RopeType type_of(Config& config, const std::string& name) {
  if (name == "default" || name.empty()) return RopeType::plain;
  if (name == "linear") return RopeType::linear;
  if (name == "llama3") return RopeType::llama3;
  if (name == "yarn") return RopeType::yarn;
  if (name == "longrope" || name == "su") return RopeType::longrope;
  const bool dynamic = name == "dynamic";
  config.fail("rope_type", dynamic ? "dynamic-NTK RoPE depends on the running length and cannot be frozen into a static program" : "unknown RoPE type",
              "default, linear, llama3, yarn or longrope", name);
  return RopeType::plain;
}

// The object with the parameters, if any: new style (nested by layer type or flat), else old `rope_scaling`.
std::optional<Config> parameters(Config& config, const RopeDefaults& defaults) {
  for (const char* key : {"rope_parameters", "rope_scaling"}) {
    if (std::string_view(key) == "rope_scaling" && !defaults.old_scaling) continue;
    auto object = config.object(key);
    if (!object) continue;
    if (auto nested = object->object(defaults.layer_type.empty() ? "full_attention" : defaults.layer_type)) return nested;
    return object;
  }
  return std::nullopt;
}

void read_type_fields(Config& p, Rope& rope, bool top_level_original) {
  if (rope.type == RopeType::linear || rope.type == RopeType::llama3) rope.factor = p.number("factor", 0);
  if (rope.type == RopeType::yarn || rope.type == RopeType::longrope) {
    rope.factor = p.number("factor", static_cast<double>(rope.max_positions) / static_cast<double>(rope.original_positions));
  }
  rope.attention_factor = p.number("attention_factor", 0);
  if (!top_level_original) rope.original_positions = p.size("original_max_position_embeddings", rope.original_positions);
  rope.low_freq_factor = p.number("low_freq_factor", rope.low_freq_factor);
  rope.high_freq_factor = p.number("high_freq_factor", rope.high_freq_factor);
  rope.beta_fast = p.number("beta_fast", rope.beta_fast);
  rope.beta_slow = p.number("beta_slow", rope.beta_slow);
  rope.mscale = p.number("mscale", 0);
  rope.mscale_all_dim = p.number("mscale_all_dim", 0);
  rope.truncate = p.boolean("truncate", true);
  rope.short_factor = p.numbers("short_factor");
  rope.long_factor = p.numbers("long_factor");
}

template <class Wrong>
void check_factors(const Rope& rope, const Wrong& wrong) {
  const auto frequencies = static_cast<size_t>(rope.rotary_dims / 2);
  if (rope.short_factor.size() != frequencies) wrong("short_factor", std::to_string(frequencies) + " numbers", static_cast<double>(rope.short_factor.size()));
  if (rope.long_factor.size() != frequencies) wrong("long_factor", std::to_string(frequencies) + " numbers", static_cast<double>(rope.long_factor.size()));
  for (const auto* list : {&rope.short_factor, &rope.long_factor}) {
    for (double f : *list) {
      if (!(f > 0)) wrong(list == &rope.short_factor ? "short_factor" : "long_factor", "positive numbers", f);
    }
  }
}

void check(Config& config, Config& p, const Rope& rope) {
  const auto wrong = [&](std::string_view key, std::string expected, double found) {
    p.fail(key, "a RoPE parameter has a wrong value", std::move(expected), nlohmann::json(found).dump());
  };
  if (!(rope.theta > 1)) config.fail("rope_theta", "a RoPE parameter has a wrong value", "a base above 1", nlohmann::json(rope.theta).dump());
  if (rope.type != RopeType::plain && !(rope.factor > 0)) wrong("factor", "a positive number", rope.factor);
  if (rope.type == RopeType::llama3 && !(rope.high_freq_factor > rope.low_freq_factor && rope.low_freq_factor > 0)) {
    wrong("high_freq_factor", "more than low_freq_factor", rope.high_freq_factor);
  }
  if (rope.type == RopeType::yarn && !(rope.beta_fast > rope.beta_slow && rope.beta_slow > 0)) wrong("beta_fast", "more than beta_slow", rope.beta_fast);
  if (rope.type == RopeType::longrope) check_factors(rope, wrong);
  if (rope.attention_factor < 0) wrong("attention_factor", "a positive number", rope.attention_factor);
  if (!config.status().ok()) return;
  // Each parameter may be sound by itself and their product not.
  for (const int64_t length : {int64_t{1}, kMaxSize}) {
    const RopeTable table = rope_table(rope, length);
    for (const float frequency : table.inv_freq) {
      if (!(frequency > 0) || !std::isfinite(frequency * static_cast<float>(kMaxSize))) return wrong("factor", "a factor under which frequencies stay in float32's range", rope.factor);
    }
    const auto attention = static_cast<float>(table.attention_factor);
    if (!(attention > 0) || !std::isfinite(attention)) return wrong("attention_factor", "a positive number", table.attention_factor);
  }
}

double yarn_scale(double factor, double mscale) { return factor <= 1 ? 1.0 : 0.1 * mscale * std::log(factor) + 1.0; }

double attention_factor(const Rope& rope) {
  if (rope.attention_factor > 0) return rope.attention_factor;
  if (rope.type == RopeType::yarn) {
    if (rope.mscale != 0 && rope.mscale_all_dim != 0) return yarn_scale(rope.factor, rope.mscale) / yarn_scale(rope.factor, rope.mscale_all_dim);
    return yarn_scale(rope.factor, 1);
  }
  if (rope.type == RopeType::longrope) {
    const double factor = static_cast<double>(rope.max_positions) / static_cast<double>(rope.original_positions);
    return factor <= 1 ? 1.0 : std::sqrt(1 + std::log(factor) / std::log(static_cast<double>(rope.original_positions)));
  }
  return 1;
}

float llama3_frequency(const Rope& rope, float inv) {
  const auto original = static_cast<float>(rope.original_positions);
  const auto factor = static_cast<float>(rope.factor), low = static_cast<float>(rope.low_freq_factor), high = static_cast<float>(rope.high_freq_factor);
  const float wavelength = static_cast<float>(2 * std::numbers::pi) / inv;
  if (wavelength < original / high) return inv;
  if (wavelength > original / low) return inv / factor;
  const float smooth = (original / wavelength - low) / (high - low);
  return (1 - smooth) * inv / factor + smooth * inv;
}

void apply_yarn(const Rope& rope, std::vector<float>& inv) {
  const auto dims = static_cast<double>(rope.rotary_dims);
  const auto correction = [&](double rotations) {
    return dims * std::log(static_cast<double>(rope.original_positions) / (rotations * 2 * std::numbers::pi)) / (2 * std::log(rope.theta));
  };
  double low = correction(rope.beta_fast), high = correction(rope.beta_slow);
  if (rope.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, dims - 1);
  if (low == high) high += 0.001;  // the ramp stays finite, as in the reference
  for (size_t i = 0; i < inv.size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    inv[i] = static_cast<float>(inv[i] / rope.factor * ramp + inv[i] * (1 - ramp));
  }
}

}  // namespace

Rope read_rope(Config& config, const RopeDefaults& defaults) {
  Rope rope;
  rope.interleaved = defaults.interleaved;
  rope.max_positions = defaults.max_positions;
  const bool top_level_original = config.has("original_max_position_embeddings");
  rope.original_positions = config.size("original_max_position_embeddings", defaults.max_positions);
  rope.theta = config.number(defaults.theta_key, config.number("rotary_emb_base", defaults.theta));
  double partial = config.number("partial_rotary_factor", config.number("rotary_pct", defaults.partial));
  auto p = parameters(config, defaults);
  if (p) {
    rope.theta = p->number("rope_theta", rope.theta);
    partial = p->number("partial_rotary_factor", partial);
  }
  rope.rotary_dims = static_cast<int64_t>(static_cast<double>(defaults.head_dim) * partial);
  if (!(partial > 0 && partial <= 1) || rope.rotary_dims < 2 || rope.rotary_dims % 2 != 0) {
    config.fail("partial_rotary_factor", "the rotated part of a head must be an even number of dimensions", "2 to " + std::to_string(defaults.head_dim),
                std::to_string(rope.rotary_dims));
  }
  if (!p) {
    check(config, config, rope);
    return rope;
  }
  rope.type = type_of(*p, p->text("rope_type", p->text("type", "default")));
  read_type_fields(*p, rope, top_level_original);
  check(config, *p, rope);
  return rope;
}

RopeTable rope_table(const Rope& rope, int64_t context_length) {
  RopeTable out;
  const auto dims = static_cast<float>(rope.rotary_dims);
  for (int64_t i = 0; i < rope.rotary_dims / 2; ++i) {
    const float exponent = static_cast<float>(2 * i) / dims;
    float inv = 1.0f / static_cast<float>(std::pow(rope.theta, static_cast<double>(exponent)));
    if (rope.type == RopeType::linear) inv /= static_cast<float>(rope.factor);
    if (rope.type == RopeType::llama3) inv = llama3_frequency(rope, inv);
    if (rope.type == RopeType::longrope) {
      const auto& factors = context_length > rope.original_positions ? rope.long_factor : rope.short_factor;
      inv = 1.0f / (static_cast<float>(factors[static_cast<size_t>(i)]) * static_cast<float>(std::pow(rope.theta, static_cast<double>(exponent))));
    }
    out.inv_freq.push_back(inv);
  }
  if (rope.type == RopeType::yarn) apply_yarn(rope, out.inv_freq);
  out.attention_factor = attention_factor(rope);
  return out;
}

}  // namespace pteron::models
