#include "text/piece_index.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "text/token_table.h"

namespace pteron::text {
namespace {

TEST(PieceIndex, FindsWhatWasAddedAndNothingElse) {
  std::vector<std::string> texts;
  for (int i = 0; i < 5000; ++i) texts.push_back("piece " + std::to_string(i * 7));
  PieceIndex index;
  EXPECT_EQ(index.find("piece 0"), kNoId) << "empty";
  for (uint32_t id = 0; id < texts.size(); ++id) EXPECT_TRUE(index.add(texts[id], id));
  for (uint32_t id = 0; id < texts.size(); ++id) {
    EXPECT_EQ(index.find(texts[id]), id);
    EXPECT_EQ(index.find("piece " + std::to_string(id * 7 + 1)), kNoId);
  }
}

TEST(PieceIndex, OfEqualTextsTheFirstCounts) {
  PieceIndex index;
  EXPECT_TRUE(index.add("a", 4));
  EXPECT_FALSE(index.add("a", 9));
  EXPECT_TRUE(index.add("", 5)) << "the empty text is a text";
  EXPECT_EQ(index.find("a"), 4u);
  EXPECT_EQ(index.find(""), 5u);
}

}  // namespace
}  // namespace pteron::text
