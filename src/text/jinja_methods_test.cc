#include "text/jinja_builtins.h"

#include "text/jinja_fixture.h"

namespace pteron::text::jinja {
namespace {

TEST(JinjaMethods, RendersAsJinjaDoes) {
  expect_rendered({
      {"case", "{{ 'aB'.upper() }}{{ 'aB'.lower() }}{{ 'ab cd'.title() }}{{ 'abC'.capitalize() }}{{ 'aB'.swapcase() }}{{ 'ß'.upper() }}",
       "ABabAb CdAbcAbSS"},
      {"strip", "[{{ t.strip() }}][{{ t.lstrip() }}][{{ t.rstrip() }}][{{ 'xxaxx'.strip('x') }}][{{ '\n"
       " a \t'.strip() }}][{{ 'abcba'.lstrip('ab') }}][{{ 'a  '.rstrip() }}]",
       "[text][text  ][  text][a][a][cba][a]"},
      {"split", "{{ 'a b  c'.split() }}{{ 'a,b,c'.split(',') }}{{ 'a,b,c'.split(',', 1) }}{{ 'a,b,c'.rsplit(',', 1) }}{{ ''.split() "
       "}}{{ ''.split(',') }}{{ 'a</think>b'.split('</think>')[-1] }}{{ 'x'.split('</think>')[0] }}{{ ' a b '.split(none, "
       "1) }}{{ 'a\nb\r\nc\n'.splitlines() }}",
       "['a', 'b', 'c']['a', 'b', 'c']['a', 'b,c']['a,b', 'c'][]['']bx['a', 'b ']['a', 'b', 'c']"},
      {"search", "{{ 'abcb'.find('b') }}{{ 'abcb'.rfind('b') }}{{ 'abc'.find('z') }}{{ 'abc'.index('c') }}{{ 'banana'.count('an') "
       "}}{{ 'é日x'.find('x') }}{{ 'abc'.startswith('ab') }}{{ 'abc'.endswith(('x', 'bc')) }}{{ 'abc'.startswith('') }}",
       "13-1222TrueTrueTrue"},
      {"replace and join", "{{ 'aaa'.replace('a', 'b') }}{{ 'aaa'.replace('a', 'b', 2) }}{{ ', '.join(words) }}{{ ''.join([]) }}{{ 'ab'.replace('', '-') }}",
       "bbbbbapear, Apple, fig-a-b-"},
      {"format", "{{ '{} {}'.format(1, 'a') }}{{ '{1}{0}'.format('a', 'b') }}{{ '{x:>4}|{y:.2f}'.format(x='a', y=1.005) }}{{ '{:,}'.format(1234567) "
       "}}{{ '{{}}'.format() }}{{ '{0[a]}'.format(d) }}",
       "1 aba   a|1.001,234,567{}1"},
      {"justify", "{{ 'a'.ljust(3) }}|{{ 'a'.rjust(3, '.') }}|{{ 'ab'.center(5, '*') }}|{{ '-5'.zfill(4) }}|{{ 'é'.ljust(2) }}|",
       "a  |..a|**ab*|-005|é |"},
      {"partition", "{{ 'a=b=c'.partition('=') }}{{ 'a=b=c'.rpartition('=') }}{{ 'abc'.partition('=') }}{{ 'abc'.removeprefix('a').removesuffix('c') }}",
       "('a', '=', 'b=c')('a=b', '=', 'c')('abc', '', '')b"},
      {"kinds", "{{ 'ab'.isalpha() }}{{ '12'.isdigit() }}{{ 'a1'.isalnum() }}{{ ' '.isspace() }}{{ ''.isalpha() }}{{ 'AB'.isupper() "
       "}}{{ 'ab'.islower() }}{{ 'Ab Cd'.istitle() }}{{ '½'.isnumeric() }}{{ 'é'.isascii() }}",
       "TrueTrueTrueTrueFalseTrueTrueTrueTrueFalse"},
      {"dict", "{{ d.get('a') }}{{ d.get('z') }}{{ d.get('z', 5) }}{{ d.keys() | list }}{{ d.values() | list }}{{ d.items() | "
       "list }}{% for k in d %}{{ k }}{% endfor %}{{ d.copy().a }}",
       "1None5['b', 'a', 'C'][2, 1, 3][('b', 2), ('a', 1), ('C', 3)]baC1"},
      {"list", "{{ words.index('fig') }}{{ [1, 1, 2].count(1) }}{{ (1, 2).index(2) }}",
       "221"},
      {"expandtabs", "{{ 'a\tb'.expandtabs(4) }}",
       "a   b"},
  });
}

TEST(JinjaMethods, ErrorsSayTheLine) {
  expect_failures({
      {"\n{{ 'a'.index('b') }}", "line 2", "substring not found"},
      {"{{ 'a'.split('') }}", "line 1", "empty separator"},
      {"{{ ','.join([1]) }}", "line 1", "expected str instance, int found"},
      {"{{ 'a'.replace('b') }}", "line 1", "at least 2"},
      {"{{ 'a'.startswith(1) }}", "line 1", "must be str"},
      {"{{ 'a'.center(3, 'ab') }}", "line 1", "exactly one character"},
      {"{{ 'a'.upper(1) }}", "line 1", "too many arguments"},
      {"{{ words.index('zz') }}", "line 1", "not in list"},
      {"{{ d.get() }}", "line 1", "at least 1"},
      {"{{ 'a'.nope() }}", "line 1", "no attribute 'nope'"},
      {"{{ words.pop() }}", "line 1", "refuses to change"},
  });
}

TEST(JinjaMethods, OfStringsListsAndDictsOnly) {
  Meter meter(100, 1000);
  EXPECT_TRUE(method_of(Value::string("a"), "upper", meter).is(Kind::callable));
  EXPECT_TRUE(method_of(Value::make_dict(), "items", meter).is(Kind::callable));
  EXPECT_TRUE(method_of(Value::string("a"), "items", meter).is(Kind::undefined));
  EXPECT_TRUE(method_of(Value::integer(1), "upper", meter).is(Kind::undefined));
}

TEST(JinjaMethods, WhatTheyMakeIsCharged) {
  Meter meter(100, 1000);
  Arguments wide{{Value::integer(2000)}, {}};
  EXPECT_EQ(method_of(Value::string("a"), "ljust", meter).callable().call(wide).code(), Code::out_of_capacity);
  Arguments tabs{{Value::integer(INT64_MAX)}, {}};
  EXPECT_EQ(method_of(Value::string("\t"), "expandtabs", meter).callable().call(tabs).code(), Code::out_of_capacity);
}

}  // namespace
}  // namespace pteron::text::jinja
