#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/checked.h"
#include "llm/contract.h"
#include "llm/json.h"
#include "llm/method_source.h"

namespace pteron::llm {
namespace {

constexpr int64_t kLargestSize = std::numeric_limits<int32_t>::max();

Status wrong(std::string field, std::string expected, std::string found) {
  return Status::error(Code::invalid_data, "the contract object contradicts itself", {"", std::move(field), std::move(expected), std::move(found)});
}
Status wrong(std::string field, std::string expected, int64_t found) { return wrong(std::move(field), std::move(expected), std::to_string(found)); }
Status disagrees(std::string field, std::string expected, std::string found) {
  return Status::error(Code::invalid_data, "the program disagrees with its contract", {"", std::move(field), std::move(expected), std::move(found)});
}

std::string shape_text(std::span<const int64_t> shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i) out.append(i == 0 ? "" : ", ").append(std::to_string(shape[i]));
  return out + "]";
}

bool is_cache_float(ScalarType dtype) { return dtype == ScalarType::Float || dtype == ScalarType::Half || dtype == ScalarType::BFloat16; }
bool is_id_integer(ScalarType dtype) { return dtype == ScalarType::Long || dtype == ScalarType::Int; }
bool is_cache(InputRole role) { return role == InputRole::key_cache || role == InputRole::value_cache; }

Status check_size(const std::string& field, int64_t value, int64_t least, int64_t most = kLargestSize) {
  if (value >= least && value <= most) return {};
  return wrong(field, std::to_string(least) + " to " + std::to_string(most), value);
}

// Equal rank and sizes; the error names the first size that differs.
Status check_shape(const std::string& field, std::span<const int64_t> expected, std::span<const int64_t> found) {
  if (expected.size() != found.size()) return wrong(field, shape_text(expected), shape_text(found));
  for (size_t i = 0; i < expected.size(); ++i) {
    if (expected[i] != found[i]) return wrong(json_path(field, i), std::to_string(expected[i]), found[i]);
  }
  return {};
}

// The bytes of a tensor must be a number.
Status check_bytes(const std::string& field, std::span<const int64_t> shape, ScalarType dtype) {
  const auto elements = checked_product(shape);
  if (elements && checked_mul(*elements, element_size(dtype))) return {};
  return wrong(field, "a size that can be addressed", shape_text(shape));
}

// The object against itself: chapters 3 to 8 without the program.
class ObjectCheck {
 public:
  explicit ObjectCheck(const Contract& contract) : contract_(contract), rows_(contract.largest_rows()) {}

  Status run() const {
    PTERON_TRY(check_numbers());
    PTERON_TRY(check_methods());
    PTERON_TRY(check_layers());
    PTERON_TRY(check_masks());
    for (size_t m = 0; m < contract_.methods.size(); ++m) PTERON_TRY(check_method(contract_.methods[m], json_path("methods", m)));
    if (contract_.verify) PTERON_TRY(check_method(*contract_.verify, "verify"));
    return check_rope();
  }

 private:
  Status check_numbers() const {
    PTERON_TRY(check_size("context_length", contract_.context_length, 1));
    PTERON_TRY(check_size("vocab_size", contract_.vocab_size, 1));
    return check_size("pad_token", contract_.pad_token, 0, contract_.vocab_size - 1);
  }

  Status check_methods() const {
    size_t prefills = 0, decodes = 0;
    std::vector<std::string_view> names;
    for (size_t m = 0; m < contract_.methods.size(); ++m) {
      const MethodSpec& method = contract_.methods[m];
      const std::string path = json_path("methods", m);
      if (++(method.role == MethodRole::decode ? decodes : prefills) > 1) {
        return wrong(json_path(path, "role"), "one method a role", "a second " + std::string(role_name(method.role)));
      }
      PTERON_TRY(check_name_and_rows(method, path, names));
    }
    if (decodes == 0) return wrong("methods", "a decode method", "none");
    if (contract_.verify) PTERON_TRY(check_name_and_rows(*contract_.verify, "verify", names));
    return {};
  }

