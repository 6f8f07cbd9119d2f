// A little attention model under the contract in plain code: every variation that version 1 allows, and a list of faults to plant in it.
// For tests only; header-only so that the library carries none of it.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/dtype.h"
#include "llm/geometry.h"
#include "llm/method_source.h"

namespace pteron::llm::testing {

enum class States : uint8_t { none, aliased, separate, planned };

// What a program can do wrong.
enum class Fault : uint8_t {
  none, ring_off_by_one, window_ignored, window_one_short, masks_swapped, mask_ignored, boolean_inverted, counter_trusted, pad_leaks, last_physical_row,
  row_off_by_one, positions_from_zero, attend_before_write, neighbour_slot, clobbers_slot_zero, writes_one_row_more, value_not_written,
  prefill_keys_unrotated, layers_swapped_in_prefill, hidden_state, state_output_late, states_swapped, nan_logits, not_repeatable, end_of_context,
  first_key_unseen, last_token_folded, drops_last_row_of_full_chunk, decode_scale, key_precision, guesses_shifted
};

struct TinyLayer {
  int64_t window = 0;  // 0: full
  int64_t slots = 0;   // 0: as the contract asks at least
};

struct TinyConfig {
  int64_t L = 24, C = 4, V = 13, pad = 0;
  int64_t heads = 2, key_dim = 4, value_dim = 3;
  std::vector<TinyLayer> layers = {{}, {}};
  ScalarType cache = ScalarType::Float, logits = ScalarType::Float, mask = ScalarType::Float, ids = ScalarType::Long, positions = ScalarType::Long;
  bool counter = false, counter_scalar = false;
  bool prefill_all = false, decode_selected = false;
  int64_t verify_rows = 0;
  States states = States::none;
  bool rope_facts = true;
  Fault fault = Fault::none;
};

inline std::string dims(const std::vector<int64_t>& shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i) out += (i ? "," : "") + std::to_string(shape[i]);
  return out + "]";
}

class TinyProgram final : public MethodSource {
 public:
  explicit TinyProgram(TinyConfig config) : config_(std::move(config)) {
    const int64_t largest = std::max({config_.C, config_.verify_rows, int64_t{1}});
    for (TinyLayer& layer : config_.layers) {
      if (layer.slots == 0) layer.slots = layer.window == 0 ? config_.L : std::min(config_.L, layer.window + largest - 1);
    }
    fill_weights();
    if (config_.C > 0) add_method("prefill", "prefill", config_.C, config_.prefill_all);
    add_method("decode", "decode", 1, !config_.decode_selected);
    if (config_.verify_rows > 0) add_method("verify", "verify", config_.verify_rows, true);
    set_contract(contract_json());
  }

  const TinyConfig& config() const { return config_; }
  std::span<const MethodInfo> infos() const override { return infos_; }
  std::vector<MethodInfo>& mutable_infos() { return infos_; }
  Digest identity() const override { return identity_; }
  void set_identity(Digest digest) { identity_ = digest; }
  std::vector<std::string> loaded() const { return loaded_; }

  // Replaces the object that `io_contract` returns.
  void set_contract(const std::string& json) {
    std::erase_if(infos_, [](const MethodInfo& info) { return info.name == "io_contract"; });
    MethodInfo info;
    info.name = "io_contract";
    info.constant = true;
    info.outputs.resize(1);
    info.outputs[0].kind = ValueKind::string;
    info.outputs[0].string_value = json;
    infos_.push_back(info);
  }

