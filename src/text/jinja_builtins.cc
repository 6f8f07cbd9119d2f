#include "text/jinja_builtins.h"

#include <algorithm>
#include <optional>

#include "text/jinja_text.h"

namespace pteron::text::jinja {

namespace {
constexpr uint64_t kSizeOfStep = 16;
constexpr uint32_t kMaxNesting = 200;
}  // namespace

Status Meter::step(uint64_t count) {
  if (count > steps_) return Status::error(Code::out_of_capacity, "template takes too many steps");
  steps_ -= count;
  return {};
}

Status Meter::work(uint64_t size) { return step(size / kSizeOfStep); }

Status Meter::charge(uint64_t bytes) {
  if (bytes > bytes_) return Status::error(Code::out_of_capacity, "template makes too much text");
  bytes_ -= bytes;
  return {};
}

Status Meter::admit(const Value& value) const {
  if (value.depth() > kMaxNesting) return Status::error(Code::out_of_capacity, "template nests values too deeply");
  if (value.weight() > bytes_) return Status::error(Code::out_of_capacity, "template makes too much text");
  return {};
}

Result<Bound> Bound::bind(std::string_view function, Arguments& arguments, std::initializer_list<std::string_view> parameters) {
  Bound bound;
  bound.function_ = function;
  bound.values_.resize(parameters.size());
  bound.given_.resize(parameters.size(), false);
  if (arguments.positional.size() > parameters.size()) return template_error(std::string(function) + ": too many arguments");
  for (size_t i = 0; i < arguments.positional.size(); ++i) {
    bound.values_[i] = arguments.positional[i];
    bound.given_[i] = true;
  }
  for (auto& [name, value] : arguments.named) {
    const auto* found = std::find(parameters.begin(), parameters.end(), name);
    if (found == parameters.end()) return template_error(std::string(function) + ": unexpected argument '" + name + "'");
    const auto index = static_cast<size_t>(found - parameters.begin());
    if (bound.given_[index]) return template_error(std::string(function) + ": argument '" + name + "' given twice");
    bound.values_[index] = value;
    bound.given_[index] = true;
  }
  return bound;
}

bool Bound::truthy(size_t index, bool otherwise) const {
  const Value* value = get(index);
  return value == nullptr ? otherwise : value->truthy();
}

Result<int64_t> Bound::integer(size_t index, int64_t otherwise) const {
  const Value* value = get(index);
  if (value == nullptr) return otherwise;
  if (value->is(Kind::integer) || value->is(Kind::boolean)) return value->integer();
  return template_error(std::string(function_) + ": expected an integer, found " + std::string(value->type_name()));
}

Result<std::string> Bound::string(size_t index, std::string_view otherwise) const {
  const Value* value = get(index);
  if (value == nullptr) return std::string(otherwise);
  if (value->is(Kind::string)) return value->text();
  return template_error(std::string(function_) + ": expected a string, found " + std::string(value->type_name()));
}

namespace {

// Where [index] points in `size` elements; Python counts from the end below zero.
std::optional<size_t> position(int64_t index, size_t size) {
  if (index < 0) index += static_cast<int64_t>(size);
  if (index < 0 || index >= static_cast<int64_t>(size)) return std::nullopt;
  return static_cast<size_t>(index);
}

Value missing(const Value& value, std::string_view name) { return Value::undefined("'" + std::string(value.type_name()) + " object' has no attribute '" + std::string(name) + "'"); }

}  // namespace

Result<Value> get_attribute(const Value& value, std::string_view name, Meter& meter) {
  if (value.is(Kind::undefined)) return undefined_error(value);
  if (name.starts_with("_")) return missing(value, name);  // the sandbox shows no internals
  if (value.is(Kind::members)) {
    const Value* found = value.members().find(name);
    return found != nullptr ? *found : missing(value, name);
  }
  if (Value method = method_of(value, name, meter); !method.is(Kind::undefined)) return method;
  if (value.is(Kind::dict)) {
    if (const Value* found = value.dict().find(name)) return *found;
  }
  return missing(value, name);
}

Result<Value> get_item(const Value& value, const Value& index, Meter& meter) {
  if (value.is(Kind::undefined)) return undefined_error(value);
  if (value.is(Kind::dict)) {
    if (const Value* found = value.dict().find(index)) return *found;
  } else if (value.is_sequence() && index.is_number() && !index.is(Kind::number)) {
    if (const auto at = position(index.integer(), value.sequence().items.size())) return value.sequence().items[*at];
    return Value::undefined("element " + std::to_string(index.integer()) + " of a list");
  } else if (value.is(Kind::string) && index.is_number() && !index.is(Kind::number)) {
    const std::vector<std::string_view> characters = characters_of(value.text());
    if (const auto at = position(index.integer(), characters.size())) return Value::string(std::string(characters[*at]));
    return Value::undefined("character " + std::to_string(index.integer()) + " of a string");
  }
  if (index.is(Kind::string)) {
    if (index.text().starts_with("_")) return missing(value, index.text());
    if (value.is(Kind::members)) return get_attribute(value, index.text(), meter);
    if (Value method = method_of(value, index.text(), meter); !method.is(Kind::undefined)) return method;
    return missing(value, index.text());
  }
  return Value::undefined("item " + repr(index));
}

Value global_function(std::string_view name, Meter& meter) {
  if (name == "range") {
    return Value::callable("range", [&meter](Arguments& arguments) -> Result<Value> {
      PTERON_ASSIGN(const Bound bound, Bound::bind("range", arguments, {"start", "stop", "step"}));
      PTERON_ASSIGN(const int64_t first, bound.integer(0, 0));
      PTERON_ASSIGN(const int64_t second, bound.integer(1, 0));
      PTERON_ASSIGN(const int64_t step, bound.integer(2, 1));
      if (bound.get(0) == nullptr) return template_error("range expected at least 1 argument");
      if (step == 0) return template_error("range() arg 3 must not be zero");
      const int64_t start = bound.get(1) == nullptr ? 0 : first, stop = bound.get(1) == nullptr ? first : second;
      const __int128 span = step > 0 ? static_cast<__int128>(stop) - start : static_cast<__int128>(start) - stop, stride = step > 0 ? step : -static_cast<__int128>(step);
      const __int128 count = span <= 0 ? 0 : (span + stride - 1) / stride;
      if (count > 100000) return template_error("range too big: the sandbox blocks ranges of more than 100000 elements");
      PTERON_TRY(meter.charge(static_cast<uint64_t>(count) * sizeof(Value)));
      std::vector<Value> items;
      for (int64_t i = 0; i < static_cast<int64_t>(count); ++i) items.push_back(Value::integer(start + i * step));
      return Value::list(std::move(items));
    });
  }
  if (name == "dict") {
    return Value::callable("dict", [&meter](Arguments& arguments) -> Result<Value> {
      Value result = Value::make_dict();
      if (arguments.positional.size() > 1) return template_error("dict expected at most 1 argument");
      for (const Value& source : arguments.positional) {
        if (source.is(Kind::dict)) {
          for (const auto& [key, value] : source.dict().entries) result.dict().set(key, value);
          continue;
        }
        PTERON_ASSIGN(const std::vector<Value> pairs, iterate(source));
        for (const Value& pair : pairs) {
          PTERON_ASSIGN(const std::vector<Value> two, iterate(pair));
          if (two.size() != 2) return template_error("dict: expected pairs");
          PTERON_TRY(meter.work(result.extent()));
          result.dict().set(two[0], two[1]);
        }
      }
      for (const auto& [key, value] : arguments.named) result.dict().set(Value::string(key), value);
      return result;
    });
  }
  if (name == "cycler") {
    return Value::callable("cycler", [](Arguments& arguments) -> Result<Value> {
      if (arguments.positional.empty()) return template_error("at least one item has to be provided");
      auto state = std::make_shared<std::pair<size_t, std::vector<Value>>>(0, arguments.positional);
      auto members = std::make_shared<Members>();
      members->type = "Cycler";
      Members* self = members.get();  // its own functions live no longer than it
      members->members.emplace_back("current", state->second[0]);
      members->members.emplace_back("next", Value::callable("next", [state, self](Arguments&) -> Result<Value> {
                                      Value value = state->second[state->first];
                                      state->first = (state->first + 1) % state->second.size();
                                      *self->find("current") = state->second[state->first];
                                      return value;
                                    }));
      members->members.emplace_back("reset", Value::callable("reset", [state, self](Arguments&) -> Result<Value> {
                                      state->first = 0;
                                      *self->find("current") = state->second[0];
                                      return Value::none();
                                    }));
      return Value::members(std::move(members));
    });
  }
  if (name == "joiner") {
    return Value::callable("joiner", [](Arguments& arguments) -> Result<Value> {
      PTERON_ASSIGN(const Bound bound, Bound::bind("joiner", arguments, {"sep"}));
      PTERON_ASSIGN(const std::string separator, bound.string(0, ", "));
      auto used = std::make_shared<bool>(false);
      return Value::callable("joiner", [used, separator](Arguments&) -> Result<Value> { return Value::string(std::exchange(*used, true) ? separator : ""); });
    });
  }
  if (name == "lipsum") {
    return Value::callable("lipsum", [](Arguments&) -> Result<Value> { return template_error("lipsum makes random text, which a chat template has no use for"); });
  }
  return Value();
}

}  // namespace pteron::text::jinja