  Status check_name_and_rows(const MethodSpec& method, const std::string& path, std::vector<std::string_view>& names) const {
    if (method.name.empty()) return wrong(json_path(path, "name"), "a name", "an empty string");
    if (std::find(names.begin(), names.end(), method.name) != names.end()) return wrong(json_path(path, "name"), "a name of its own", method.name);
    names.push_back(method.name);
    const bool decode = method.role == MethodRole::decode;
    return check_size(json_path(path, "rows"), method.rows, decode ? 1 : 2, decode ? 1 : contract_.context_length);
  }

  Status check_layers() const {
    if (!is_cache_float(contract_.cache_dtype)) {
      return wrong("cache.dtype", "float32, float16 or bfloat16", std::string(dtype_name(contract_.cache_dtype)));
    }
    if (contract_.layers.empty()) return wrong("cache.layers", "at least one layer", "none");
    const LayerSpec* sliding = nullptr;
    size_t total = 0;
    for (size_t i = 0; i < contract_.layers.size(); ++i) {
      const LayerSpec& layer = contract_.layers[i];
      const std::string path = json_path("cache.layers", i);
      PTERON_TRY(check_size(json_path(path, "heads"), layer.heads, 1));
      PTERON_TRY(check_size(json_path(path, "key_dim"), layer.key_dim, 1));
      PTERON_TRY(check_size(json_path(path, "value_dim"), layer.value_dim, 1));
      PTERON_TRY(check_slots(layer, path));
      PTERON_TRY(add_bytes(layer, path, total));
      if (layer.kind != LayerKind::sliding) continue;
      // One mask serves all layers of a kind, so their geometry is one.
      if (sliding != nullptr && sliding->window != layer.window) {
        return wrong(json_path(path, "window"), std::to_string(sliding->window) + " as in the other sliding layers", layer.window);
      }
      if (sliding != nullptr && sliding->slots != layer.slots) {
        return wrong(json_path(path, "slots"), std::to_string(sliding->slots) + " as in the other sliding layers", layer.slots);
      }
      sliding = &layer;
    }
    return {};
  }

  Status check_slots(const LayerSpec& layer, const std::string& path) const {
    if (layer.kind == LayerKind::full) {
      if (layer.slots == contract_.context_length) return {};
      return wrong(json_path(path, "slots"), std::to_string(contract_.context_length) + " (context_length)", layer.slots);
    }
    PTERON_TRY(check_size(json_path(path, "window"), layer.window, 1, std::numeric_limits<int64_t>::max()));
    const int64_t reach = checked_add(layer.window, rows_ - 1).value_or(std::numeric_limits<int64_t>::max());
    return check_size(json_path(path, "slots"), layer.slots, std::min(contract_.context_length, reach));
  }

  // Adds a layer's caches to `total`, which must stay addressable.
  Status add_bytes(const LayerSpec& layer, const std::string& path, size_t& total) const {
    for (const int64_t dim : {layer.key_dim, layer.value_dim}) {
      const std::array<int64_t, 3> shape = {layer.heads, layer.slots, dim};
      PTERON_TRY(check_bytes(path, shape, contract_.cache_dtype));
      const auto sum = checked_add(total, *checked_product(std::span<const int64_t>(shape)) * element_size(contract_.cache_dtype));
      if (!sum) return wrong(path, "caches that can be addressed", "more than 2^64 bytes in all");
      total = *sum;
    }
    return {};
  }