  std::string contract_json() const {
    std::string methods, verify;
    for (const char* name : {"prefill", "decode"}) {
      if (const auto at = methods_.find(name); at != methods_.end()) methods += (methods.empty() ? "" : ",") + at->second.json;
    }
    if (const auto at = methods_.find("verify"); at != methods_.end()) verify = ",\"verify\":" + at->second.json;
    std::string masks, layers;
    for (const bool sliding : {false, true}) {
      if (!has_kind(sliding)) continue;
      masks += (masks.empty() ? "" : ",") + std::string("{\"name\":\"") + mask_name(sliding) + "\",\"kind\":\"" + mask_name(sliding) + "\",\"form\":\"" +
               (config_.mask == ScalarType::Bool ? "boolean" : "additive") + "\"}";
    }
    for (const TinyLayer& layer : config_.layers) {
      layers += (layers.empty() ? "" : ",") + std::string("{\"kind\":\"") + mask_name(layer.window > 0) + "\",\"heads\":" + std::to_string(config_.heads) +
                ",\"key_dim\":" + std::to_string(config_.key_dim) + ",\"value_dim\":" + std::to_string(config_.value_dim) + ",\"slots\":" + std::to_string(layer.slots) +
                (layer.window > 0 ? ",\"window\":" + std::to_string(layer.window) : "") + "}";
    }
    std::string rope;
    if (config_.rope_facts) {
      rope = ",\"rope\":{\"pairing\":\"half\",\"tables\":[{\"dims\":4,\"inverse_frequencies\":[1.0,0.125]}],\"layers\":[";
      for (size_t i = 0; i < config_.layers.size(); ++i) rope += i ? ",0" : "0";
      rope += "]}";
    }
    return "{\"contract\":\"hf_static\",\"version\":1,\"requires\":[],\"context_length\":" + std::to_string(config_.L) + ",\"vocab_size\":" + std::to_string(config_.V) +
           ",\"pad_token\":" + std::to_string(config_.pad) + ",\"architecture\":\"Tiny\",\"methods\":[" + methods + "]" + verify + ",\"masks\":[" + masks +
           "],\"cache\":{\"dtype\":\"" + std::string(dtype_name(config_.cache)) + "\",\"layout\":\"bhsd\",\"layers\":[" + layers + "]}" + rope + "}";
  }

  Result<std::unique_ptr<StepMethod>> load(std::string_view name, const MethodResources&) const override {
    const auto at = methods_.find(std::string(name));
    if (at == methods_.end()) return Status::error(Code::not_found, "no such method", {"", std::string(name), "", ""});
    loaded_.emplace_back(name);
    return std::unique_ptr<StepMethod>(std::make_unique<Method>(*this, at->second, *find_method(infos_, name)));
  }

  // The call after so many more fails; -1: none.
  void fail_after(int calls) const { fail_after_ = calls; }

  // The calls so far, as "prefill@0 decode@4"; only for one thread.
  std::string take_calls() const { return std::exchange(calls_, {}); }
  void log_calls() const { logging_ = true; }

 private:
  static constexpr size_t kHidden = 6;

  // Where things are among the inputs and outputs of a method.
  struct Layout {
    std::string name, json;
    int64_t rows = 1;
    bool all = true;
    size_t ids = 0, positions = 1;
    int masks[2] = {-1, -1};
    std::vector<size_t> caches;  // key and value of each layer in turn
    int counter = -1, last_row = -1;
    size_t logits = 0;
    std::vector<size_t> states;
  };

  class Method final : public StepMethod {
   public:
    Method(const TinyProgram& program, const Layout& layout, const MethodInfo& info) : program_(program), layout_(layout), info_(info) {
      inputs_.resize(info.inputs.size());
      outputs_.resize(info.outputs.size());
      own_.resize(info.outputs.size());
      for (size_t i = 0; i < info.outputs.size(); ++i) {
        own_[i].resize(info.outputs[i].nbytes);
        if (info.outputs[i].planned) outputs_[i] = own_[i].data();
      }
    }
    Status set_input(size_t index, const TensorView& value) override {
      if (value.nbytes != info_.inputs[index].nbytes || value.dtype != info_.inputs[index].dtype) return Status::error(Code::invalid_argument, "wrong input");
      inputs_[index] = const_cast<void*>(value.data);
      return {};
    }
    Status bind_output(size_t index, const MutableTensorView& buffer) override {
      if (info_.outputs[index].planned) return Status::error(Code::invalid_argument, "a planned output cannot be bound");
      if (buffer.nbytes < info_.outputs[index].nbytes) return Status::error(Code::invalid_argument, "too small");
      outputs_[index] = buffer.data;
      // One value that is input and output: binding one binds the other.
      if (program_.config_.states == States::aliased && index != layout_.logits) inputs_[aliased_input(index)] = buffer.data;
      return {};
    }
    Result<TensorView> output(size_t index) const override {
      const SlotInfo& slot = info_.outputs[index];
      return TensorView{slot.dtype, slot.sizes, {}, outputs_[index], slot.nbytes};
    }
    Status execute() override;

