#include "llm/contract.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "core/dtype.h"
#include "llm/json.h"

namespace pteron::llm {
namespace {

// A fixed set of words a field may hold, and what each means.
template <class T>
struct Word {
  std::string_view text;
  T value;
};

constexpr std::array kMethodRoles = {Word<MethodRole>{"prefill", MethodRole::prefill}, Word<MethodRole>{"decode", MethodRole::decode}};
constexpr std::array kVerifyRole = {Word<MethodRole>{"verify", MethodRole::verify}};
constexpr std::array kInputRoles = {
    Word<InputRole>{"token_ids", InputRole::token_ids}, Word<InputRole>{"position_ids", InputRole::position_ids},
    Word<InputRole>{"mask", InputRole::mask},           Word<InputRole>{"key_cache", InputRole::key_cache},
    Word<InputRole>{"value_cache", InputRole::value_cache}, Word<InputRole>{"last_row", InputRole::last_row},
    Word<InputRole>{"counter", InputRole::counter}};
constexpr std::array kOutputRoles = {Word<OutputRole>{"logits", OutputRole::logits}, Word<OutputRole>{"key_state", OutputRole::key_state},
                                     Word<OutputRole>{"value_state", OutputRole::value_state}};
constexpr std::array kLayerKinds = {Word<LayerKind>{"full", LayerKind::full}, Word<LayerKind>{"sliding", LayerKind::sliding}};
constexpr std::array kMaskForms = {Word<MaskForm>{"additive", MaskForm::additive}, Word<MaskForm>{"boolean", MaskForm::boolean}};
constexpr std::array kLogitsRows = {Word<LogitsRows>{"all", LogitsRows::all}, Word<LogitsRows>{"selected", LogitsRows::selected}};
constexpr std::array kPairings = {Word<bool>{"half", false}, Word<bool>{"interleaved", true}};
constexpr std::array kLayouts = {Word<bool>{"bhsd", true}};

template <class T, size_t N>
std::string_view name_of(const std::array<Word<T>, N>& words, T value) {
  const auto at = std::find_if(words.begin(), words.end(), [&](const Word<T>& word) { return word.value == value; });
  return at == words.end() ? std::string_view() : at->text;
}

// An object of the file together with the path that errors name.
class Fields {
 public:
  // `path` must outlive the object where it has a parent.
  static Result<Fields> of(const Json& value, JsonPath path) {
    PTERON_TRY(json_expect(value, Json::Kind::object, path));
    return Fields(value, path);
  }

  bool has(std::string_view key) const { return object_->find(key) != nullptr; }
  JsonPath at(std::string_view key) const { return path_.member(key); }

  Status size(std::string_view key, int64_t& out) const {
    PTERON_ASSIGN(const Json* value, json_member(*object_, key, path_));
    PTERON_ASSIGN(out, json_size(*value, at(key)));
    return {};
  }
  // A size of which there can be no more than fit into 32 bits: an index.
  Status index(std::string_view key, uint32_t& out) const {
    int64_t value = 0;
    PTERON_TRY(size(key, value));
    if (value > UINT32_MAX) return json_error(at(key), "an index below 2^32", *object_->find(key));
    out = static_cast<uint32_t>(value);
    return {};
  }
  Status string(std::string_view key, std::string& out) const {
    PTERON_ASSIGN(const Json* value, json_member(*object_, key, path_));
    PTERON_ASSIGN(out, json_string(*value, at(key)));
    return {};
  }
  template <class T, size_t N>
  Status word(std::string_view key, const std::array<Word<T>, N>& words, T& out) const {
    PTERON_ASSIGN(const Json* value, json_member(*object_, key, path_));
    PTERON_ASSIGN(const std::string_view text, json_string(*value, at(key)));
    for (const Word<T>& word : words) {
      if (word.text == text) {
        out = word.value;
        return {};
      }
    }
    std::string expected;
    for (const Word<T>& word : words) expected.append(expected.empty() ? "" : " or ").append(word.text);
    return json_error(at(key), expected, *value);
  }
  Status dtype(std::string_view key, ScalarType& out) const {
    PTERON_ASSIGN(const Json* value, json_member(*object_, key, path_));
    PTERON_ASSIGN(const std::string_view text, json_string(*value, at(key)));
    const auto found = dtype_from_name(text);
    if (!found) return json_error(at(key), "the name of an element type", *value);
    out = *found;
    return {};
  }
  Result<const Json*> array(std::string_view key) const {
    PTERON_ASSIGN(const Json* value, json_member(*object_, key, path_));
    PTERON_TRY(json_expect(*value, Json::Kind::array, at(key)));
    return value;
  }
  Result<Fields> object(std::string_view key) const {
    PTERON_ASSIGN(const Json* value, json_member(*object_, key, path_));
    return of(*value, at(key));
  }
  // Reads every element of the array `key` with `read(Fields, T&)`.
  template <class T, class Read>
  Status each(std::string_view key, std::vector<T>& out, Read&& read) const {
    PTERON_ASSIGN(const Json* items, array(key));
    const JsonPath here = at(key);
    out.resize(items->items().size());
    for (size_t i = 0; i < out.size(); ++i) {
      PTERON_ASSIGN(const Fields element, of(items->items()[i], here.element(i)));
      PTERON_TRY(read(element, out[i]));
    }
    return {};
  }

