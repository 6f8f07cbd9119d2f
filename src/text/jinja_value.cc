#include "text/jinja_value.h"

#include <algorithm>

#include "text/jinja_text.h"

namespace pteron::text::jinja {

namespace {

uint64_t saturating_sum(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

// Counts what a container has taken up.
template <class Container>
void weigh(Container& container, const Value& item) {
  container.weight = saturating_sum(container.weight, item.weight());
  container.depth = std::max(container.depth, item.depth() + 1);
}

}  // namespace

Value* Members::find(std::string_view name) {
  for (auto& [key, value] : members) {
    if (key == name) return &value;
  }
  return nullptr;
}

Value Value::none() { return Value(Kind::none); }

Value Value::boolean(bool value) {
  Value v(Kind::boolean);
  v.integer_ = value ? 1 : 0;
  return v;
}

Value Value::integer(int64_t value) {
  Value v(Kind::integer);
  v.integer_ = value;
  return v;
}

Value Value::number(double value) {
  Value v(Kind::number);
  v.number_ = value;
  return v;
}

Value Value::string(std::string text) {
  Value v(Kind::string);
  v.text_ = std::make_shared<const std::string>(std::move(text));
  return v;
}

Value Value::list(std::vector<Value> items) {
  Value v(Kind::list);
  v.sequence_ = std::make_shared<Sequence>(Sequence{std::move(items)});
  for (const Value& item : v.sequence_->items) weigh(*v.sequence_, item);
  return v;
}

Value Value::tuple(std::vector<Value> items) {
  Value v = list(std::move(items));
  v.kind_ = Kind::tuple;
  return v;
}

Value Value::generator(std::vector<Value> items) {
  Value v = list(std::move(items));
  v.kind_ = Kind::generator;
  return v;
}

Value Value::make_dict() {
  Value v(Kind::dict);
  v.dict_ = std::make_shared<Dict>();
  return v;
}

Value Value::make_dict(std::vector<std::pair<Value, Value>> entries) {
  Value v = make_dict();
  for (auto& [key, value] : entries) v.dict_->set(std::move(key), std::move(value));
  return v;
}

Value Value::callable(std::string name, std::function<Result<Value>(Arguments&)> call) {
  Value v(Kind::callable);
  v.callable_ = std::make_shared<Callable>(Callable{std::move(name), std::move(call)});
  return v;
}

Value Value::members(std::shared_ptr<Members> members) {
  Value v(Kind::members);
  v.members_ = std::move(members);
  return v;
}

Value Value::undefined(std::string what) {
  Value v(Kind::undefined);
  v.text_ = std::make_shared<const std::string>(std::move(what));
  return v;
}

const void* Value::identity() const {
  switch (kind_) {
    case Kind::string: return text_.get();
    case Kind::list:
    case Kind::tuple:
    case Kind::generator: return sequence_.get();
    case Kind::dict: return dict_.get();
    case Kind::callable: return callable_.get();
    case Kind::members: return members_.get();
    default: return nullptr;
  }
}

uint64_t Value::weight() const {
  switch (kind_) {
    case Kind::string: return text_->size() + 1;
    case Kind::list:
    case Kind::tuple:
    case Kind::generator: return sequence_->weight;
    case Kind::dict: return dict_->weight;
    default: return 1;
  }
}

uint32_t Value::depth() const { return sequence_ != nullptr ? sequence_->depth : dict_ != nullptr ? dict_->depth : 0; }

size_t Value::extent() const {
  if (kind_ == Kind::string) return text_->size();
  return sequence_ != nullptr ? sequence_->items.size() : dict_ != nullptr ? dict_->entries.size() : 0;
}

bool Value::truthy() const {
  switch (kind_) {
    case Kind::undefined:
    case Kind::none: return false;
    case Kind::boolean:
    case Kind::integer: return integer_ != 0;
    case Kind::number: return number_ != 0;
    case Kind::string: return !text_->empty();
    case Kind::list:
    case Kind::tuple: return !sequence_->items.empty();
    case Kind::dict: return !dict_->entries.empty();
    default: return true;
  }
}

std::string_view Value::type_name() const {
  switch (kind_) {
    case Kind::undefined: return "Undefined";
    case Kind::none: return "NoneType";
    case Kind::boolean: return "bool";
    case Kind::integer: return "int";
    case Kind::number: return "float";
    case Kind::string: return "str";
    case Kind::list: return "list";
    case Kind::tuple: return "tuple";
    case Kind::generator: return "generator";
    case Kind::dict: return "dict";
    case Kind::callable: return "function";
    case Kind::members: return members_->type;
  }
  return "object";
}

const Value* Dict::find(const Value& key) const {
  for (const auto& [k, v] : entries) {
    if (equals(k, key)) return &v;
  }
  return nullptr;
}

const Value* Dict::find(std::string_view key) const {
  for (const auto& [k, v] : entries) {
    if (k.is(Kind::string) && k.text() == key) return &v;
  }
  return nullptr;
}

void Dict::set(Value key, Value value) {
  weigh(*this, key);
  weigh(*this, value);
  for (auto& [k, v] : entries) {
    if (equals(k, key)) {
      v = std::move(value);
      return;
    }
  }
  entries.emplace_back(std::move(key), std::move(value));
}

bool equals(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    if (a.kind() == Kind::number || b.kind() == Kind::number) return a.as_number() == b.as_number();
    return a.integer() == b.integer();
  }
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::undefined:
    case Kind::none: return true;
    case Kind::string: return a.text() == b.text();
    case Kind::list:
    case Kind::tuple:
      return std::equal(a.sequence().items.begin(), a.sequence().items.end(), b.sequence().items.begin(), b.sequence().items.end(), equals);
    case Kind::dict: {
      if (a.dict().entries.size() != b.dict().entries.size()) return false;
      return std::all_of(a.dict().entries.begin(), a.dict().entries.end(), [&](const auto& entry) {
        const Value* other = b.dict().find(entry.first);
        return other != nullptr && equals(entry.second, *other);
      });
    }
    default: return a.identity() == b.identity();
  }
}