   private:
    using Vector = std::array<float, kHidden>;

    size_t aliased_input(size_t output) const {
      const auto at = std::find(layout_.states.begin(), layout_.states.end(), output);
      return layout_.caches[static_cast<size_t>(at - layout_.states.begin())];
    }
    bool is(Fault fault) const { return program_.config_.fault == fault; }
    int64_t integer(size_t input, size_t i) const {
      return info_.inputs[input].dtype == ScalarType::Long ? static_cast<const int64_t*>(inputs_[input])[i] : static_cast<const int32_t*>(inputs_[input])[i];
    }
    static float get(const void* data, ScalarType dtype, size_t i) {
      if (dtype == ScalarType::Float) return static_cast<const float*>(data)[i];
      const uint16_t bits = static_cast<const uint16_t*>(data)[i];
      return dtype == ScalarType::Half ? half_to_float(bits) : bfloat16_to_float(bits);
    }
    static void put(void* data, ScalarType dtype, size_t i, float value) {
      if (dtype == ScalarType::Float) {
        static_cast<float*>(data)[i] = value;
      } else {
        static_cast<uint16_t*>(data)[i] = dtype == ScalarType::Half ? float_to_half(value) : float_to_bfloat16(value);
      }
    }
    float hiding(bool sliding, size_t row, size_t slot, size_t slots) const;
    void* cache_memory(size_t layer, bool value);
    void write_layer(size_t layer, std::vector<Vector>& x, const std::vector<int64_t>& positions);
    void attend_layer(size_t layer, std::vector<Vector>& x, const std::vector<int64_t>& positions);
    void write_logits(const std::vector<Vector>& x);

    const TinyProgram& program_;
    const Layout& layout_;
    const MethodInfo& info_;
    std::vector<void*> inputs_, outputs_;
    std::vector<std::vector<std::byte>> own_;
    float hidden_state_ = 0;
    int64_t own_counter_ = 0;
    int calls_ = 0;
  };

  static const char* mask_name(bool sliding) { return sliding ? "sliding" : "full"; }
  bool has_kind(bool sliding) const {
    return std::any_of(config_.layers.begin(), config_.layers.end(), [&](const TinyLayer& l) { return (l.window > 0) == sliding; });
  }
  int64_t slots_of(bool sliding) const {
    return std::find_if(config_.layers.begin(), config_.layers.end(), [&](const TinyLayer& l) { return (l.window > 0) == sliding; })->slots;
  }

  void fill_weights() {
    std::mt19937 random(42);
    std::uniform_real_distribution<float> uniform(-1, 1);
    const size_t heads = static_cast<size_t>(config_.heads), kd = static_cast<size_t>(config_.key_dim), vd = static_cast<size_t>(config_.value_dim);
    const size_t per_layer = kHidden * heads * (2 * kd + 2 * vd);
    weights_.resize(static_cast<size_t>(config_.V) * kHidden * 2 + config_.layers.size() * per_layer);
    for (float& weight : weights_) weight = uniform(random);
  }
  const float* layer_weights(size_t layer, size_t part) const {
    const size_t heads = static_cast<size_t>(config_.heads), kd = static_cast<size_t>(config_.key_dim), vd = static_cast<size_t>(config_.value_dim);
    const size_t sizes[4] = {kHidden * heads * kd, kHidden * heads * kd, kHidden * heads * vd, kHidden * heads * vd};
    const float* at = weights_.data() + static_cast<size_t>(config_.V) * kHidden * 2 + layer * (sizes[0] + sizes[1] + sizes[2] + sizes[3]);
    for (size_t i = 0; i < part; ++i) at += sizes[i];
    return at;
  }

