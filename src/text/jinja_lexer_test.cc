#include "text/jinja_lexer.h"

#include "text/jinja_fixture.h"

namespace pteron::text::jinja {
namespace {

TEST(JinjaLexer, RendersAsJinjaDoes) {
  expect_rendered({
      {"minus", "a  {%- if true -%}  b  {%- endif -%}  c {{- 1 -}} d {#- x -#} e",
       "abc1de"},
      {"plus", "  {%+ if true %}x{% endif +%}\ny",
       "  x\ny"},
      {"trim and lstrip", "  {% if true %}\n  a\n  {% endif %}\nb\n",
       "  a\nb"},
      {"lstrip not after text", "x  {% if true %}a{% endif %}",
       "x  a"},
      {"variables keep newlines", "{{ 1 }}\n{{ 2 }}\n",
       "1\n2"},
      {"comments", "a{# {{ no }} {% no %} #}b\n  {# alone #}\nc",
       "ab\nc"},
      {"raw", "{% raw %}{{ x }} {% if %}{% endraw %}|{%- raw -%} y {%- endraw -%} z",
       "{{ x }} {% if %}|yz"},
      {"escapes", "{{ 'a\\nb\\t\\u00e9\\x41\\U0001F600\\\\\\'q' }}{{ \"d\\\"q\" }}",
       "a\nb\téA😀\\'qd\"q"},
      {"adjacent strings", "{{ 'a' 'b' \"c\" }}",
       "abc"},
      {"line continuation in a string", "{{ 'ab\\\ncd' }}",
       "abcd"},
      {"expression over lines", "{{ [\n  1,\n  2,\n] | join(\n  '-'\n) }}",
       "1-2"},
      {"braces in expressions", "{{ {'a': {'b': 1}} }}{{ {'a': {'b': 1}}['a']['b'] }}",
       "{'a': {'b': 1}}1"},
      {"ends in strings", "{{ '}}' ~ '%}' }}{% if '%}' == '%}' %}y{% endif %}",
       "}}%}y"},
      {"single braces", "{ a } {x} % # {",
       "{ a } {x} % # {"},
      {"carriage returns", "a\r\nb{% if true %}\r\nc{% endif %}",
       "a\nbc"},
      {"numbers", "{{ 1_0 + 0x10 + 0o7 + 0b1 }} {{ 1.5e-3 }} {{ 12.0 }} {{ 1e2 }}",
       "34 0.0015 12.0 100.0"},
      {"unicode text", "né {{ '日本' }} 🙂",
       "né 日本 🙂"},
      {"minus over newlines", "a \n\n {%- set x = 1 -%} \n\n b",
       "ab"},
      {"blank before block", "\t{% if true %}t{% endif %}\n \t {% set y = 2 %}\n{{ y }}",
       "t2"},
  });
}

std::vector<std::string> texts(std::string_view source) {
  const auto tokens = tokenize(source);
  std::vector<std::string> out;
  for (size_t i = 0; tokens.ok() && i < tokens->size(); ++i) out.push_back((*tokens)[i].text);
  return out;
}

TEST(JinjaLexer, Tokens) {
  const auto tokens = tokenize("a{{ x.y[1] }}\n\n{% if 2.5 %}");
  ASSERT_TRUE(tokens.ok());
  std::vector<TokenKind> kinds;
  for (const Token& token : *tokens) kinds.push_back(token.kind);
  using enum TokenKind;
  EXPECT_EQ(kinds, (std::vector<TokenKind>{text, variable_begin, name, symbol, name, symbol, integer, symbol, variable_end, text, block_begin, name, TokenKind::number,
                                           block_end, end}));
  EXPECT_EQ((*tokens)[6].integer, 1);
  EXPECT_EQ((*tokens)[12].number, 2.5);
  EXPECT_EQ((*tokens)[2].line, 1);
  EXPECT_EQ((*tokens)[12].line, 3);
}

TEST(JinjaLexer, LongestSymbolsFirst) {
  EXPECT_EQ(texts("{{a**b//c==d!=e<=f}}"), (std::vector<std::string>{"", "a", "**", "b", "//", "c", "==", "d", "!=", "e", "<=", "f", "", ""}));
}

TEST(JinjaLexer, ErrorsSayTheLine) {
  expect_failures({
      {"a\n{{ 'x }}", "line 2", "a string is not closed"},
      {"\n\n{{ 1", "line 3", "an expression is not closed"},
      {"{% if x", "line 1", "a block tag is not closed"},
      {"x\n{# y", "line 2", "a comment is not closed"},
      {"{% raw %}{{", "line 1", "a raw block is not closed"},
      {"{{ 1 ) }}", "line 1", "unexpected ')'"},
      {"{{ a ? b }}", "line 1", "unexpected character '?'"},
      {"{{ 99999999999999999999 }}", "line 1", "64-bit"},
      {"{{ '\\xZZ' }}", "line 1", "broken escape"},
      {"{{ '\\U00110000' }}", "line 1", "broken escape"},
  });
  EXPECT_EQ(tokenize(std::string((size_t{1} << 20) + 1, 'a')).code(), Code::out_of_capacity);
}

}  // namespace
}  // namespace pteron::text::jinja
