#include "llm/lookup.h"

#include <vector>

#include <gtest/gtest.h>

namespace pteron::llm {
namespace {

std::vector<TokenId> draft(const std::vector<TokenId>& text, size_t longest, size_t most) {
  const auto found = lookup_draft(text, longest, most);
  return {found.begin(), found.end()};
}

TEST(Lookup, ContinuesTheLatestEarlierPlace) {
  EXPECT_EQ(draft({1, 2, 3, 9, 1, 2, 4, 5, 1, 2}, 3, 3), (std::vector<TokenId>{4, 5, 1}));
  EXPECT_EQ(draft({7, 1, 2, 8, 5, 1, 2, 9, 7, 1, 2}, 3, 2), (std::vector<TokenId>{8, 5})) << "a longer match counts more than a later one";
  EXPECT_EQ(draft({1, 2, 3, 1, 2}, 3, 9), (std::vector<TokenId>{3, 1, 2})) << "up to the end of the text";
}

TEST(Lookup, FindsNothingWhereThereIsNothing) {
  EXPECT_TRUE(draft({}, 3, 4).empty());
  EXPECT_TRUE(draft({1}, 3, 4).empty());
  EXPECT_TRUE(draft({1, 2, 3}, 3, 4).empty());
  EXPECT_TRUE(draft({1, 2, 3, 4, 5, 2}, 3, 4).empty()) << "one token is no match";
  EXPECT_TRUE(draft({1, 2, 3, 1, 2}, 3, 0).empty());
}

TEST(Lookup, RepetitionsOverlap) { EXPECT_EQ(draft({5, 5, 5, 5}, 3, 2), (std::vector<TokenId>{5})); }

}  // namespace
}  // namespace pteron::llm
