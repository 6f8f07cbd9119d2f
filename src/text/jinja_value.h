// Values of the template language: Python's, as far as templates see them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace pteron::text::jinja {

class Value;
struct Dict;
struct Macro;
struct Loop;

// Arguments of a call: by position, then by name.
struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

// A function that a template can call. `name` is for error messages.
struct Callable {
  std::string name;
  std::function<Result<Value>(Arguments&)> call;
};

// A list, tuple, or anything that is only iterated (a generator, the view of a dict's items).
// Built once: what it weighs is known from then on.
struct Sequence {
  std::vector<Value> items;
  uint64_t weight = 1;
  uint32_t depth = 1;
};

// An object with named members that `set ns.x = ...` may change (namespace), or that the interpreter made (loop, cycler).
struct Members {
  std::string type;
  std::vector<std::pair<std::string, Value>> members;
  Value* find(std::string_view name);
};

enum class Kind : uint8_t { undefined, none, boolean, integer, number, string, list, tuple, generator, dict, callable, members };

class Value {
 public:
  Value() = default;  // undefined
  static Value none();
  static Value boolean(bool value);
  static Value integer(int64_t value);
  static Value number(double value);
  static Value string(std::string text);
  static Value list(std::vector<Value> items);
  static Value tuple(std::vector<Value> items);
  static Value generator(std::vector<Value> items);  // iterated only: has no length and no index
  static Value make_dict();
  static Value make_dict(std::vector<std::pair<Value, Value>> entries);
  static Value callable(std::string name, std::function<Result<Value>(Arguments&)> call);
  static Value members(std::shared_ptr<Members> members);
  // What is missing ("'x'", or a sentence with "no" in it), for the error of whoever uses it.
  static Value undefined(std::string what);

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  bool is_number() const { return kind_ == Kind::boolean || kind_ == Kind::integer || kind_ == Kind::number; }
  bool is_sequence() const { return kind_ == Kind::list || kind_ == Kind::tuple; }
  bool is_iterable() const { return is_sequence() || kind_ == Kind::generator || kind_ == Kind::dict || kind_ == Kind::string || kind_ == Kind::undefined; }

  // Each only for a value of that kind.
  bool boolean() const { return integer_ != 0; }
  int64_t integer() const { return integer_; }  // of a boolean too
  double number() const { return number_; }
  const std::string& text() const { return *text_; }  // of a string
  std::string_view missing() const { return text_ != nullptr ? std::string_view(*text_) : "a value"; }  // of an undefined value
  Sequence& sequence() const { return *sequence_; }
  Dict& dict() const { return *dict_; }
  Callable& callable() const { return *callable_; }
  Members& members() const { return *members_; }
  const void* identity() const;

  // What the whole value would take written out: elements and bytes, those it holds several times counted as often. Saturates.
  uint64_t weight() const;
  uint32_t depth() const;  // of nesting; 0 for what holds nothing
  // Bytes of a string, elements of a container, without what is in those.
  size_t extent() const;

  double as_number() const { return kind_ == Kind::number ? number_ : static_cast<double>(integer_); }
  bool truthy() const;
  std::string_view type_name() const;  // as Python calls it: "str", "NoneType", ...

 private:
  explicit Value(Kind kind) : kind_(kind) {}
  Kind kind_ = Kind::undefined;
  int64_t integer_ = 0;
  double number_ = 0;
  std::shared_ptr<const std::string> text_;
  std::shared_ptr<Sequence> sequence_;
  std::shared_ptr<Dict> dict_;
  std::shared_ptr<Callable> callable_;
  std::shared_ptr<Members> members_;
};

// Insertion-ordered. Templates hold small dicts: a search is linear.
struct Dict {
  std::vector<std::pair<Value, Value>> entries;
  uint64_t weight = 1;
  uint32_t depth = 1;
  const Value* find(const Value& key) const;
  const Value* find(std::string_view key) const;
  void set(Value key, Value value);
};

// Python's == . Numbers compare across kinds; other kinds are unequal.
bool equals(const Value& a, const Value& b);
// Python's <: numbers, strings, lists and tuples; other pairs are an error.
Result<bool> less(const Value& a, const Value& b);
// Whether `item` is in a list, tuple or generator, a key of a dict, or part of a string.
Result<bool> contains(const Value& container, const Value& item);
// The elements that a loop would see: of a list, tuple, generator, the keys of a dict, the characters of a string, nothing of undefined.
Result<std::vector<Value>> iterate(const Value& value);

// The error of a template at run time; the interpreter adds the line.
Status template_error(std::string_view what);
// The error of whoever uses an undefined value.
Status undefined_error(const Value& value);

}  // namespace pteron::text::jinja
