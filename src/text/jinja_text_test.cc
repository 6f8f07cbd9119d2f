#include "text/jinja_text.h"

#include "text/jinja_fixture.h"

namespace pteron::text::jinja {
namespace {

TEST(JinjaText, RendersAsJinjaDoes) {
  expect_rendered({
      {"floats", "{{ 1.0 }} {{ 0.1 }} {{ 1e16 }} {{ 1e-5 }} {{ 123456789.125 }} {{ 1e100 }} {{ 0.1 + 0.2 }} {{ 3.0e15 }} {{ -0.0 }} {{ 1 / 3 }}",
       "1.0 0.1 1e+16 1e-05 123456789.125 1e+100 0.30000000000000004 3000000000000000.0 -0.0 0.3333333333333333"},
      {"repr", "{{ ['a\\'b', \"q\\\"\", 'n\\n', 'é', '\\x00', '\\u200b'] }}{{ ('a',) }}{{ {'k': none} }}{{ [true, 1.5] }}",
       "[\"a'b\", 'q\"', 'n\\n', 'é', '\\x00', '\\u200b']('a',){'k': None}[True, 1.5]"},
      {"json numbers", "{{ [1.0, 1e20, 0.1, -3] | tojson }}{{ '\\u2028\\x7f\\x01' | tojson }}{{ '🙂' | tojson(ensure_ascii=true) }}",
       "[1.0, 1e+20, 0.1, -3]\" \\u0001\"\"\\ud83d\\ude42\""},
  });
}

TEST(JinjaText, Characters) {
  const std::string text = "a\xc3\xa9\xe6\x97\xa5\xf0\x9f\x99\x82";
  EXPECT_EQ(characters_of(text), (std::vector<std::string_view>{"a", "\xc3\xa9", "\xe6\x97\xa5", "\xf0\x9f\x99\x82"}));
  EXPECT_EQ(character_count(text), 4u);
  EXPECT_EQ(decode_utf8("\xe6\x97\xa5"), 0x65e5u);
  EXPECT_EQ(encode_utf8(0x65e5), "\xe6\x97\xa5");
  EXPECT_EQ(encode_utf8(0x110000), "\xef\xbf\xbd");
  const std::string_view torn = "\xe6\x97";
  EXPECT_EQ(characters_of(torn).size(), 1u);
}

TEST(JinjaText, Numbers) {
  EXPECT_EQ(repr_number(1e15), "1000000000000000.0");
  EXPECT_EQ(repr_number(1e16), "1e+16");
  EXPECT_EQ(repr_number(0.0001), "0.0001");
  EXPECT_EQ(repr_number(0.00001), "1e-05");
  EXPECT_EQ(repr_number(-2.5), "-2.5");
}

TEST(JinjaText, StripAndReplace) {
  EXPECT_EQ(strip("\xc2\xa0 a \xe3\x80\x80", std::nullopt, true, true), "a");
  EXPECT_EQ(strip("xax", "x", true, false), "ax");
  EXPECT_EQ(strip("xx", "x", true, true), "");
  EXPECT_EQ(replace_all("aXbX", "X", "--", 1), "a--bX");
  EXPECT_EQ(replace_all("\xc3\xa9", "", ".", -1), ".\xc3\xa9.");
}

TEST(JinjaText, Times) {
  EXPECT_EQ(*format_time("%Y-%m-%d %H:%M:%S %a %B %j %%", "2024-02-29T23:59:60"), "2024-03-01 00:00:00 Fri March 061 %");
  EXPECT_EQ(*format_time("", "2024-02-29T00:00:00"), "");
  EXPECT_EQ(format_time("%Y", "yesterday").status().detail().field, "now");
  for (const char* wrong : {"2024-13-01T00:00:00", "2024-02-30T00:00:00", "2024-02-01T00:00:00 or so", "2024-02-01"}) EXPECT_FALSE(format_time("%Y", wrong).ok()) << wrong;
  EXPECT_FALSE(format_time(std::string(5000, 'a'), std::nullopt).ok());
  EXPECT_EQ(format_time("%Y", std::nullopt)->size(), 4u);
}

TEST(JinjaText, JsonErrors) {
  EXPECT_FALSE(to_json(Value(), {}).ok());
  EXPECT_FALSE(to_json(Value::make_dict({{Value::tuple({}), Value::none()}}), {}).ok());
}

}  // namespace
}  // namespace pteron::text::jinja