 private:
  Fields(const Json& object, JsonPath path) : object_(&object), path_(path) {}
  const Json* object_;
  JsonPath path_;
};

Status read_shape(const Fields& fields, std::vector<int64_t>& out) {
  PTERON_ASSIGN(const Json* sizes, fields.array("shape"));
  const JsonPath path = fields.at("shape");
  for (size_t i = 0; i < sizes->items().size(); ++i) {
    PTERON_ASSIGN(const int64_t size, json_size(sizes->items()[i], path.element(i)));
    out.push_back(size);
  }
  return {};
}

Status read_input(const Fields& fields, InputSpec& out) {
  PTERON_TRY(fields.word("role", kInputRoles, out.role));
  PTERON_TRY(fields.index("index", out.index));
  PTERON_TRY(fields.dtype("dtype", out.dtype));
  PTERON_TRY(read_shape(fields, out.shape));
  if (out.role == InputRole::key_cache || out.role == InputRole::value_cache) PTERON_TRY(fields.index("layer", out.layer));
  if (out.role == InputRole::mask) PTERON_TRY(fields.string("mask", out.mask));
  return {};
}

Status read_output(const Fields& fields, OutputSpec& out) {
  PTERON_TRY(fields.word("role", kOutputRoles, out.role));
  PTERON_TRY(fields.index("index", out.index));
  PTERON_TRY(fields.dtype("dtype", out.dtype));
  PTERON_TRY(read_shape(fields, out.shape));
  if (out.role == OutputRole::logits) return {};
  PTERON_TRY(fields.index("aliases", out.aliases));
  if (fields.has("layer")) PTERON_TRY(fields.index("layer", out.layer.emplace()));
  return {};
}

template <size_t N>
Status read_method(const Fields& fields, const std::array<Word<MethodRole>, N>& roles, MethodSpec& out) {
  PTERON_TRY(fields.word("role", roles, out.role));
  PTERON_TRY(fields.string("name", out.name));
  PTERON_TRY(fields.size("rows", out.rows));
  PTERON_TRY(fields.word("logits_rows", kLogitsRows, out.logits_rows));
  PTERON_TRY(fields.each("inputs", out.inputs, read_input));
  return fields.each("outputs", out.outputs, read_output);
}

Status read_mask(const Fields& fields, MaskSpec& out) {
  PTERON_TRY(fields.string("name", out.name));
  PTERON_TRY(fields.word("kind", kLayerKinds, out.kind));
  return fields.word("form", kMaskForms, out.form);
}

Status read_layer(const Fields& fields, LayerSpec& out) {
  PTERON_TRY(fields.word("kind", kLayerKinds, out.kind));
  PTERON_TRY(fields.size("heads", out.heads));
  PTERON_TRY(fields.size("key_dim", out.key_dim));
  PTERON_TRY(fields.size("value_dim", out.value_dim));
  PTERON_TRY(fields.size("slots", out.slots));
  if (out.kind == LayerKind::sliding) PTERON_TRY(fields.size("window", out.window));
  return {};
}

Status read_rope_table(const Fields& fields, RopeTable& out) {
  PTERON_TRY(fields.size("dims", out.dims));
  PTERON_ASSIGN(const Json* values, fields.array("inverse_frequencies"));
  for (size_t i = 0; i < values->items().size(); ++i) {
    const Json& value = values->items()[i];
    if (!value.is(Json::Kind::number) && !value.is(Json::Kind::integer)) {
      return json_error(fields.at("inverse_frequencies").element(i), "a number", value);
    }
    out.inverse_frequencies.push_back(value.number());
  }
  return {};
}

Status read_rope(const Fields& fields, RopeSpec& out) {
  PTERON_TRY(fields.word("pairing", kPairings, out.interleaved));
  PTERON_TRY(fields.each("tables", out.tables, read_rope_table));
  PTERON_ASSIGN(const Json* layers, fields.array("layers"));
  for (size_t i = 0; i < layers->items().size(); ++i) {
    const Json& value = layers->items()[i];
    auto& layer = out.layers.emplace_back();
    if (value.is(Json::Kind::null)) continue;
    const JsonPath array = fields.at("layers"), path = array.element(i);
    PTERON_ASSIGN(const int64_t table, json_size(value, path));
    if (table >= static_cast<int64_t>(out.tables.size())) return json_error(path, "the index of a table, or null", value);
    layer = static_cast<uint32_t>(table);
  }
  return {};
}

Status read_requires(const Fields& fields) {
  if (!fields.has("requires")) return {};
  PTERON_ASSIGN(const Json* features, fields.array("requires"));
  for (size_t i = 0; i < features->items().size(); ++i) {
    const JsonPath array = fields.at("requires"), path = array.element(i);
    PTERON_ASSIGN(const std::string_view feature, json_string(features->items()[i], path));
    return Status::error(Code::unsupported, "the contract requires an unknown feature", {"", path.text(), "a known feature (there are none)", std::string(feature)});
  }
  return {};
}

Status read_identity(const Fields& fields, ContractId& out) {
  PTERON_TRY(fields.string("contract", out.contract));
  return fields.size("version", out.version);
}

Status read_contract(const Fields& fields, Contract& out) {
  ContractId id;
  PTERON_TRY(read_identity(fields, id));
  if (id.contract != "hf_static") return Status::error(Code::unsupported, "unknown contract", {"", "contract", "hf_static", id.contract});
  if (id.version != 1) return Status::error(Code::unsupported, "unknown version of the contract", {"", "version", "1", std::to_string(id.version)});
  PTERON_TRY(read_requires(fields));
  PTERON_TRY(fields.size("context_length", out.context_length));
  PTERON_TRY(fields.size("vocab_size", out.vocab_size));
  PTERON_TRY(fields.size("pad_token", out.pad_token));
  if (fields.has("architecture")) PTERON_TRY(fields.string("architecture", out.architecture));
  PTERON_TRY(fields.each("methods", out.methods, [](const Fields& f, MethodSpec& m) { return read_method(f, kMethodRoles, m); }));
  if (fields.has("verify")) {
    PTERON_ASSIGN(const Fields verify, fields.object("verify"));
    PTERON_TRY(read_method(verify, kVerifyRole, out.verify.emplace()));
  }
  PTERON_TRY(fields.each("masks", out.masks, read_mask));
  PTERON_ASSIGN(const Fields cache, fields.object("cache"));
  PTERON_TRY(cache.dtype("dtype", out.cache_dtype));
  bool layout = false;
  PTERON_TRY(cache.word("layout", kLayouts, layout));
  PTERON_TRY(cache.each("layers", out.layers, read_layer));
  if (fields.has("rope")) {
    PTERON_ASSIGN(const Fields rope, fields.object("rope"));
    PTERON_TRY(read_rope(rope, out.rope.emplace()));
  }
  return {};
}

}  // namespace

std::string_view role_name(MethodRole role) { return role == MethodRole::verify ? "verify" : name_of(kMethodRoles, role); }
std::string_view role_name(InputRole role) { return name_of(kInputRoles, role); }
std::string_view role_name(OutputRole role) { return name_of(kOutputRoles, role); }
std::string_view kind_name(LayerKind kind) { return name_of(kLayerKinds, kind); }

const MethodSpec* Contract::method(MethodRole role) const {
  if (role == MethodRole::verify) return verify ? &*verify : nullptr;
  const auto at = std::find_if(methods.begin(), methods.end(), [&](const MethodSpec& method) { return method.role == role; });
  return at == methods.end() ? nullptr : &*at;
}

int64_t Contract::largest_rows() const {
  int64_t rows = verify ? verify->rows : 0;
  for (const MethodSpec& method : methods) rows = std::max(rows, method.rows);
  return rows;
}

Result<ContractId> identify_contract(std::string_view json) {
  PTERON_ASSIGN(const Json root, Json::parse(json));
  PTERON_ASSIGN(const Fields fields, Fields::of(root, {}));
  ContractId id;
  PTERON_TRY(read_identity(fields, id));
  return id;
}

Result<Contract> parse_contract(std::string_view json) {
  PTERON_ASSIGN(const Json root, Json::parse(json));
  PTERON_ASSIGN(const Fields fields, Fields::of(root, {}));
  Contract contract;
  PTERON_TRY(read_contract(fields, contract));
  return contract;
}

size_t cache_bytes_per_token(const Contract& contract) {
  size_t elements = 0;
  for (const LayerSpec& layer : contract.layers) elements += static_cast<size_t>(layer.heads) * static_cast<size_t>(layer.key_dim + layer.value_dim);
  return elements * element_size(contract.cache_dtype);
}

size_t cache_bytes(const Contract& contract) {
  size_t elements = 0;
  for (const LayerSpec& layer : contract.layers) {
    elements += static_cast<size_t>(layer.heads) * static_cast<size_t>(layer.slots) * static_cast<size_t>(layer.key_dim + layer.value_dim);
  }
  return elements * element_size(contract.cache_dtype);
}

}  // namespace pteron::llm