  Status check_masks() const {
    for (size_t i = 0; i < contract_.masks.size(); ++i) {
      const MaskSpec& mask = contract_.masks[i];
      const std::string path = json_path("masks", i);
      for (size_t j = 0; j < i; ++j) {
        if (contract_.masks[j].name == mask.name) return wrong(json_path(path, "name"), "a name of its own", mask.name);
        if (contract_.masks[j].kind == mask.kind) return wrong(json_path(path, "kind"), "one mask a kind", "a second " + std::string(kind_name(mask.kind)));
      }
      if (layer_of(mask.kind) == nullptr) return wrong(json_path(path, "kind"), "a kind that a layer has", std::string(kind_name(mask.kind)));
    }
    for (const LayerKind kind : {LayerKind::full, LayerKind::sliding}) {
      const bool present = std::any_of(contract_.masks.begin(), contract_.masks.end(), [&](const MaskSpec& m) { return m.kind == kind; });
      if (layer_of(kind) != nullptr && !present) return wrong("masks", "a mask of kind " + std::string(kind_name(kind)), "none");
    }
    return {};
  }

  Status check_method(const MethodSpec& method, const std::string& path) const {
    if (method.role == MethodRole::verify && method.logits_rows != LogitsRows::all) {
      return wrong(json_path(path, "logits_rows"), "all", "selected");
    }
    PTERON_TRY(check_inputs(method, json_path(path, "inputs")));
    return check_outputs(method, json_path(path, "outputs"));
  }

  Status check_inputs(const MethodSpec& method, const std::string& path) const {
    std::vector<const InputSpec*> by_index(method.inputs.size());
    for (size_t i = 0; i < method.inputs.size(); ++i) {
      const InputSpec& input = method.inputs[i];
      const std::string here = json_path(path, i);
      PTERON_TRY(check_index(json_path(here, "index"), input.index, by_index, &input));
      PTERON_TRY(check_input(method, input, here));
      for (size_t j = 0; j < i; ++j) {
        if (same_thing(method.inputs[j], input)) return wrong(here, "one input of its kind", "a second " + std::string(role_name(input.role)));
      }
    }
    return check_complete(method, path);
  }

  template <class Spec>
  static Status check_index(const std::string& field, uint32_t index, std::vector<const Spec*>& by_index, const Spec* spec) {
    if (index >= by_index.size()) return wrong(field, "below " + std::to_string(by_index.size()) + ", the number of entries", index);
    if (by_index[index] != nullptr) return wrong(field, "each index once", index);
    by_index[index] = spec;
    return {};
  }

  static bool same_thing(const InputSpec& a, const InputSpec& b) {
    if (a.role != b.role) return false;
    if (is_cache(a.role)) return a.layer == b.layer;
    return a.role != InputRole::mask || a.mask == b.mask;
  }

  // Role by role: element type and shape. Everything that can be overflowed is checked first.
  Status check_input(const MethodSpec& method, const InputSpec& input, const std::string& path) const {
    PTERON_TRY(check_bytes(json_path(path, "shape"), input.shape, input.dtype));
    switch (input.role) {
      case InputRole::token_ids:
      case InputRole::position_ids:
        PTERON_TRY(check_dtype(path, is_id_integer(input.dtype), "int64 or int32", input.dtype));
        return check_shape(json_path(path, "shape"), std::array<int64_t, 2>{1, method.rows}, input.shape);
      case InputRole::counter:
        PTERON_TRY(check_dtype(path, is_id_integer(input.dtype), "int64 or int32", input.dtype));
        if (input.shape.empty()) return {};
        return check_shape(json_path(path, "shape"), std::array<int64_t, 1>{1}, input.shape);
      case InputRole::last_row:
        PTERON_TRY(check_dtype(path, input.dtype == ScalarType::Long, "int64", input.dtype));
        return check_shape(json_path(path, "shape"), std::array<int64_t, 1>{1}, input.shape);
      case InputRole::mask: return check_mask_input(method, input, path);
      case InputRole::key_cache:
      case InputRole::value_cache: return check_cache_input(input, path);
    }
    return {};
  }

  static Status check_dtype(const std::string& path, bool fine, std::string expected, ScalarType found) {
    if (fine) return {};
    return wrong(json_path(path, "dtype"), std::move(expected), std::string(dtype_name(found)));
  }

