// Tests: what stands after `is`.
#include <algorithm>
#include <array>

#include "text/jinja_builtins.h"
#include "text/jinja_parser.h"
#include "text/jinja_text.h"

namespace pteron::text::jinja {
namespace {

// Tests without an argument, and those with one (`other`).
using Test = Result<bool> (*)(const Value& self, const Value& other);
struct Row {
  std::string_view name;
  bool takes_argument;
  Test test;
};

template <Kind K>
Result<bool> is_kind(const Value& self, const Value&) { return self.is(K); }

Result<bool> is_defined(const Value& self, const Value&) { return !self.is(Kind::undefined); }
Result<bool> is_true(const Value& self, const Value&) { return self.is(Kind::boolean) && self.boolean(); }
Result<bool> is_false(const Value& self, const Value&) { return self.is(Kind::boolean) && !self.boolean(); }
Result<bool> is_number(const Value& self, const Value&) { return self.is_number(); }
Result<bool> is_integer(const Value& self, const Value&) { return self.is(Kind::integer); }
Result<bool> is_sequence(const Value& self, const Value&) { return self.is_sequence() || self.is(Kind::string) || self.is(Kind::dict); }
Result<bool> is_iterable(const Value& self, const Value&) { return self.is_iterable(); }
Result<bool> is_escaped(const Value&, const Value&) { return false; }
Result<bool> is_lower(const Value& self, const Value&) {
  const std::string text = to_text(self);
  return lower(text) == text && upper(text) != text;
}
Result<bool> is_upper(const Value& self, const Value&) {
  const std::string text = to_text(self);
  return upper(text) == text && lower(text) != text;
}

Result<bool> is_callable(const Value& self, const Value&) {
  return self.is(Kind::callable);
}

Result<bool> remainder_is(const Value& self, int64_t divisor, int64_t wanted) {
  if (!self.is(Kind::integer) && !self.is(Kind::boolean)) return template_error("not all arguments converted: an integer is needed, not " + std::string(self.type_name()));
  if (divisor == 0) return template_error("integer modulo by zero");
  const int64_t rest = divisor == -1 ? 0 : self.integer() % divisor;
  return (rest < 0 ? rest + (divisor < 0 ? -divisor : divisor) : rest) == wanted;
}
Result<bool> is_even(const Value& self, const Value&) { return remainder_is(self, 2, 0); }
Result<bool> is_odd(const Value& self, const Value&) { return remainder_is(self, 2, 1); }
Result<bool> divisible_by(const Value& self, const Value& other) {
  if (!other.is(Kind::integer)) return template_error("divisibleby needs an integer");
  return remainder_is(self, other.integer(), 0);
}

Result<bool> equal(const Value& self, const Value& other) { return equals(self, other); }
Result<bool> unequal(const Value& self, const Value& other) { return !equals(self, other); }
Result<bool> below(const Value& self, const Value& other) { return less(self, other); }
Result<bool> above(const Value& self, const Value& other) { return less(other, self); }
Result<bool> at_most(const Value& self, const Value& other) {
  PTERON_ASSIGN(const bool greater, less(other, self));
  return !greater;
}
Result<bool> at_least(const Value& self, const Value& other) {
  PTERON_ASSIGN(const bool smaller, less(self, other));
  return !smaller;
}

Result<bool> same_as(const Value& self, const Value& other) {
  if (self.kind() != other.kind()) return false;
  if (self.is_number()) return equals(self, other);
  return self.identity() == other.identity() || (self.is(Kind::string) && self.text() == other.text());
}

Result<bool> is_in(const Value& self, const Value& other) { return contains(other, self); }

Result<bool> is_filter(const Value& self, const Value&) { return self.is(Kind::string) && filter_exists(self.text()); }
Result<bool> is_test(const Value& self, const Value&) { return self.is(Kind::string) && test_exists(self.text()); }

constexpr std::array kTests = {
    Row{"boolean", false, is_kind<Kind::boolean>}, Row{"callable", false, is_callable}, Row{"defined", false, is_defined}, Row{"undefined", false, is_kind<Kind::undefined>},
    Row{"divisibleby", true, divisible_by}, Row{"eq", true, equal}, Row{"equalto", true, equal}, Row{"==", true, equal}, Row{"escaped", false, is_escaped},
    Row{"even", false, is_even}, Row{"odd", false, is_odd}, Row{"false", false, is_false}, Row{"true", false, is_true}, Row{"filter", false, is_filter},
    Row{"test", false, is_test}, Row{"float", false, is_kind<Kind::number>}, Row{"integer", false, is_integer}, Row{"number", false, is_number},
    Row{"ge", true, at_least}, Row{">=", true, at_least}, Row{"gt", true, above}, Row{"greaterthan", true, above}, Row{">", true, above}, Row{"le", true, at_most},
    Row{"<=", true, at_most}, Row{"lt", true, below}, Row{"lessthan", true, below}, Row{"<", true, below}, Row{"ne", true, unequal}, Row{"!=", true, unequal},
    Row{"in", true, is_in}, Row{"iterable", false, is_iterable}, Row{"lower", false, is_lower}, Row{"upper", false, is_upper}, Row{"mapping", false, is_kind<Kind::dict>},
    Row{"none", false, is_kind<Kind::none>}, Row{"sameas", true, same_as}, Row{"sequence", false, is_sequence}, Row{"string", false, is_kind<Kind::string>},
};

const Row* find_test(std::string_view name) {
  const auto found = std::find_if(kTests.begin(), kTests.end(), [&](const Row& row) { return row.name == name; });
  return found == kTests.end() ? nullptr : &*found;
}

}  // namespace

bool test_exists(std::string_view name) { return find_test(name) != nullptr; }

Result<bool> apply_test(std::string_view name, const Value& operand, Arguments& arguments) {
  const Row* row = find_test(name);
  if (row == nullptr) return template_error("No test named '" + std::string(name) + "'.");
  const size_t given = arguments.positional.size() + arguments.named.size();
  if (given != (row->takes_argument ? 1u : 0u)) return template_error("test '" + std::string(name) + "' takes " + (row->takes_argument ? "one argument" : "no arguments"));
  const Value none;
  return row->test(operand, !row->takes_argument ? none : !arguments.positional.empty() ? arguments.positional[0] : arguments.named[0].second);
}

}  // namespace pteron::text::jinja
