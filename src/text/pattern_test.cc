#include "text/pattern.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>
#include <vector>

namespace pteron::text {
namespace {

std::vector<std::string> matches(std::string_view expression, std::string_view text) {
  auto pattern = Pattern::compile(expression);
  EXPECT_TRUE(pattern.ok()) << pattern.status().message();
  if (!pattern.ok()) return {};
  StepBudget budget(text.size());
  PatternSearch search(*pattern, budget);
  search.start(text);
  std::vector<std::string> out;
  size_t begin = 0, end = 0;
  while (search.next(begin, end)) out.emplace_back(text.substr(begin, end - begin));
  EXPECT_TRUE(search.status().ok()) << search.status().message();
  return out;
}

TEST(Pattern, FindsOneMatchAfterTheOther) {
  EXPECT_EQ(matches("[a-z]+", "ab 12 cd"), (std::vector<std::string>{"ab", "cd"}));
  EXPECT_EQ(matches("\\p{L}+", "\xc3\xa9t\xc3\xa9!"), (std::vector<std::string>{"\xc3\xa9t\xc3\xa9"}));
  EXPECT_TRUE(matches("x", "").empty());
}

TEST(Pattern, EmptyMatchesMoveOn) {
  EXPECT_EQ(matches("x*", "axxb"), (std::vector<std::string>{"", "xx", ""}));
  EXPECT_EQ(matches("", "\xc3\xa9"), (std::vector<std::string>{"", ""}));
}

TEST(Pattern, BadExpressionsAreNamed) {
  const auto result = Pattern::compile("a(b");
  EXPECT_EQ(result.code(), Code::unsupported);
  EXPECT_NE(result.status().message().find("a(b"), std::string::npos);
  EXPECT_FALSE(Pattern::compile("\\C").ok());  // would tear characters apart
  EXPECT_FALSE(Pattern::compile(std::string(100000, 'a')).ok());
}

// All that a hard search ends with, in bounded time.
Status exhausted(std::string_view expression, const std::string& text, uint64_t steps = StepBudget::kSteps) {
  auto pattern = Pattern::compile(expression);
  EXPECT_TRUE(pattern.ok()) << pattern.status().message();
  if (!pattern.ok()) return {};
  StepBudget budget(text.size(), steps);
  PatternSearch search(*pattern, budget);
  search.start(text);
  size_t begin = 0, end = 0;
  while (search.next(begin, end)) {
  }
  const Status status = search.status();
  EXPECT_EQ(search.next(begin, end), false);
  return status;
}

TEST(Pattern, HopelessSearchesEndWithAnErrorThatNamesThePattern) {
  const Status status = exhausted("(a+)+$b|(?:(?:a|a)*)*c", std::string(200, 'a'));
  EXPECT_EQ(status.code(), Code::out_of_capacity);
  EXPECT_NE(status.message().find("(a+)+$b|(?:(?:a|a)*)*c"), std::string::npos) << status.message();
}

TEST(Pattern, ReadingOverIsCounted) {
  // No backtracking to speak of: each search reads the whole text, which a limit of steps alone would not see.
  std::string text(200000, 'a');
  text += " x";
  for (const std::string_view expression : {"[^\\s]++x|a", "\\w*x|a", "(?=\\w*+x)a|a", "(?<=a)\\w*+x|a", "(\\w*+)\\1x|a", "\\w+\\w+\\w+x"}) {
    EXPECT_EQ(exhausted(expression, text).code(), Code::out_of_capacity) << expression;
  }
}

TEST(Pattern, MegabytesOfWhatIsUsualDoNotExhaustTheBudget) {
  constexpr std::string_view kPattern =
      "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
  std::string mixed, long_words;
  while (mixed.size() < 1000000) mixed += "It's what 1984 was: \xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e, caf\xc3\xa9s... \r\n\t  " + std::string(mixed.size() % 700, '=');
  while (long_words.size() < 1000000) long_words += std::string(500, 'x') + " ";
  for (const std::string& text : {mixed, long_words, std::string(1000000, 'a'), std::string(1000000, ' '), std::string(1000000, '\n'), std::string(1000000, '7')}) {
    const Status status = exhausted(kPattern, text, 0);
    EXPECT_TRUE(status.ok()) << text.substr(0, 5) << status.message();
  }
  EXPECT_TRUE(exhausted("(?:\\p{L}\\p{M}*)+", long_words, 0).ok());
  EXPECT_TRUE(exhausted("\\n", mixed, 0).ok());
}

// The window that the fast way sees may not show in the results.
TEST(Pattern, LongAndShortSearchesAgree) {
  std::minstd_rand random(7);
  constexpr std::array<std::string_view, 12> kParts = {"a", "B", "\xc3\xa9", "\xe6\x97\xa5", "\xf0\x9f\x99\x82", " ", " ", "\n", "'s", "1", ".", "\r\n"};
  for (const std::string_view expression : {"\\p{L}+| ?\\p{N}+|\\s+(?!\\S)|\\s+", "\\s*[\\r\\n]+|[^\\s]+$|.", "(?<=a)B+|\\bB", "a{3,}|(?:aB)+\\z|\\n", "(?:a|B)*?\\.", ""}) {
    for (int round = 0; round < 25; ++round) {
      std::string text;
      for (size_t parts = random() % 100; parts > 0; --parts) {
        const std::string_view part = kParts[random() % kParts.size()];
        for (size_t n = random() % 20 == 0 ? random() % 200 : 1; n > 0; --n) text += part;
      }
      // The same pattern with a part that the fast way can never settle.
      EXPECT_EQ(matches(expression, text), matches("(?=(?:(?s:.){0,2})*+)(?:" + std::string(expression) + ")", text)) << expression << '\n' << text;
    }
  }
}

TEST(Pattern, BudgetIsSharedBySearches) {
  StepBudget budget(0);
  EXPECT_TRUE(budget.take(StepBudget::kSteps - 5));
  EXPECT_FALSE(budget.take(6));
  EXPECT_FALSE(budget.take(1));
  EXPECT_TRUE(StepBudget(1, 0).take(StepBudget::kStepsPerByte));
}

TEST(Pattern, StartingAgainForgetsTheTextBefore) {
  auto pattern = Pattern::compile("b");
  ASSERT_TRUE(pattern.ok());
  StepBudget budget(10);
  PatternSearch first(*pattern, budget);
  first.start("bb");
  size_t begin = 0, end = 0;
  EXPECT_TRUE(first.next(begin, end));
  PatternSearch search(std::move(first));
  search.start("ab");
  EXPECT_TRUE(search.next(begin, end));
  EXPECT_EQ(begin, 1u);
  EXPECT_FALSE(search.next(begin, end));
}

}  // namespace
}  // namespace pteron::text