  static SlotInfo slot(ScalarType dtype, const std::vector<int64_t>& shape, bool planned = false) {
    SlotInfo info;
    info.kind = ValueKind::tensor;
    info.dtype = dtype;
    info.planned = planned;
    info.nbytes = element_size(dtype);
    for (const int64_t size : shape) {
      info.dim_order.push_back(static_cast<uint8_t>(info.sizes.size()));
      info.sizes.push_back(static_cast<int32_t>(size));
      info.nbytes *= static_cast<size_t>(size);
    }
    return info;
  }

  void add_method(const std::string& name, const std::string& role, int64_t rows, bool all) {
    Layout& layout = methods_[name];
    MethodInfo info;
    info.name = name;
    layout.name = name;
    layout.rows = rows;
    layout.all = all;
    std::string inputs, outputs;
    const auto input = [&](const std::string& role_name, ScalarType dtype, const std::vector<int64_t>& shape, const std::string& extra = "") {
      inputs += (inputs.empty() ? "" : ",") + std::string("{\"role\":\"") + role_name + "\",\"index\":" + std::to_string(info.inputs.size()) + ",\"dtype\":\"" +
                std::string(dtype_name(dtype)) + "\",\"shape\":" + dims(shape) + extra + "}";
      info.inputs.push_back(slot(dtype, shape));
      return info.inputs.size() - 1;
    };
    const auto output = [&](const std::string& role_name, ScalarType dtype, const std::vector<int64_t>& shape, bool planned, const std::string& extra) {
      outputs += (outputs.empty() ? "" : ",") + std::string("{\"role\":\"") + role_name + "\",\"index\":" + std::to_string(info.outputs.size()) + ",\"dtype\":\"" +
                 std::string(dtype_name(dtype)) + "\",\"shape\":" + dims(shape) + extra + "}";
      info.outputs.push_back(slot(dtype, shape, planned));
      return info.outputs.size() - 1;
    };
    layout.ids = input("token_ids", config_.ids, {1, rows});
    layout.positions = input("position_ids", config_.positions, {1, rows});
    for (const bool sliding : {false, true}) {
      if (!has_kind(sliding)) continue;
      layout.masks[sliding] = static_cast<int>(input("mask", config_.mask, {1, 1, rows, slots_of(sliding)}, std::string(",\"mask\":\"") + mask_name(sliding) + "\""));
    }
    for (size_t l = 0; l < config_.layers.size(); ++l) {
      const std::string extra = ",\"layer\":" + std::to_string(l);
      layout.caches.push_back(input("key_cache", config_.cache, {1, config_.heads, config_.layers[l].slots, config_.key_dim}, extra));
      layout.caches.push_back(input("value_cache", config_.cache, {1, config_.heads, config_.layers[l].slots, config_.value_dim}, extra));
    }
    if (config_.counter) layout.counter = static_cast<int>(input("counter", ScalarType::Long, config_.counter_scalar ? std::vector<int64_t>{} : std::vector<int64_t>{1}));
    if (!all) layout.last_row = static_cast<int>(input("last_row", ScalarType::Long, {1}));
    layout.logits = output("logits", config_.logits, {1, all ? rows : 1, config_.V}, false, "");
    for (size_t i = 0; config_.states != States::none && i < layout.caches.size(); ++i) {
      const SlotInfo& cache = info.inputs[layout.caches[i]];
      layout.states.push_back(output(i % 2 == 0 ? "key_state" : "value_state", config_.cache, {cache.sizes.begin(), cache.sizes.end()},
                                     config_.states == States::planned, ",\"aliases\":" + std::to_string(layout.caches[i])));
    }
    layout.json = "{\"role\":\"" + role + "\",\"name\":\"" + name + "\",\"rows\":" + std::to_string(rows) + ",\"logits_rows\":\"" + (all ? "all" : "selected") +
                  "\",\"inputs\":[" + inputs + "],\"outputs\":[" + outputs + "]}";
    infos_.push_back(info);
  }

  TinyConfig config_;
  std::vector<float> weights_;
  std::map<std::string, Layout> methods_;
  std::vector<MethodInfo> infos_;
  Digest identity_{std::byte{1}};
  mutable std::vector<std::string> loaded_;
  mutable std::atomic<int> fail_after_{-1};
  mutable std::string calls_;
  mutable bool logging_ = false;
};

