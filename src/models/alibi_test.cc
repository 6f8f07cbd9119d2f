#include "models/alibi.h"

#include <gtest/gtest.h>

#include "core/dtype.h"

namespace pteron::models {
namespace {

TEST(Alibi, SlopesHalveForAPowerOfTwoOfHeads) {
  const auto table = alibi_table(8, 3, 1);
  ASSERT_EQ(table.size(), 24u);
  for (int h = 0; h < 8; ++h) {
    EXPECT_EQ(table[static_cast<size_t>(3 * h)], 0);
    EXPECT_EQ(table[static_cast<size_t>(3 * h + 2)], 2.0f / static_cast<float>(2 << h)) << "head " << h;
  }
}

TEST(Alibi, OtherNumbersOfHeadsTakeOddPowersOfTheFinerBase) {
  const auto table = alibi_table(6, 2, 1);
  EXPECT_EQ(table[1], 0.25f);                 // 2^-2, four heads
  EXPECT_EQ(table[7], 0.00390625f);           // 2^-8
  EXPECT_EQ(table[9], 0.5f);                  // 2^-1: base of eight heads, power 1
  EXPECT_EQ(table[11], 0.125f);               // power 3
}

TEST(Alibi, ProductsAreRoundedToBfloat16BeforeTheScale) {
  const auto table = alibi_table(6, 400, 0.5);
  const float slope = 0.25f, position = bfloat16_to_float(float_to_bfloat16(399));
  EXPECT_EQ(table[399], bfloat16_to_float(float_to_bfloat16(slope * position)) * 0.5f);
}

}  // namespace
}  // namespace pteron::models
