#include "base/checked.h"

#include <gtest/gtest.h>

#include <array>

namespace pteron {
namespace {

TEST(Checked, AddAndMulSeeOverflow) {
  EXPECT_EQ(checked_add<uint64_t>(2, 3), 5u);
  EXPECT_FALSE(checked_add<uint64_t>(UINT64_MAX, 1).has_value());
  EXPECT_EQ(checked_mul<int32_t>(-3, 4), -12);
  EXPECT_FALSE(checked_mul<int64_t>(INT64_MAX, 2).has_value());
}

TEST(Checked, ProductRefusesNegativeAndHuge) {
  const std::array<int32_t, 3> fine{2, 3, 4}, negative{2, -1, 4}, zero{1 << 30, 0, 5};
  const std::array<int64_t, 3> huge{INT64_MAX, 4, 4};
  EXPECT_EQ(checked_product(std::span<const int32_t>(fine)), 24u);
  EXPECT_FALSE(checked_product(std::span<const int32_t>(negative)).has_value());
  EXPECT_EQ(checked_product(std::span<const int32_t>(zero)), 0u);
  EXPECT_FALSE(checked_product(std::span<const int64_t>(huge)).has_value());
  EXPECT_EQ(checked_product(std::span<const int32_t>()), 1u);
}

TEST(Checked, AlignAndRange) {
  EXPECT_EQ(checked_align(10, 8), 16u);
  EXPECT_EQ(checked_align(16, 8), 16u);
  EXPECT_FALSE(checked_align(UINT64_MAX, 16).has_value());
  EXPECT_TRUE(range_inside(4, 4, 8));
  EXPECT_FALSE(range_inside(5, 4, 8));
  EXPECT_FALSE(range_inside(UINT64_MAX, 2, 8));
}

}  // namespace
}  // namespace pteron