Result<bool> less(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    if (a.kind() == Kind::number || b.kind() == Kind::number) return a.as_number() < b.as_number();
    return a.integer() < b.integer();
  }
  if (a.kind() == b.kind() && a.is(Kind::string)) return a.text() < b.text();  // UTF-8 sorts as code points do
  if (a.kind() == b.kind() && a.is_sequence()) {
    const std::vector<Value>&x = a.sequence().items, &y = b.sequence().items;
    for (size_t i = 0; i < x.size() && i < y.size(); ++i) {
      if (!equals(x[i], y[i])) return less(x[i], y[i]);
    }
    return x.size() < y.size();
  }
  if (a.is(Kind::undefined) || b.is(Kind::undefined)) return undefined_error(a.is(Kind::undefined) ? a : b);
  return template_error("'<' not supported between instances of '" + std::string(a.type_name()) + "' and '" + std::string(b.type_name()) + "'");
}

Result<bool> contains(const Value& container, const Value& item) {
  switch (container.kind()) {
    case Kind::undefined: return false;
    case Kind::string:
      if (!item.is(Kind::string)) return template_error("'in <string>' requires string as left operand, not " + std::string(item.type_name()));
      return container.text().find(item.text()) != std::string::npos;
    case Kind::list:
    case Kind::tuple:
    case Kind::generator:
      return std::any_of(container.sequence().items.begin(), container.sequence().items.end(), [&](const Value& other) { return equals(other, item); });
    case Kind::dict: return container.dict().find(item) != nullptr;
    default: return template_error("argument of type '" + std::string(container.type_name()) + "' is not iterable");
  }
}

Result<std::vector<Value>> iterate(const Value& value) {
  switch (value.kind()) {
    case Kind::undefined: return std::vector<Value>();
    case Kind::list:
    case Kind::tuple:
    case Kind::generator: return value.sequence().items;
    case Kind::dict: {
      std::vector<Value> keys;
      for (const auto& [key, item] : value.dict().entries) keys.push_back(key);
      return keys;
    }
    case Kind::string: {
      std::vector<Value> characters;
      for (std::string_view c : characters_of(value.text())) characters.push_back(Value::string(std::string(c)));
      return characters;
    }
    default: return template_error("'" + std::string(value.type_name()) + "' object is not iterable");
  }
}

Status template_error(std::string_view what) { return Status::error(Code::invalid_data, what); }

Status undefined_error(const Value& value) {
  const std::string what(value.missing());
  return template_error(what.find(" no ") != std::string::npos ? what : what + " is undefined");
}

}  // namespace pteron::text::jinja