inline float TinyProgram::Method::hiding(bool sliding, size_t row, size_t slot, size_t slots) const {
  if (is(Fault::mask_ignored)) return 0;
  if (is(Fault::window_ignored)) sliding = layout_.masks[0] >= 0 ? false : sliding;
  if (is(Fault::masks_swapped) && layout_.masks[0] >= 0 && layout_.masks[1] >= 0) sliding = !sliding;
  const size_t input = static_cast<size_t>(layout_.masks[sliding]);
  const size_t width = static_cast<size_t>(info_.inputs[input].sizes[3]);
  (void)slots;
  const size_t at = row * width + std::min(slot, width - 1);
  constexpr float kHide = std::numeric_limits<float>::lowest();
  if (info_.inputs[input].dtype == ScalarType::Bool) return (static_cast<const uint8_t*>(inputs_[input])[at] != 0) != is(Fault::boolean_inverted) ? 0 : kHide;
  return get(inputs_[input], info_.inputs[input].dtype, at);
}

// Where the cache is read and written in this call: the state output where it is a value of its own, else the input.
inline void* TinyProgram::Method::cache_memory(size_t layer, bool value) {
  size_t index = 2 * layer + (value ? 1 : 0);
  if (is(Fault::layers_swapped_in_prefill) && layout_.rows > 1 && program_.config_.layers.size() == 2) index = 2 * (1 - layer) + (value ? 1 : 0);
  const States states = program_.config_.states;
  if (states == States::separate || states == States::planned) return outputs_[layout_.states[index]];
  return inputs_[layout_.caches[index]];
}

inline void TinyProgram::Method::write_layer(size_t layer, std::vector<Vector>& x, const std::vector<int64_t>& positions) {
  const TinyConfig& config = program_.config_;
  const size_t heads = static_cast<size_t>(config.heads), kd = static_cast<size_t>(config.key_dim), vd = static_cast<size_t>(config.value_dim);
  const size_t slots = static_cast<size_t>(config.layers[layer].slots);
  const float *wk = program_.layer_weights(layer, 1), *wv = program_.layer_weights(layer, 2);
  void *keys = cache_memory(layer, false), *values = cache_memory(layer, true);
  size_t rows = x.size();
  if (is(Fault::drops_last_row_of_full_chunk) && rows > 1) --rows;
  for (size_t r = 0; r < rows + (is(Fault::writes_one_row_more) ? 1 : 0); ++r) {
    const Vector& row = x[std::min(r, x.size() - 1)];
    const int64_t position = positions[std::min(r, x.size() - 1)] + (r < x.size() ? 0 : 1);
    size_t slot = static_cast<size_t>(position) % slots;
    if (is(Fault::ring_off_by_one) && config.layers[layer].window > 0) slot = static_cast<size_t>(position) % (slots - 1);
    if (is(Fault::neighbour_slot) && layout_.rows == 1) slot = (slot + 1) % slots;
    for (size_t h = 0; h < heads; ++h) {
      std::array<float, 16> key{};
      for (size_t d = 0; d < kd; ++d) {
        for (size_t i = 0; i < kHidden; ++i) key[d] += wk[(h * kd + d) * kHidden + i] * row[i];
      }
      const bool rotate = !(is(Fault::prefill_keys_unrotated) && layout_.rows > 1);
      for (size_t i = 0; rotate && i < 2; ++i) {
        const double angle = static_cast<double>(position) * (i == 0 ? 1.0 : 0.125);
        const float c = static_cast<float>(std::cos(angle)), s = static_cast<float>(std::sin(angle)), a = key[i], b = key[i + 2];
        key[i] = a * c - b * s;
        key[i + 2] = b * c + a * s;
      }
      for (size_t d = 0; d < kd; ++d) {
        const float stored = is(Fault::key_precision) && layout_.rows > 1 ? std::round(key[d] * 4) / 4 : key[d];
        put(keys, config.cache, (h * slots + slot) * kd + d, stored);
      }
      for (size_t d = 0; d < vd && !(is(Fault::value_not_written) && layer + 1 == config.layers.size() && layout_.rows > 1); ++d) {
        float value = 0;
        for (size_t i = 0; i < kHidden; ++i) value += wv[(h * vd + d) * kHidden + i] * row[i];
        put(values, config.cache, (h * slots + slot) * vd + d, value);
      }
    }
  }
  if (is(Fault::clobbers_slot_zero) && positions[0] > 0) put(values, config.cache, 0, 0.25f);
}

