#include "text/jinja_text.h"

#include "text/jinja_fixture.h"

namespace pteron::text::jinja {
namespace {

TEST(JinjaFormat, RendersAsJinjaDoes) {
  expect_rendered({
      {"percent", "{{ '%s %r %d %5d|%-5d|%05d %+d %x %X %o %e %g %.1f %c %%' % ('a', 'b', 3, 4, 5, 6, 7, 255, 255, 8, 12345.678, "
       "0.0001, 2.25, 'z') }}",
       "a 'b' 3     4|5    |00006 +7 ff FF 10 1.234568e+04 0.0001 2.2 z %"},
      {"percent one", "{{ '%s' % 'x' }}{{ '%s' % [1] }}{{ '%(a)s%(b)03d' % {'a': 'q', 'b': 5} }}{{ '%.2s' % 'abc' }}{{ '%5s|%-5s|' % ('a', 'b') }}",
       "x[1]q005ab    a|b    |"},
      {"brace", "{{ '{:>5}|{:<5}|{:^5}|{:*^5}'.format('a', 'b', 'c', 'd') }}{{ '{:05d} {:+} {:x} {:#x} {:b} {:e}'.format(42, 5, "
       "255, 255, 5, 1234.5) }}{{ '{:.3}'.format('abcdef') }}{{ '{:%}'.format(0.25) }}{{ '{!r}'.format('a') }}{{ '{:,.2f}'.format(1234567.891) "
       "}}",
       "    a|b    |  c  |**d**00042 +5 ff 0xff 101 1.234500e+03abc25.000000%'a'1,234,567.89"},
  });
}

TEST(JinjaFormat, ErrorsSayTheLine) {
  expect_failures({
      {"\n{{ '%d' % 'a' }}", "line 2", "a number is required, not str"},
      {"{{ '%s %s' % ('a',) }}", "line 1", "not enough arguments"},
      {"{{ '%s' % ('a', 'b') }}", "line 1", "not all arguments converted"},
      {"{{ '%y' % 1 }}", "line 1", "unsupported format character 'y'"},
      {"{{ '%' % 1 }}", "line 1", "incomplete format"},
      {"{{ '%(a' % d }}", "line 1", "incomplete format key"},
      {"{{ '%(zz)s' % d }}", "line 1", "no key 'zz'"},
      {"{{ '{}'.format() }}", "line 1", "out of range"},
      {"{{ '{'.format() }}", "line 1", "Single '{'"},
      {"{{ '}'.format() }}", "line 1", "Single '}'"},
      {"{{ '{a}'.format(b=1) }}", "line 1", "no argument named 'a'"},
      {"{{ '{:q}'.format(1) }}", "line 1", "Invalid format specifier"},
      {"{{ '{:99999}'.format(1) }}", "line 1", "out of range"},
      {"{{ '%.99999f' % 1 }}", "line 1", "out of range"},
  });
}

TEST(JinjaFormat, AttributesAreNotReached) {
  Arguments arguments{{Value::string("a")}, {}};
  EXPECT_EQ(*brace_format("{0.__class__}", arguments), "");
}

TEST(JinjaFormat, ResultsAreBounded) {
  std::string format;
  std::vector<Value> values;
  for (int i = 0; i < 10000; ++i) {
    format += "%9999s";
    values.push_back(Value::string("a"));
  }
  EXPECT_EQ(percent_format(format, Value::tuple(values)).code(), Code::out_of_capacity);
}

}  // namespace
}  // namespace pteron::text::jinja
