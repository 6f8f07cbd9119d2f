#include "text/jinja_builtins.h"

#include "text/jinja_fixture.h"
#include "text/jinja_parser.h"

namespace pteron::text::jinja {
namespace {

TEST(JinjaTests, RendersAsJinjaDoes) {
  expect_rendered({
      {"kinds", "{{ 1 is integer }}{{ 1.0 is integer }}{{ true is integer }}{{ 1 is number }}{{ true is number }}{{ 1.0 is float "
       "}}{{ 'a' is string }}{{ none is none }}{{ d is mapping }}{{ words is sequence }}{{ d is sequence }}{{ 'a' is sequence "
       "}}{{ words is iterable }}{{ 1 is iterable }}{{ true is boolean }}{{ 1 is boolean }}{{ d is iterable }}{{ none "
       "is string }}{{ (1,) is sequence }}",
       "TrueFalseFalseTrueTrueTrueTrueTrueTrueTrueTrueTrueTrueFalseTrueFalseTrueFalseTrue"},
      {"defined", "{{ zz is defined }}{{ zz is undefined }}{{ n is defined }}{{ messages[0].zz is defined }}{{ none_ is defined }}",
       "FalseTrueTrueFalseTrue"},
      {"truth", "{{ true is true }}{{ 1 is true }}{{ false is false }}{{ 0 is false }}{{ none is false }}",
       "TrueFalseTrueFalseFalse"},
      {"numbers", "{{ 2 is even }}{{ 3 is odd }}{{ 9 is divisibleby(3) }}{{ 10 is divisibleby 3 }}{{ -3 is odd }}",
       "TrueTrueTrueFalseTrue"},
      {"comparison", "{{ 1 is eq 1 }}{{ 1 is ne 2 }}{{ 1 is lt 2 }}{{ 2 is ge 2 }}{{ 1 is equalto(1) }}{{ 3 is gt 2 }}{{ 1 is le 0 }}{{ "
       "1 is lessthan 2 }}{{ 2 is greaterthan 1 }}",
       "TrueTrueTrueTrueTrueTrueFalseTrueTrue"},
      {"case", "{{ 'abc' is lower }}{{ 'ABC' is upper }}{{ 'aB' is lower }}{{ '12' is upper }}",
       "TrueTrueFalseFalse"},
      {"sameas and in", "{{ none is sameas none }}{{ true is sameas true }}{{ 1 is sameas true }}{{ 'a' is in 'abc' }}{{ 3 is in [1, 2] }}{{ 'b' is in d }}",
       "TrueTrueFalseTrueFalseTrue"},
      {"callable", "{% macro m() %}{% endmacro %}{{ m is callable }}{{ range is callable }}{{ 'a'.upper is callable }}{{ n is callable }}",
       "TrueTrueTrueFalse"},
      {"names", "{{ 'upper' is filter }}{{ 'nope' is filter }}{{ 'odd' is test }}{{ 'nope' is test }}",
       "TrueFalseTrueFalse"},
      {"negated", "{{ n is not string }}{{ n is not number }}{{ zz is not defined }}",
       "TrueFalseTrue"},
  });
}

TEST(JinjaTests, ErrorsSayTheLine) {
  expect_failures({
      {"\n{{ 'a' is even }}", "line 2", "integer is needed"},
      {"{{ 1 is divisibleby 0 }}", "line 1", "by zero"},
      {"{{ 1 is divisibleby }}", "line 1", "takes one argument"},
      {"{{ 1 is defined(1) }}", "line 1", "takes no arguments"},
      {"{{ 1 is lt 'a' }}", "line 1", "not supported between"},
      {"{{ 1 is in 5 }}", "line 1", "not iterable"},
  });
}

TEST(JinjaTests, AreFoundByName) {
  EXPECT_TRUE(test_exists("sameas"));
  EXPECT_FALSE(test_exists("search"));
  Arguments arguments{{Value::integer(3)}, {}};
  EXPECT_TRUE(*apply_test("divisibleby", Value::integer(INT64_MIN + 2), arguments));
  EXPECT_FALSE(apply_test("nope", Value(), arguments).ok());
}

}  // namespace
}  // namespace pteron::text::jinja