  Status check_mask_input(const MethodSpec& method, const InputSpec& input, const std::string& path) const {
    const auto mask = std::find_if(contract_.masks.begin(), contract_.masks.end(), [&](const MaskSpec& m) { return m.name == input.mask; });
    if (mask == contract_.masks.end()) return wrong(json_path(path, "mask"), "a name from masks", input.mask);
    const bool boolean = mask->form == MaskForm::boolean;
    PTERON_TRY(check_dtype(path, boolean ? input.dtype == ScalarType::Bool : is_cache_float(input.dtype),
                           boolean ? "bool" : "float32, float16 or bfloat16", input.dtype));
    return check_shape(json_path(path, "shape"), std::array<int64_t, 4>{1, 1, method.rows, layer_of(mask->kind)->slots}, input.shape);
  }

  Status check_cache_input(const InputSpec& input, const std::string& path) const {
    if (input.layer >= contract_.layers.size()) {
      return wrong(json_path(path, "layer"), "below " + std::to_string(contract_.layers.size()) + ", the number of layers", input.layer);
    }
    PTERON_TRY(check_dtype(path, input.dtype == contract_.cache_dtype, std::string(dtype_name(contract_.cache_dtype)), input.dtype));
    const LayerSpec& layer = contract_.layers[input.layer];
    const int64_t dim = input.role == InputRole::key_cache ? layer.key_dim : layer.value_dim;
    return check_shape(json_path(path, "shape"), std::array<int64_t, 4>{1, layer.heads, layer.slots, dim}, input.shape);
  }

  // Nothing that a call needs is missing. No thing is there twice, so counting is enough.
  Status check_complete(const MethodSpec& method, const std::string& path) const {
    const auto count = [&](InputRole role) {
      return static_cast<size_t>(std::count_if(method.inputs.begin(), method.inputs.end(), [&](const InputSpec& i) { return i.role == role; }));
    };
    const std::array<std::pair<InputRole, size_t>, 6> needed = {{{InputRole::token_ids, 1},
                                                                 {InputRole::position_ids, 1},
                                                                 {InputRole::mask, contract_.masks.size()},
                                                                 {InputRole::key_cache, contract_.layers.size()},
                                                                 {InputRole::value_cache, contract_.layers.size()},
                                                                 {InputRole::last_row, method.logits_rows == LogitsRows::selected ? 1 : 0}}};
    for (const auto& [role, least] : needed) {
      if (count(role) >= least) continue;
      return wrong(path, std::to_string(least) + " of role " + std::string(role_name(role)), static_cast<int64_t>(count(role)));
    }
    return {};
  }

  Status check_outputs(const MethodSpec& method, const std::string& path) const {
    std::vector<const OutputSpec*> by_index(method.outputs.size());
    size_t logits = 0;
    for (size_t i = 0; i < method.outputs.size(); ++i) {
      const OutputSpec& output = method.outputs[i];
      const std::string here = json_path(path, i);
      PTERON_TRY(check_index(json_path(here, "index"), output.index, by_index, &output));
      PTERON_TRY(check_bytes(json_path(here, "shape"), output.shape, output.dtype));
      if (output.role == OutputRole::logits) {
        if (++logits > 1) return wrong(here, "one output of its kind", "a second logits");
        PTERON_TRY(check_dtype(here, is_cache_float(output.dtype), "float32, float16 or bfloat16", output.dtype));
        const int64_t rows = method.logits_rows == LogitsRows::all ? method.rows : 1;
        PTERON_TRY(check_shape(json_path(here, "shape"), std::array<int64_t, 3>{1, rows, contract_.vocab_size}, output.shape));
        continue;
      }
      PTERON_TRY(check_state(method, output, here));
      for (size_t j = 0; j < i; ++j) {
        const OutputSpec& other = method.outputs[j];
        if (other.role != OutputRole::logits && other.aliases == output.aliases) return wrong(json_path(here, "aliases"), "each input once", output.aliases);
      }
    }
    if (logits == 0) return wrong(path, "1 of role logits", int64_t{0});
    return {};
  }

