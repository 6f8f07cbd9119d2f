// What the language brings along: filters, tests, methods of strings, dicts and lists.
#pragma once

#include <initializer_list>
#include <string_view>

#include "base/status.h"
#include "text/jinja_value.h"

namespace pteron::text::jinja {

// What a rendering may use: a template comes with a file and is not trusted.
class Meter {
 public:
  Meter(uint64_t steps, uint64_t bytes) : steps_(steps), bytes_(bytes) {}
  Status step(uint64_t count = 1);  // nodes evaluated, and as much work as that
  Status work(uint64_t size);       // bytes or elements looked at: some of them make a step
  Status charge(uint64_t bytes);    // text or elements made
  // Whether a value may be there: not nested deeper than recursion should follow, nor longer, written out, than what may still be made.
  Status admit(const Value& value) const;

 private:
  uint64_t steps_, bytes_;
};

// The arguments of a call under their parameters' names. Errors: too many, unknown, given twice.
class Bound {
 public:
  static Result<Bound> bind(std::string_view function, Arguments& arguments, std::initializer_list<std::string_view> parameters);
  // The argument of the i-th parameter, or null.
  const Value* get(size_t index) const { return values_[index].is(Kind::undefined) && !given_[index] ? nullptr : &values_[index]; }
  bool truthy(size_t index, bool otherwise) const;
  Result<int64_t> integer(size_t index, int64_t otherwise) const;
  Result<std::string> string(size_t index, std::string_view otherwise) const;

 private:
  std::string_view function_;
  std::vector<Value> values_;
  std::vector<bool> given_;
};

Result<Value> apply_filter(std::string_view name, const Value& operand, Arguments& arguments, Meter& meter);
Result<bool> apply_test(std::string_view name, const Value& operand, Arguments& arguments);

// value.name and value['name'], as the sandbox resolves them: methods and members, then items. Undefined where there is nothing; asking
// an undefined value is an error. What would change a value is refused when it is called.
Result<Value> get_attribute(const Value& value, std::string_view name, Meter& meter);
Result<Value> get_item(const Value& value, const Value& index, Meter& meter);
// A method of a string, dict or list; undefined where there is none of that name.
Value method_of(const Value& value, std::string_view name, Meter& meter);

// Functions that every template sees: range, dict, namespace, cycler, joiner, lipsum.
Value global_function(std::string_view name, Meter& meter);

}  // namespace pteron::text::jinja
