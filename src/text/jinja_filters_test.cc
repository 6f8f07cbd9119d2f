#include "text/jinja_builtins.h"

#include "text/jinja_fixture.h"
#include "text/jinja_parser.h"

namespace pteron::text::jinja {
namespace {

TEST(JinjaFilters, RendersAsJinjaDoes) {
  expect_rendered({
      {"tojson", "{{ d | tojson }} {{ [1, 2.0, true, none, 'é\"'] | tojson }} {{ {'k': 'é'} | tojson(ensure_ascii=true) }} {{ 'a/b<>&' | tojson }}",
       "{\"b\": 2, \"a\": 1, \"C\": 3} [1, 2.0, true, null, \"é\\\"\"] {\"k\": \"\\u00e9\"} \"a/b<>&\""},
      {"tojson indent", "{{ {'a': [1, {'b': []}], 'c': {}} | tojson(indent=2) }} {{ [1] | tojson(indent=4) }} {{ {'b': 1, 'a': 2} | tojson(sort_keys=true, "
       "separators=(',', ':')) }}",
       "{\n  \"a\": [\n    1,\n    {\n      \"b\": []\n    }\n  ],\n  \"c\": {}\n"
       "} [\n    1\n] {\"a\":2,\"b\":1}"},
      {"items", "{% for k, v in d | items %}{{ k }}{{ v }}{% endfor %}",
       "b2a1C3"},
      {"dictsort", "{{ d | dictsort }} {{ d | dictsort(true) }} {{ d | dictsort(by='value', reverse=true) }}",
       "[('a', 1), ('b', 2), ('C', 3)] [('C', 3), ('a', 1), ('b', 2)] [('C', 3), ('b', 2), ('a', 1)]"},
      {"groupby", "{% for a, g in people | groupby('a') %}{{ a }}:{{ g | map(attribute='n') | join(',') }};{% endfor %}",
       "1:bob;3:Ann,Cy;"},
      {"select", "{{ [1, 2, 3, 4] | select('even') | list }} {{ [0, 1, ''] | select | list }} {{ [1, 2, 3] | reject('eq', 2) | list "
       "}} {{ [1, 5] | select('greaterthan', 3) | list }}",
       "[2, 4] [1] [1, 3] [5]"},
      {"selectattr", "{{ messages | selectattr('role', 'equalto', 'user') | map(attribute='content') | list }} {{ messages | selectattr('tool_calls', "
       "'defined') | list | length }} {{ messages | rejectattr('role', 'in', ['system', 'tool']) | list | length }} {{ "
       "people | selectattr('t') | list | length }} {{ messages | rejectattr('role', '==', 'user') | list | length }}",
       "['hi'] 1 2 1 3"},
      {"map", "{{ words | map('upper') | join }} {{ people | map(attribute='n') | list }} {{ people | map(attribute='zz', default='-') "
       "| list }} {{ [[1, 2], [3]] | map('length') | list }} {{ ['a'] | map('replace', 'a', 'b') | list }} {{ messages "
       "| map(attribute='tool_calls.0.function.name', default='') | list }}",
       "PEARAPPLEFIG ['Ann', 'bob', 'Cy'] ['-', '-', '-'] [2, 1] ['b'] ['', '', 'f', '']"},
      {"default", "{{ zz | default('a') }}{{ none_ | default('b') }}{{ e | default('c') }}{{ e | default('d', true) }}{{ none_ | "
       "default('e', boolean=true) }}[{{ zz | default }}]",
       "aNonede[]"},
      {"text", "{{ t | trim }}|{{ 'hello world' | title }}|{{ 'HELLO' | capitalize }}|{{ 'a' | upper }}|{{ 'É' | lower }}|{{ 'xxaxx' "
       "| trim('x') }}|{{ 'a b c' | replace(' ', '', 1) }}|{{ 'ab' | center(6) }}|",
       "text|Hello World|Hello|A|é|a|ab c|  ab  |"},
      {"indent", "{{ 'a\nb\n\nc' | indent }}|{{ 'a\nb' | indent(2, true) }}|{{ 'a\n"
       "\nb' | indent(1, blank=true) }}|{{ 'a\nb' | indent('>>') }}",
       "a\n    b\n\n    c|  a\n  b|a\n \n b|a\n>>b"},
      {"numbers", "{{ 3.7 | int }} {{ '42' | int }} {{ 'x' | int(5) }} {{ '3.5' | float }} {{ 2.675 | round(2) }} {{ 2.5 | round "
       "}} {{ 2.1 | round(0, 'ceil') }} {{ -3 | abs }} {{ '0x1f' | int(base=16) }} {{ 7 | string ~ '!' }}",
       "3 42 5 3.5 2.67 2.0 3.0 3 31 7!"},
      {"order", "{{ words | sort }} {{ words | sort(true) }} {{ words | sort(case_sensitive=true) }} {{ people | sort(attribute='a') "
       "| map(attribute='n') | join }} {{ [3, 1, 2] | sort(reverse=true) }} {{ [1, 2] | reverse | list }} {{ 'abc' | reverse "
       "}}",
       "['Apple', 'fig', 'pear'] ['pear', 'fig', 'Apple'] ['Apple', 'fig', 'pear'] bobAnnCy [3, 2, 1] [2, 1] cba"},
      {"sets", "{{ ['a', 'A', 'b'] | unique | list }} {{ [1, 3, 2] | max }} {{ [1, 3, 2] | min }} {{ [1, 2, 3] | sum }} {{ people "
       "| sum(attribute='a') }} {{ [1, 2, 3] | sum(start=10) }} {{ [[1], [2]] | sum(start=[]) }}",
       "['a', 'b'] 3 1 6 7 16 [1, 2]"},
      {"pick", "{{ words | first }} {{ words | last }} {{ [] | first is defined }} {{ words | length }} {{ 'héé' | count }} {{ d | length }}",
       "pear fig False 3 3 3"},
      {"batch and slice", "{{ [1, 2, 3, 4, 5] | batch(2) | list }} {{ [1, 2, 3] | batch(2, 0) | list }} {{ [1, 2, 3, 4, 5] | slice(2) | list }}",
       "[[1, 2], [3, 4], [5]] [[1, 2], [3, 0]] [[1, 2, 3], [4, 5]]"},
      {"format", "{{ '%s is %d' | format('x', 3) }} {{ '%05.2f' | format(3.14159) }} {{ '%(a)s' | format(a=1) }}",
       "x is 3 03.14 1"},
      {"list and string", "{{ 'abc' | list }} {{ d | list }} {{ [1] | string }} {{ 1 | string | length }} {{ (1, 2) | list }}",
       "['a', 'b', 'c'] ['b', 'a', 'C'] [1] 1 [1, 2]"},
      {"join attribute", "{{ people | join(', ', attribute='n') }} {{ [1, none, 'a'] | join('-') }}",
       "Ann, bob, Cy 1-None-a"},
      {"escape", "{{ '<a href=\"x\">&\\'' | escape }} {{ '<b>' | e }} {{ '<b>' | safe }} {{ '<p>a <b>b</b>\n c</p>' | striptags }}",
       "&lt;a href=&#34;x&#34;&gt;&amp;&#39; &lt;b&gt; <b> a b c"},
      {"truncate", "{{ 'hello big world' | truncate(10) }} {{ 'hello big world' | truncate(10, true) }} {{ 'hello big world' | truncate(9, "
       "false, '>', 0) }}",
       "hello big world hello big world hello>"},
      {"wordcount and sizes", "{{ 'a bc, d' | wordcount }} {{ 1000 | filesizeformat }} {{ 1536 | filesizeformat(true) }} {{ 'a b/é' | urlencode }}",
       "3 1.0 kB 1.5 KiB a%20b/%C3%A9"},
      {"attr", "{{ 'x' | attr('nope') is defined }}",
       "False"},
      {"chains", "{{ messages | selectattr('role', 'ne', 'system') | map(attribute='role') | map('upper') | join(' > ') }}",
       "USER > ASSISTANT > TOOL"},
  });
}

TEST(JinjaFilters, ErrorsSayTheLine) {
  expect_failures({
      {"{{ 1 | length }}", "line 1", "has no len()"},
      {"\n{{ range | tojson }}", "line 2", "not JSON serializable"},
      {"{{ words | dictsort }}", "line 1", "mapping"},
      {"{{ d | dictsort(by='x') }}", "line 1", "'key' or 'value'"},
      {"{{ [1, 'a'] | sort }}", "line 1", "not supported between"},
      {"{{ ['a'] | sum }}", "line 1", "unsupported operand"},
      {"{{ 1 | join }}", "line 1", "not iterable"},
      {"{{ [1] | map('nope') | list }}", "line 1", "No filter named 'nope'"},
      {"{{ [1] | select('nope') | list }}", "line 1", "No test named 'nope'"},
      {"{{ [1] | selectattr }}", "line 1", "Missing parameter"},
      {"{{ [1] | batch(0) }}", "line 1", "count"},
      {"{{ 'a' | replace('a', 'b', x=1) }}", "line 1", "unexpected argument 'x'"},
      {"{{ 'a' | trim('a', 'b') }}", "line 1", "too many arguments"},
      {"{{ 'a' | round }}", "line 1", "__round__"},
      {"{{ 1.5 | round(0, 'up') }}", "line 1", "common, ceil or floor"},
      {"{{ 'abcdef' | truncate(2) }}", "line 1", "length >= 3"},
      {"{{ 'a' | items }}", "line 1", "mapping"},
      {"{{ 'a' | abs }}", "line 1", "abs()"},
      {"{{ words | map }}", "line 1", "requires a filter"},
      {"{{ words | groupby }}", "line 1", "attribute"},
      {"{{ {1: 2} | tojson(separators='a') }}", "line 1", "separators"},
  });
}

TEST(JinjaFilters, AreFoundByName) {
  EXPECT_TRUE(filter_exists("tojson"));
  EXPECT_TRUE(filter_exists("d"));
  EXPECT_FALSE(filter_exists("xmlattr"));
  Meter meter(100, 100);
  Arguments arguments;
  EXPECT_EQ(apply_filter("upper", Value::string("a"), arguments, meter)->text(), "A");
  EXPECT_FALSE(apply_filter("nope", Value::string("a"), arguments, meter).ok());
  EXPECT_EQ(apply_filter("upper", Value::string(std::string(101, 'a')), arguments, meter).code(), Code::out_of_capacity);
}

TEST(JinjaFilters, RandomIsTheFirst) { EXPECT_EQ(rendered("{{ words | random }}"), "pear"); }

}  // namespace
}  // namespace pteron::text::jinja