  static Status check_state(const MethodSpec& method, const OutputSpec& output, const std::string& path) {
    const auto aliased = std::find_if(method.inputs.begin(), method.inputs.end(), [&](const InputSpec& i) { return i.index == output.aliases; });
    const InputRole wanted = output.role == OutputRole::key_state ? InputRole::key_cache : InputRole::value_cache;
    if (aliased == method.inputs.end() || aliased->role != wanted) {
      return wrong(json_path(path, "aliases"), "the index of an input of role " + std::string(role_name(wanted)), output.aliases);
    }
    if (output.layer && *output.layer != aliased->layer) return wrong(json_path(path, "layer"), std::to_string(aliased->layer), *output.layer);
    PTERON_TRY(check_dtype(path, output.dtype == aliased->dtype, std::string(dtype_name(aliased->dtype)), output.dtype));
    return check_shape(json_path(path, "shape"), aliased->shape, output.shape);
  }

  Status check_rope() const {
    if (!contract_.rope) return {};
    const RopeSpec& rope = *contract_.rope;
    for (size_t i = 0; i < rope.tables.size(); ++i) {
      const RopeTable& table = rope.tables[i];
      const std::string path = json_path("rope.tables", i);
      if (table.dims < 2 || table.dims % 2 != 0) return wrong(json_path(path, "dims"), "an even number above 0", table.dims);
      const std::string frequencies = json_path(path, "inverse_frequencies");
      if (std::cmp_not_equal(table.inverse_frequencies.size(), table.dims / 2)) {
        return wrong(frequencies, std::to_string(table.dims / 2) + " numbers", static_cast<int64_t>(table.inverse_frequencies.size()));
      }
    }
    if (rope.layers.size() != contract_.layers.size()) {
      return wrong("rope.layers", std::to_string(contract_.layers.size()) + " entries", static_cast<int64_t>(rope.layers.size()));
    }
    for (size_t i = 0; i < rope.layers.size(); ++i) {
      if (rope.layers[i] && rope.tables[*rope.layers[i]].dims > contract_.layers[i].key_dim) {
        return wrong(json_path("rope.layers", i), "a table of at most " + std::to_string(contract_.layers[i].key_dim) + " dims",
                     rope.tables[*rope.layers[i]].dims);
      }
    }
    return {};
  }

  const LayerSpec* layer_of(LayerKind kind) const {
    const auto at = std::find_if(contract_.layers.begin(), contract_.layers.end(), [&](const LayerSpec& layer) { return layer.kind == kind; });
    return at == contract_.layers.end() ? nullptr : &*at;
  }

  const Contract& contract_;
  const int64_t rows_;
};

// The object against the program.
class ProgramCheck {
 public:
  ProgramCheck(const Contract& contract, std::span<const MethodInfo> methods) : contract_(contract), methods_(methods) {}

  Status run() const {
    for (size_t m = 0; m < contract_.methods.size(); ++m) PTERON_TRY(check_method(contract_.methods[m], json_path("methods", m)));
    if (contract_.verify) PTERON_TRY(check_method(*contract_.verify, "verify"));
    return check_published();
  }

