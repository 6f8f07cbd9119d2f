#include "text/pattern.h"

#include <gtest/gtest.h>

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

TEST(Pattern, HopelessSearchesEndWithAnError) {
  auto pattern = Pattern::compile("(a+)+$b|(?:(?:a|a)*)*c");
  ASSERT_TRUE(pattern.ok());
  const std::string text(200, 'a');
  StepBudget budget(text.size());
  PatternSearch search(*pattern, budget);
  search.start(text);
  size_t begin = 0, end = 0;
  EXPECT_FALSE(search.next(begin, end));
  EXPECT_EQ(search.status().code(), Code::out_of_capacity);
  EXPECT_FALSE(search.next(begin, end));
}

TEST(Pattern, BudgetIsSharedBySearches) {
  StepBudget budget(0);
  EXPECT_TRUE(budget.take(60'000'000));
  EXPECT_FALSE(budget.take(60'000'000));
  EXPECT_TRUE(budget.take(40'000'000));
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
