#include "text/word_memory.h"

#include <gtest/gtest.h>

namespace pteron::text {
namespace {

TEST(WordMemory, RecallsWhatItKept) {
  WordMemory memory(10000);
  ASSERT_TRUE(memory.enabled());
  std::vector<int32_t> out = {9, 1, 2};
  size_t lost = 0;
  EXPECT_FALSE(memory.recall("word", out, lost));
  memory.keep("word", out, 1, 3);
  EXPECT_TRUE(memory.recall("word", out, lost));
  EXPECT_EQ(out, (std::vector<int32_t>{9, 1, 2, 1, 2}));
  EXPECT_EQ(lost, 3u);
  EXPECT_FALSE(memory.recall("wor", out, lost));
  EXPECT_FALSE(memory.recall("", out, lost));
}

TEST(WordMemory, ShortTextsAndLongWordsHaveNone) {
  WordMemory none(10);
  EXPECT_FALSE(none.enabled());
  std::vector<int32_t> out = {1};
  size_t lost = 0;
  none.keep("a", out, 0, 0);
  EXPECT_FALSE(none.recall("a", out, lost));
  WordMemory memory(10000);
  const std::string word(100, 'a');
  memory.keep(word, out, 0, 0);
  EXPECT_FALSE(memory.recall(word, out, lost));
}

TEST(WordMemory, NewWordsTakeThePlaceOfOldOnes) {
  WordMemory memory(1000);
  for (int32_t i = 0; i < 1000; ++i) memory.keep("w" + std::to_string(i), {i}, 0, 0);
  size_t known = 0, lost = 0;
  for (int32_t i = 0; i < 1000; ++i) {
    std::vector<int32_t> out;
    if (!memory.recall("w" + std::to_string(i), out, lost)) continue;
    ++known;
    EXPECT_EQ(out, std::vector<int32_t>{i});
  }
  EXPECT_GT(known, 10u);
  EXPECT_LT(known, 200u);
}

}  // namespace
}  // namespace pteron::text
