#include "text/pattern_syntax.h"

#include <gtest/gtest.h>

#include <vector>

#include "text/pattern.h"

namespace pteron::text {
namespace {

// The matches of an expression of Oniguruma, joined with "|".
std::string matches(std::string_view expression, std::string_view text) {
  auto translated = translate_pattern(expression);
  if (!translated.ok()) return "untranslated: " + translated.status().message();
  auto pattern = Pattern::compile(*translated);
  if (!pattern.ok()) return "uncompiled: " + pattern.status().message();
  StepBudget budget(text.size());
  PatternSearch search(*pattern, budget);
  search.start(text);
  std::string out;
  size_t begin = 0, end = 0;
  while (search.next(begin, end)) out += std::string(out.empty() ? "" : "|") + std::string(text.substr(begin, end - begin));
  return out;
}

TEST(PatternSyntax, ClassesMeanWhatOnigurumaMeans) {
  EXPECT_EQ(matches(R"(\h+)", "xBEEF y12"), "BEEF|12");                    // hexadecimal digits, not blanks
  EXPECT_EQ(matches(R"(\s)", "a\xe1\xa0\x8e\xc2\x85"), "\xc2\x85");        // U+0085 is a space, U+180E no more
  EXPECT_EQ(matches(R"([\S]+)", "a\xe1\xa0\x8e b"), "a\xe1\xa0\x8e|b");
  EXPECT_EQ(matches(R"(\w+)", "a_1\xcc\x81-\xe2\x93\x90\xc2\xbd"), "a_1\xcc\x81|\xe2\x93\x90\xc2\xbd");
  EXPECT_EQ(matches(R"([^\W\d]+)", "ab12_c"), "ab|_c");
  EXPECT_EQ(matches(R"(\v)", "\n\x0b"), "\x0b");
  EXPECT_EQ(matches(R"(\u0041\x42\x{43}\104\0)", std::string_view("ABCD\0", 5)), std::string("ABCD\0", 5));
  EXPECT_EQ(matches(R"(\bfoo\b)", "foo food"), "foo");
  EXPECT_EQ(matches(R"(\Bo)", "o fo"), "o");
}

TEST(PatternSyntax, Properties) {
  EXPECT_EQ(matches(R"(\p{Letter}+|\p{^L})", "ab1"), "ab|1");
  EXPECT_EQ(matches(R"(\P{Lu}+)", "abCd"), "ab|d");
  EXPECT_EQ(matches(R"(\p{Han}+)", "\xe6\xbc\xa2\xe3\x81\x8b"), "\xe6\xbc\xa2");
  EXPECT_EQ(matches(R"(\p{Greek})", "a\xce\xb1"), "\xce\xb1");
  EXPECT_EQ(matches(R"([[:punct:]]+)", "a+,\xe2\x82\xac"), "+,\xe2\x82\xac");
  EXPECT_EQ(matches(R"(\p{Punct}+)", "a+,"), ",");
  EXPECT_EQ(matches(R"([[:^space:]]+)", "a b"), "a|b");
  EXPECT_EQ(matches(R"([[:graph:]]+)", "a\x01 b"), "a|b");
  EXPECT_EQ(matches(R"([[:print:]]+)", "a\x01 b"), "a| b");
}

TEST(PatternSyntax, NestedAndIntersectedSets) {
  EXPECT_EQ(matches("[a-c[x-z]]+", "abxm"), "abx");
  EXPECT_EQ(matches("[a-z&&[^aeiou]]+", "hello"), "h|ll");
  EXPECT_EQ(matches("[^a-z&&[^aeiou]]+", "hello"), "e|o");
  EXPECT_EQ(matches("[]a]+", "a]b"), "a]");
  EXPECT_EQ(matches("[a\\-z]+", "a-zb"), "a-z");
  EXPECT_EQ(matches("[+--]", "+,-."), "+|,|-");
  EXPECT_EQ(matches("[\\d-x]+", "1-x2y"), "1-x2");
}

TEST(PatternSyntax, QuantifiersAndAnchors) {
  EXPECT_EQ(matches("a{2}+", "aaaaa"), "aaaa");  // not possessive
  EXPECT_EQ(matches("a{,2}b", "aaab"), "aab");
  EXPECT_EQ(matches("a{x", "a{x"), "a{x");
  EXPECT_EQ(matches("a++a|b", "aab"), "b");
  EXPECT_EQ(matches("(ab)+?", "abab"), "ab|ab");
  EXPECT_EQ(matches("^b$", "a\nb\nc"), "b");     // lines, always
  EXPECT_EQ(matches("(?m:a.b)", "a\nb"), "a\nb");  // m is "dot matches all"
  EXPECT_EQ(matches("a.b", "a\nb"), "");
}

TEST(PatternSyntax, Options) {
  EXPECT_EQ(matches("(?i:'s|'t)", "'S't"), "'S|'t");
  EXPECT_EQ(matches("x(?i)a|b", "xaB xB"), "xa|xB");  // holds over the alternatives to the end of the group
  EXPECT_EQ(matches("(?:(?i)a)b", "AbAB"), "Ab");
  EXPECT_EQ(matches("(?#comment)a", "a"), "a");
}

TEST(PatternSyntax, SaysWhatItDoesNotKnow) {
  for (const char* expression : {"(?~a)", "\\p{Nonsense", "\\y", "(?<a", "[a", "(a", "a)", "*a", "\\", "[[:nonsense&:]]", "\\x{zz}"}) {
    const auto result = translate_pattern(expression);
    EXPECT_EQ(result.code(), Code::unsupported) << expression;
    EXPECT_FALSE(result.status().detail().found.empty()) << expression;
  }
  EXPECT_FALSE(translate_pattern("\xff").ok());
}

TEST(PatternSyntax, Quotes) {
  const auto pattern = Pattern::compile(quote_pattern("a.b[c]\\|\xe2\x96\x81"));
  ASSERT_TRUE(pattern.ok());
  StepBudget budget(100);
  PatternSearch search(*pattern, budget);
  search.start("axb[c] a.b[c]\\|\xe2\x96\x81");
  size_t begin = 0, end = 0;
  ASSERT_TRUE(search.next(begin, end));
  EXPECT_EQ(begin, 7u);
}

}  // namespace
}  // namespace pteron::text
