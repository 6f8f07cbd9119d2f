#include "text/jinja_interpreter.h"

#include "text/jinja_fixture.h"

namespace pteron::text::jinja {
namespace {

TEST(JinjaInterpreter, RendersAsJinjaDoes) {
  expect_rendered({
      {"namespace", "{% set ns = namespace(found=false, n=0) %}{% for m in messages %}{% if m.role == 'user' %}{% set ns.found = true "
       "%}{% endif %}{% set ns.n = ns.n + 1 %}{% endfor %}{{ ns.found }} {{ ns.n }}",
       "True 4"},
      {"loop scope", "{% set x = 1 %}{% for i in [1, 2] %}{% set x = x + i %}{{ x }};{% endfor %}{{ x }}",
       "2;3;1"},
      {"loop members", "{% for w in words %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ "
       "loop.last }}{{ loop.length }} {{ loop.previtem | default('-') }}<{{ w }}>{{ loop.nextitem | default('-') }}|{% "
       "endfor %}",
       "1032TrueFalse3 -<pear>Apple|2121FalseFalse3 pear<Apple>fig|3210FalseTrue3 Apple<fig>-|"},
      {"loop nextitem is defined", "{% for m in messages %}{{ m.role }}{% if loop.nextitem is defined and loop.nextitem.role == 'tool' %}!{% endif "
       "%}{% if not loop.last %},{% endif %}{% endfor %}",
       "system,user,assistant!,tool"},
      {"loop changed and cycle", "{% for x in [1, 1, 2, 2, 1] %}{% if loop.changed(x) %}[{{ x }}]{% endif %}{{ loop.cycle('a', 'b') }}{% endfor %}",
       "[1]ab[2]ab[1]a"},
      {"loop else and filter", "{% for x in [] %}x{% else %}none{% endfor %}{% for x in [1, 2, 3, 4] if x is even %}{{ loop.index }}{{ x }} {% "
       "endfor %}{% for x in [1] if x > 1 %}x{% else %}filtered{% endfor %}",
       "none12 24 filtered"},
      {"break and continue", "{% for x in range(10) %}{% if x == 2 %}{% continue %}{% endif %}{% if x == 5 %}{% break %}{% endif %}{{ x }}{% endfor %}",
       "0134"},
      {"nested loops", "{% for a in [1, 2] %}{% set outer = loop %}{% for b in 'xy' %}{{ outer.index }}{{ b }}{{ loop.depth }} {% endfor %}{% endfor %}",
       "1x1 1y1 2x1 2y1 "},
      {"recursive loop", "{% for x in [[1, [2, 3]], 4] recursive %}{% if x is iterable %}({{ loop(x) }}){% else %}{{ x }}{% endif %}{% endfor %}",
       "(1(23))4"},
      {"unpacking", "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}{% set a, b = [1, 2] %}{{ a }}{{ b }}{% for i, (x, y) in "
       "[(1, (2, 3))] %}{{ i }}{{ x }}{{ y }}{% endfor %}",
       "b=2;a=1;C=3;12123"},
      {"macro defaults", "{% macro m(a, b='B', c=none) %}{{ a }}-{{ b }}-{{ c }}{% endmacro %}{{ m(1) }} {{ m(1, 2) }} {{ m(c=3, a=4) }} "
       "{{ m.name }} {{ m.arguments | join(',') }}",
       "1-B-None 1-2-None 4-B-3 m a,b,c"},
      {"macro varargs", "{% macro m(a) %}{{ a }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, 3, x=4) }}",
       "1(2, 3){'x': 4}"},
      {"macro spread", "{% macro m(a, b, c) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ m(*[1, 2], **{'c': 3}) }}",
       "123"},
      {"caller", "{% macro box(t) %}<{{ t }}>{{ caller(1) }}</{{ t }}>{% endmacro %}{% call(x) box('b') %}in {{ x }}{% endcall %}",
       "<b>in 1</b>"},
      {"caller is defined", "{% macro m() %}{% if caller %}{{ caller() }}{% else %}none{% endif %}{% endmacro %}{{ m() }}{% call m() %}body{% endcall %}",
       "nonebody"},
      {"recursive macro", "{% macro ty(s) %}{% if s is mapping %}{ {% for k, v in s | dictsort %}{{ k }}: {{ ty(v) }}{% if not loop.last "
       "%}, {% endif %}{% endfor %} }{% elif s is string %}{{ s }}{% else %}[{% for x in s %}{{ ty(x) }}{% endfor %}]{% "
       "endif %}{% endmacro %}{{ ty({'b': ['n', {'c': 's'}], 'a': 'z'}) }}",
       "{ a: z, b: [n{ c: s }] }"},
      {"macro sees globals", "{% set g = 1 %}{% macro m() %}{{ g }}{% endmacro %}{% set g = 2 %}{{ m() }}",
       "2"},
      {"set block", "{% set x %}a{{ n }}b{% endset %}[{{ x }}]{% set y | upper | trim %} c{% endset %}[{{ y }}]",
       "[a7b][C]"},
      {"filter block", "{% filter upper | replace('A', '4') %}a b {{ n }}{% endfilter %}",
       "4 B 7"},
      {"with", "{% with a = 1, b = a | default('u') %}{{ a }}{{ b }}{% endwith %}{{ a is defined }}",
       "1uFalse"},
      {"generation", "{% for m in messages if m.role == 'assistant' %}<|a|>{% generation %}{{ m.content }}</s>{% endgeneration %}{% endfor %}",
       "<|a|>yo</s>"},
      {"conditional", "{{ 'a' if n > 5 else 'b' }}{{ 'a' if n > 9 else 'b' if n > 8 else 'c' }}{{ 'x' if false }}{{ ('y' if true) ~ 'z' }}",
       "acyz"},
      {"arithmetic", "{{ 7 // 2 }} {{ -7 // 2 }} {{ 7 % 3 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ 2 ** 10 }} {{ 2 ** -1 }} {{ 1 + 2 * 3 }} {{ "
       "(1 + 2) * 3 }} {{ -2 ** 2 }} {{ 1.5 + 1 }} {{ 7.5 // 2 }} {{ -7.5 % 2 }} {{ 10 / 5 }} {{ true + 1 }}",
       "3 -4 1 2 3.5 1024 0.5 7 9 4 2.5 3.0 0.5 2.0 2"},
      {"strings and lists add and repeat", "{{ 'a' + 'b' }}{{ 'ab' * 3 }}{{ [1] + [2] }}{{ [0] * 3 }}{{ (1,) + (2,) }}{{ 2 * 'x' }}{{ 'x' * -1 }}",
       "abababab[1, 2][0, 0, 0](1, 2)xx"},
      {"tilde", "{{ 1 ~ 'a' ~ none ~ 2.0 ~ true ~ undefined_ }}",
       "1aNone2.0True"},
      {"comparison chains", "{{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ 1 == 1.0 }} {{ 'a' < 'b' <= 'b' }} {{ [1, 2] < [1, 3] }} {{ 1 != 2 }} {{ none "
       "== none }} {{ 'a' == 1 }}",
       "True False True True True True True False"},
      {"in and not in", "{{ 'a' in 'cat' }} {{ 'x' not in 'cat' }} {{ 2 in [1, 2] }} {{ 'b' in d }} {{ 'z' not in d }} {{ 1 in (1, 2) }} {{ not 1 in [2] }}",
       "True True True True True True True"},
      {"logic", "{{ 1 and 0 or 3 }} {{ not '' and 'x' }} {{ none or 'd' }} {{ [] and 1 }} {{ not not 1 }}",
       "3 x d [] True"},
      {"literals", "{{ [1, 'a', none, true, 2.5] }} {{ {'k': [1], 2: 'v'} }} {{ (1,) }} {{ () }} {{ (1, 2) }} {{ 1, 2 }} {{ [] }} "
       "{{ {} }} {{ 1_000 }} {{ 0x1F }} {{ 0b11 }} {{ 1e3 }}",
       "[1, 'a', None, True, 2.5] {'k': [1], 2: 'v'} (1,) () (1, 2) (1, 2) [] {} 1000 31 3 1000.0"},
      {"slices", "{{ words[1:] }}{{ words[::-1] }}{{ words[-1] }}{{ 'abcdef'[1:-1:2] }}{{ 'héllo'[1] }}{{ words[:-1] | length }}{{ "
       "'abc'[::-1] }}{{ messages[1:][0].role }}{{ (1, 2, 3)[0:2] }}{{ 'abc'[5:] }}{{ [1,2,3][none:2] }}",
       "['Apple', 'fig']['fig', 'Apple', 'pear']figbdé2cbauser(1, 2)[1, 2]"},
      {"access", "{{ d.a }}{{ d['a'] }}{{ messages[0]['content'] }}{{ messages.0.role }}{{ d.items is defined }}{{ d.zzz is defined "
       "}}{{ messages[9] is defined }}{{ messages[-1].content }}",
       "11SsystemTrueFalseFalse42"},
      {"undefined prints nothing", "[{{ zzz }}][{{ d.zzz }}]{% for x in zzz %}x{% endfor %}{{ zzz | length }}",
       "[][]0"},
      {"strftime_now", "{{ strftime_now('%d %b %Y %H:%M:%S %A %j') }}",
       "26 Jul 2024 09:05:03 Friday 208"},
      {"raise caught by condition", "{% if messages[0].role != 'system' %}{{ raise_exception('no') }}{% endif %}ok",
       "ok"},
      {"globals", "{{ range(3) | list }}{{ range(2, 8, 3) | list }}{{ range(3, 0, -1) | list }}{{ dict(a=1, b=2) }}{% set c = cycler('x', "
       "'y') %}{{ c.next() }}{{ c.current }}{{ c.next() }}{% set j = joiner('|') %}{% for i in range(3) %}{{ j() }}{{ "
       "i }}{% endfor %}",
       "[0, 1, 2][2, 5][3, 2, 1]{'a': 1, 'b': 2}xyy0|1|2"},
      {"unused import", "{% if false %}{% include 'x' %}{% endif %}ok",
       "ok"},
      {"if chain", "{% for i in range(4) %}{% if i == 0 %}a{% elif i == 1 %}b{% elif i == 2 %}c{% else %}d{% endif %}{% endfor %}",
       "abcd"},
  });
}

TEST(JinjaInterpreter, ErrorsSayTheLine) {
  expect_failures({
      {"\n{{ raise_exception('Roles must alternate') }}", "line 2", "Roles must alternate"},
      {"a\n{% for x in [1] %}\n{{ zz.y }}\n{% endfor %}", "line 3", "'zz' is undefined"},
      {"{% macro m() %}\n\n{{ 1 / 0 }}{% endmacro %}\n{{ m() }}", "line 3", "division by zero"},
      {"{{ 1 // 0 }}", "line 1", "by zero"},
      {"{{ 'a' + 1 }}", "line 1", "unsupported operand type(s) for +: 'str' and 'int'"},
      {"{{ zz + 'a' }}", "line 1", "'zz' is undefined"},
      {"{{ 1 < 'a' }}", "line 1", "not supported between instances of 'int' and 'str'"},
      {"{{ 1 in 2 }}", "line 1", "not iterable"},
      {"{% for x in 5 %}{% endfor %}", "line 1", "not iterable"},
      {"{% set a, b = [1] %}", "line 1", "not enough values"},
      {"{% set a, b = [1, 2, 3] %}", "line 1", "too many values"},
      {"{{ n() }}", "line 1", "'int' object is not callable"},
      {"{{ zz() }}", "line 1", "'zz' is undefined"},
      {"{% set d.x = 1 %}", "line 1", "non-namespace"},
      {"{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}", "line 1", "not more than 1"},
      {"{% macro m(a) %}{% endmacro %}{{ m(b=2) }}", "line 1", "no keyword argument 'b'"},
      {"{% macro m(a) %}{% endmacro %}{{ m(1, a=2) }}", "line 1", "twice"},
      {"{{ 'abc'[1:2:0] }}", "line 1", "cannot be zero"},
      {"{{ d[1:2] }}", "line 1", "slice"},
      {"{{ {[1]: 2} }}", "line 1", "unhashable"},
      {"{{ 9223372036854775807 + 1 }}", "line 1", "overflow"},
      {"{{ 10 ** 30 }}", "line 1", "overflow"},
      {"{% include 'x' %}", "line 1", "no loader"},
      {"{{ words.append(1) }}", "line 1", "refuses to change"},
      {"{{ d.update({}) }}", "line 1", "refuses to change"},
      {"{{ -'a' }}", "line 1", "unary -"},
      {"{{ ''.__class__.x }}", "line 1", "no attribute '__class__'"},
  });
}

TEST(JinjaInterpreter, StepsAreBounded) {
  const char* const kHard[] = {
      "{% for a in range(20) %}{% for b in range(100000) %}{% if a + a + a + a + a + a + a + a == b %}{% endif %}{% endfor %}{% endfor %}",
      "{% set s = 'a' * 1000000 %}{% for a in range(100000) %}{% for b in range(100) %}{% if 'b' in s %}{% endif %}{% endfor %}{% endfor %}",
      "{% set s = 'a' * 1000000 %}{% for a in range(100000) %}{% for b in range(100) %}{% if s | length == 1 %}{% endif %}{% endfor %}{% endfor %}",
      "{% set s = 'a' * 1000000 %}{% for a in range(100000) %}{% for b in range(100) %}{% if s.count('ab') %}{% endif %}{% endfor %}{% endfor %}",
      "{% set s = range(100000) | list %}{% for a in range(100000) %}{% if s == s %}{% endif %}{% endfor %}",
      "{{ range(100000) | unique | list | length }}",
  };
  for (const char* source : kHard) EXPECT_NE(rendered(source).find("too many steps"), std::string::npos) << source << rendered(source).substr(0, 100);
}

TEST(JinjaInterpreter, MemoryIsBounded) {
  const char* const kHard[] = {
      "{{ 'a' * 1000000000000 }}",
      "{{ [0] * 1000000000 }}",
      "{% set ns = namespace(s='a') %}{% for i in range(64) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
      "{% set ns = namespace(s=[1]) %}{% for i in range(64) %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}{{ ns.s }}",
      "{% set ns = namespace(s=[1]) %}{% for i in range(64) %}{% set ns.s = {1: ns.s, 2: ns.s} %}{% endfor %}{{ ns.s | tojson }}",
      "{% for i in range(100000) %}{% for j in [1] %}{% for k in [1] %}{% endfor %}{% endfor %}{% endfor %}",
      "{% for i in range(100000) %}{{ 'abc' | center(100000) }}{% endfor %}",
  };
  for (const char* source : kHard) EXPECT_NE(rendered(source).find("too much text"), std::string::npos) << source << rendered(source).substr(0, 100);
}

TEST(JinjaInterpreter, DepthIsBounded) {
  EXPECT_NE(rendered("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}").find("calls itself too deeply"), std::string::npos);
  EXPECT_NE(rendered("{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}").find("calls itself too deeply"), std::string::npos);
  const std::string nested = "{% set ns = namespace(s=[]) %}{% for i in range(100000) %}{% set ns.s = [ns.s] %}{% endfor %}";
  EXPECT_EQ(rendered(nested), "line 1: template nests values too deeply");
  EXPECT_EQ(rendered("{% set ns = namespace(s={}) %}{% for i in range(100000) %}{% set ns.s = {'a': ns.s} %}{% endfor %}"), "line 1: template nests values too deeply");
  std::string wide = "{% macro m(i) %}{% if i > 0 %}{{ ";
  for (int i = 0; i < 90; ++i) wide += "(";
  wide += "m(i - 1)";
  for (int i = 0; i < 90; ++i) wide += " ~ 'x')";
  wide += " }}{% endif %}{% endmacro %}{{ m(50) }}";
  EXPECT_NE(rendered(wide).find("too deeply"), std::string::npos) << rendered(wide).substr(0, 100);
}

TEST(JinjaInterpreter, CirclesAreLetGo) {
  EXPECT_EQ(rendered("{% set a = namespace() %}{% set b = namespace(a=a) %}{% set a.b = b %}{% set a.l = [a] %}{{ a.b.a.b is defined }}"), "True");
}

TEST(JinjaInterpreter, GenerationSpansAreCodePoints) {
  const auto parsed = ChatTemplate::parse("\xc3\xa9{% generation %}\xe6\x97\xa5x{% endgeneration %}{% generation %}{% endgeneration %}y");
  ASSERT_TRUE(parsed.ok());
  const auto spans = parsed->render_with_spans("{}");
  ASSERT_TRUE(spans.ok());
  EXPECT_EQ(spans->second, (std::vector<std::pair<size_t, size_t>>{{1, 3}, {3, 3}}));
}

}  // namespace
}  // namespace pteron::text::jinja
