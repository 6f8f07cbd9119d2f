#include "text/jinja_parser.h"

#include "text/jinja_fixture.h"

namespace pteron::text::jinja {
namespace {

TEST(JinjaParser, RendersAsJinjaDoes) {
  expect_rendered({
      {"precedence", "{{ 'a' + 1 ~ 2 }} {{ 2 * 3 ** 2 }} {{ not 1 == 2 }} {{ 1 or 0 and 0 }} {{ -1 | abs }} {{ 'a' ~ 'b' | upper }} "
       "{{ 1 if 0 else 2 ~ 3 }}",
       "a12 18 True 1 1 aB 23"},
      {"power from the left", "{{ 2 ** 3 ** 2 }}",
       "64"},
      {"filter arguments", "{{ words | join(d=', ') }}{{ words | join('-') | upper }}{{ e | default('x', true) }}{{ zz | d('y') }}",
       "pear, Apple, figPEAR-APPLE-FIGxy"},
      {"tests with an argument without brackets", "{{ 6 is divisibleby 3 }} {{ n is eq 7 }} {{ 'a' is in ['a'] }} {{ n is not none }} {{ n is defined and n is number "
       "}} {{ 3 is not divisibleby 2 }}",
       "True True True True True True"},
      {"test then operator", "{{ (n is number) and (t is string) }} {{ n is odd or false }} {{ 'x' if n is odd else 'y' }}",
       "True True x"},
      {"trailing commas", "{{ [1, 2,] }}{{ {'a': 1,} }}{{ (1, 2,) }}{{ dict(a=1,) }}",
       "[1, 2]{'a': 1}(1, 2){'a': 1}"},
      {"call on call", "{% macro a() %}{% endmacro %}{{ ' x '.strip().upper().lower() }}{{ 'a,b'.split(',')[1].upper() }}",
       "xB"},
      {"method on literals", "{{ 'a-b'.split('-') }}{{ [1, 2].index(2) }}{{ {'a': 1}.get('b', 2) }}{{ {'a': 1}.items() | list }}",
       "['a', 'b']12[('a', 1)]"},
      {"blocks are their bodies", "{% block body %}x{% endblock body %}{% autoescape false %}<{% endautoescape %}",
       "x<"},
      {"names that begin like keywords", "{% set iffy = 1 %}{% set notes = 2 %}{% set inner = 3 %}{{ iffy }}{{ notes }}{{ inner }}",
       "123"},
      {"capital constants", "{{ True }}{{ False }}{{ None }}{{ true }}{{ none }}",
       "TrueFalseNoneTrueNone"},
      {"set a tuple", "{% set x = 1, 2 %}{{ x }}",
       "(1, 2)"},
      {"dict attribute on new line", "{{ d\n  .a }}",
       "1"},
      {"loop over a conditional", "{% for x in (words if n else []) %}{{ x }}{% endfor %}",
       "pearApplefig"},
      {"not chains", "{{ not not not false }} {{ not (1 in [1]) }}",
       "True False"},
      {"negative numbers", "{{ -n }} {{ - 3 + 5 }} {{ +4 }} {{ 2 - -2 }} {{ -1.5 | abs }}",
       "-7 2 4 4 1.5"},
  });
}

TEST(JinjaParser, TreesOfExpressions) {
  const auto root = parse("{{ a + b * c | f2 }}");
  EXPECT_FALSE(root.ok());
  const auto sum = parse("{{ a + b * c | upper }}");
  ASSERT_TRUE(sum.ok());
  const Node& plus = *(*sum)->children[0]->children[0];
  EXPECT_EQ(plus.kind, NodeKind::binary);
  EXPECT_EQ(plus.text, "+");
  EXPECT_EQ(plus.children[1]->text, "*");
  EXPECT_EQ(plus.children[1]->children[1]->kind, NodeKind::filter);
  EXPECT_EQ(plus.depth, 4);
}

TEST(JinjaParser, ErrorsSayTheLine) {
  expect_failures({
      {"a\n{% if x %}", "line 2", "ends before elif or else or endif"},
      {"{% for x in y %}", "line 1", "ends before endfor or else"},
      {"{% endif %}", "line 1", "unknown tag 'endif'"},
      {"\n{% frobnicate %}", "line 2", "unknown tag 'frobnicate'"},
      {"{{ x | nofilter }}", "line 1", "no filter named 'nofilter'"},
      {"{{ x is notest }}", "line 1", "no test named 'notest'"},
      {"{{ }}", "line 1", "unexpected '}}'"},
      {"{{ a b }}", "line 1", "unexpected name 'b'"},
      {"{{ [1, }}", "line 1", "unexpected '}'"},
      {"{{ {'a' 1} }}", "line 1", "unexpected number"},
      {"{% set 1 = 2 %}", "line 1", "unexpected number"},
      {"{% for in x %}{% endfor %}", "line 1", "unexpected"},
      {"{% break %}", "line 1", "break outside a loop"},
      {"{% for x in y %}{% macro m() %}{% continue %}{% endmacro %}{% endfor %}", "line 1", "continue outside a loop"},
      {"{% macro m(a=1, b) %}{% endmacro %}", "line 1", "without a default after one with"},
      {"{{ f(a=1, 2) }}", "line 1", "by position after one by name"},
      {"{% call x %}{% endcall %}", "line 1", "needs a call"},
      {"{{ x[] }}", "line 1", "unexpected"},
      {"{{ x[1:2:3:4] }}", "line 1", "unexpected"},
      {"{% if %}{% endif %}", "line 1", "unexpected '%}'"},
      {"{% generation %}", "line 1", "ends before endgeneration"},
  });
}

std::string many(int count, std::string_view part) {
  std::string out;
  for (int i = 0; i < count; ++i) out += part;
  return out;
}

TEST(JinjaParser, NestingIsBounded) {
  for (const std::string& source :
       {"{{ " + many(5000, "(") + "1" + many(5000, ")") + " }}", "{{ " + many(5000, "[") + many(5000, "]") + " }}", "{{ " + many(5000, "not ") + "1 }}",
        "{{ " + many(5000, "-") + "1 }}", many(5000, "{% if 1 %}") + many(5000, "{% endif %}"), "{{ 1" + many(100000, " + 1") + " }}", "{{ 1" + many(100000, " ~ 1") + " }}",
        "{{ 1" + many(50000, " and 1") + " }}", "{{ 1" + many(50000, " or 1") + " }}", "{{ x" + many(50000, " | trim") + " }}", "{{ x" + many(50000, ".y") + " }}",
        "{{ x" + many(50000, "[0]") + " }}", "{{ x" + many(50000, "()") + " }}", "{{ x" + many(50000, " is defined") + " }}", "{{ 1" + many(20000, " if 1 else 1") + " }}",
        "{{ 1" + many(50000, " if 1") + " }}", "{% set x" + many(50000, " | trim") + " %}{% endset %}", "{% filter trim" + many(50000, " | trim") + " %}{% endfilter %}"}) {
    const auto parsed = parse(source);
    EXPECT_FALSE(parsed.ok()) << source.substr(0, 20);
    EXPECT_NE(parsed.status().message().find("too deeply"), std::string::npos) << source.substr(0, 20) << parsed.status().message();
  }
  EXPECT_TRUE(parse("{{ 1" + many(250, " + 1") + " }}").ok());
  EXPECT_TRUE(parse("{{ " + many(20, "(") + "1" + many(20, ")") + " }}").ok());
  EXPECT_EQ(rendered("{{ 1" + many(250, " + 1") + " }}"), "251");
}

}  // namespace
}  // namespace pteron::text::jinja