inline void TinyProgram::Method::attend_layer(size_t layer, std::vector<Vector>& x, const std::vector<int64_t>& positions) {
  const TinyConfig& config = program_.config_;
  const size_t heads = static_cast<size_t>(config.heads), kd = static_cast<size_t>(config.key_dim), vd = static_cast<size_t>(config.value_dim);
  const size_t slots = static_cast<size_t>(config.layers[layer].slots);
  const float *wq = program_.layer_weights(layer, 0), *wo = program_.layer_weights(layer, 3);
  const void *keys = cache_memory(layer, false), *values = cache_memory(layer, true);
  const bool sliding = config.layers[layer].window > 0;
  std::vector<float> scores(slots);
  for (size_t r = 0; r < x.size(); ++r) {
    Vector next = x[r];
    for (size_t h = 0; h < heads; ++h) {
      std::array<float, 16> query{};
      for (size_t d = 0; d < kd; ++d) {
        for (size_t i = 0; i < kHidden; ++i) query[d] += wq[(h * kd + d) * kHidden + i] * x[r][i];
      }
      for (size_t i = 0; i < 2; ++i) {
        const double angle = static_cast<double>(positions[r]) * (i == 0 ? 1.0 : 0.125);
        const float c = static_cast<float>(std::cos(angle)), s = static_cast<float>(std::sin(angle)), a = query[i], b = query[i + 2];
        query[i] = a * c - b * s;
        query[i + 2] = b * c + a * s;
      }
      float best = -std::numeric_limits<float>::infinity();
      for (size_t s = 0; s < slots; ++s) {
        float score = 0;
        for (size_t d = 0; d < kd; ++d) score += query[d] * get(keys, config.cache, (h * slots + s) * kd + d);
        score = score * (is(Fault::decode_scale) && layout_.rows == 1 ? 0.55f : 0.5f) + hiding(sliding, r, s, slots);
        if (is(Fault::first_key_unseen) && s == 0 && positions[r] > 0) score = std::numeric_limits<float>::lowest();
        if (is(Fault::window_one_short) && sliding) {
          const int64_t oldest = positions[r] - config.layers[layer].window + 1;
          if (oldest >= 0 && static_cast<size_t>(oldest) % slots == s) score = std::numeric_limits<float>::lowest();
        }
        scores[s] = score;
        best = std::max(best, score);
      }
      float total = 0;
      for (float& score : scores) total += score = std::exp(score - best);
      for (size_t d = 0; d < vd; ++d) {
        float out = 0;
        for (size_t s = 0; s < slots; ++s) out += scores[s] / total * get(values, config.cache, (h * slots + s) * vd + d);
        for (size_t i = 0; i < kHidden; ++i) next[i] += wo[(h * vd + d) * kHidden + i] * out;
      }
    }
    for (size_t i = 0; i < kHidden; ++i) x[r][i] = std::tanh(next[i]);
  }
}

inline void TinyProgram::Method::write_logits(const std::vector<Vector>& x) {
  const TinyConfig& config = program_.config_;
  const size_t vocab = static_cast<size_t>(config.V);
  const float* head = program_.weights_.data() + vocab * kHidden;
  size_t selected = layout_.last_row >= 0 ? static_cast<size_t>(integer(static_cast<size_t>(layout_.last_row), 0)) : 0;
  if (is(Fault::last_physical_row)) selected = x.size() - 1;
  if (is(Fault::row_off_by_one) && selected > 0) --selected;
  void* out = outputs_[layout_.logits];
  for (size_t r = 0; r < (layout_.all ? x.size() : 1); ++r) {
    size_t from = layout_.all ? r : selected;
    if (layout_.all && (is(Fault::row_off_by_one) || is(Fault::guesses_shifted)) && r > 0) from = r - 1;
    for (size_t v = 0; v < vocab; ++v) {
      float logit = hidden_state_;
      for (size_t i = 0; i < kHidden; ++i) logit += head[v * kHidden + i] * x[from][i] * (1 + hidden_state_);
      if (is(Fault::nan_logits) && v == 3 && calls_ > 4) logit = std::numeric_limits<float>::quiet_NaN();
      put(out, config.logits, r * vocab + v, logit);
    }
  }
}