 private:
  Status check_method(const MethodSpec& method, const std::string& path) const {
    const MethodInfo* info = find_method(methods_, method.name);
    if (info == nullptr || info->constant) return disagrees(json_path(path, "name"), "a method of the program", method.name);
    PTERON_TRY(check_count(json_path(path, "inputs"), method.inputs.size(), info->inputs.size()));
    PTERON_TRY(check_count(json_path(path, "outputs"), method.outputs.size(), info->outputs.size()));
    for (size_t i = 0; i < method.inputs.size(); ++i) {
      const InputSpec& input = method.inputs[i];
      const std::string here = json_path(json_path(path, "inputs"), i);
      PTERON_TRY(check_slot(here, input.dtype, input.shape, info->inputs[input.index]));
      if (info->inputs[input.index].planned) return disagrees(here, "an input that is not memory-planned", "a planned one");
    }
    for (size_t i = 0; i < method.outputs.size(); ++i) {
      const OutputSpec& output = method.outputs[i];
      const std::string here = json_path(json_path(path, "outputs"), i);
      PTERON_TRY(check_slot(here, output.dtype, output.shape, info->outputs[output.index]));
      // A planned state is copied back after each call; logits are read in the caller's buffer only.
      if (output.role == OutputRole::logits && info->outputs[output.index].planned) {
        return disagrees(here, "an output that is not memory-planned", "a planned one");
      }
    }
    return {};
  }

  static Status check_count(const std::string& field, size_t declared, size_t present) {
    if (declared == present) return {};
    return disagrees(field, std::to_string(declared) + " entries", std::to_string(present) + " in the program");
  }

  static Status check_slot(const std::string& path, ScalarType dtype, std::span<const int64_t> shape, const SlotInfo& slot) {
    if (slot.kind != ValueKind::tensor) return disagrees(path, "a tensor", "another kind of value");
    if (slot.dtype != dtype) return disagrees(json_path(path, "dtype"), std::string(dtype_name(dtype)), std::string(dtype_name(slot.dtype)));
    const std::vector<int64_t> sizes(slot.sizes.begin(), slot.sizes.end());
    if (sizes.size() != shape.size()) return disagrees(json_path(path, "shape"), shape_text(shape), shape_text(sizes));
    for (size_t i = 0; i < shape.size(); ++i) {
      if (sizes[i] != shape[i]) return disagrees(json_path(json_path(path, "shape"), i), std::to_string(shape[i]), std::to_string(sizes[i]));
    }
    if (slot.dynamic) return disagrees(json_path(path, "shape"), "static sizes", "sizes that are only bounds");
    size_t previous = 0;
    for (const uint8_t dim : slot.dim_order) {
      if (slot.sizes[dim] == 1) continue;  // its place makes no difference
      if (dim < previous) return disagrees(path, "a contiguous tensor", "another order of dimensions");
      previous = dim;
    }
    return {};
  }

  // The integers that other runners read, where the program publishes them.
  Status check_published() const {
    const std::array<std::pair<std::string_view, int64_t>, 4> integers = {
        {{"get_max_context_len", contract_.context_length},
         {"get_max_seq_len", contract_.context_length},
         {"get_vocab_size", contract_.vocab_size},
         {"get_n_layers", static_cast<int64_t>(contract_.layers.size())}}};
    for (const auto& [name, expected] : integers) {
      const SlotInfo* slot = published(name);
      if (slot == nullptr) continue;
      const bool integer = slot->kind == ValueKind::number_int;
      if (!integer || slot->int_value != expected) {
        return disagrees(std::string(name), std::to_string(expected), integer ? std::to_string(slot->int_value) : "another kind of value");
      }
    }
    const SlotInfo* slot = published("use_kv_cache");
    if (slot != nullptr && (slot->kind != ValueKind::boolean || !slot->bool_value)) return disagrees("use_kv_cache", "true", "something else");
    return {};
  }

  // The only output of a constant method, or null.
  const SlotInfo* published(std::string_view name) const {
    const MethodInfo* info = find_method(methods_, name);
    return info != nullptr && info->constant && info->outputs.size() == 1 ? &info->outputs[0] : nullptr;
  }

  const Contract& contract_;
  const std::span<const MethodInfo> methods_;
};

}  // namespace

Status validate_contract(const Contract& contract, std::span<const MethodInfo> methods) {
  PTERON_TRY(ObjectCheck(contract).run());
  return ProgramCheck(contract, methods).run();
}

}  // namespace pteron::llm