inline Status TinyProgram::Method::execute() {
  const TinyConfig& config = program_.config_;
  if (program_.fail_after_ >= 0 && program_.fail_after_-- == 0) return Status::error(Code::internal, "the call was made to fail");
  ++calls_;
  if (program_.logging_) program_.calls_ += (program_.calls_.empty() ? "" : " ") + layout_.name + "@" + std::to_string(integer(layout_.positions, 0));
  const size_t rows = static_cast<size_t>(layout_.rows);
  std::vector<Vector> x(rows);
  std::vector<int64_t> positions(rows);
  float leak = 0;
  for (size_t r = 0; r < rows; ++r) {
    size_t id = static_cast<size_t>(integer(layout_.ids, r));
    if (is(Fault::last_token_folded) && id + 1 == static_cast<size_t>(config.V)) id = 0;
    positions[r] = integer(layout_.positions, r);
    if (is(Fault::positions_from_zero) && rows > 1) positions[r] = static_cast<int64_t>(r);
    if (is(Fault::counter_trusted)) positions[r] = own_counter_ + static_cast<int64_t>(r);
    for (size_t i = 0; i < kHidden; ++i) x[r][i] = program_.weights_[id * kHidden + i];
    leak += x[r][0];
  }
  own_counter_ = std::min(own_counter_ + layout_.rows, config.L - layout_.rows);
  if (is(Fault::pad_leaks)) {
    for (Vector& row : x) row[1] += 0.01f * leak;
  }
  if (is(Fault::end_of_context) && positions.back() + 1 == config.L) positions.back() -= 1;
  if (is(Fault::hidden_state)) hidden_state_ = 0.9f * hidden_state_ + 0.01f * x[0][0];
  if (is(Fault::not_repeatable)) hidden_state_ += 1e-3f;
  // A value of its own starts as a copy of what came in.
  const bool copies = config.states == States::separate || config.states == States::planned;
  for (size_t i = 0; copies && i < layout_.caches.size(); ++i) {
    if (outputs_[layout_.states[i]] == inputs_[layout_.caches[i]]) continue;
    std::memcpy(outputs_[layout_.states[i]], inputs_[layout_.caches[i]], info_.inputs[layout_.caches[i]].nbytes);
  }
  for (size_t l = 0; l < config.layers.size(); ++l) {
    std::vector<Vector> before = x;
    if (is(Fault::attend_before_write)) attend_layer(l, x, positions);
    write_layer(l, before, positions);
    if (!is(Fault::attend_before_write)) attend_layer(l, x, positions);
  }
  if (is(Fault::states_swapped) && config.layers.size() == 2 && config.layers[0].slots == config.layers[1].slots) {
    std::swap_ranges(static_cast<std::byte*>(cache_memory(0, false)), static_cast<std::byte*>(cache_memory(0, false)) + info_.inputs[layout_.caches[0]].nbytes,
                     static_cast<std::byte*>(cache_memory(1, false)));
  }
  // The state as it was before the call.
  for (size_t i = 0; is(Fault::state_output_late) && i < layout_.caches.size(); ++i) {
    std::memcpy(outputs_[layout_.states[i]], inputs_[layout_.caches[i]], info_.inputs[layout_.caches[i]].nbytes);
  }
  write_logits(x);
  if (layout_.counter >= 0) *static_cast<int64_t*>(inputs_[static_cast<size_t>(layout_.counter)]) = -123456789;  // what a program leaves there means nothing
  return {};
}

}  // namespace pteron::llm::testing
