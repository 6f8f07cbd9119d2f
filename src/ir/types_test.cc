#include "ir/types.h"

#include <gtest/gtest.h>

namespace pteron::ir {
namespace {

TEST(Types, CountsElementsAndBytesAtUpperBounds) {
  Type t(ScalarType::Half, {2, 3});
  t.dims.push_back({5, "s0"});
  EXPECT_EQ(t.numel(), 30u);
  EXPECT_EQ(t.nbytes(), 60u);
  EXPECT_FALSE(t.is_static());
  EXPECT_EQ(t.size(-1), 5);
  EXPECT_EQ(to_string(t), "float16[2,3,s0<=5]");
}

TEST(Types, OverflowGivesNothing) {
  EXPECT_FALSE(Type(ScalarType::Float, {INT64_MAX, 4}).numel().has_value());
  EXPECT_FALSE(Type(ScalarType::Double, {INT64_MAX / 2, 2}).nbytes().has_value());
  EXPECT_FALSE(Type(ScalarType::Float, {-1}).numel().has_value());
}

TEST(Types, ScalarHasOneElement) { EXPECT_EQ(Type(ScalarType::Float, {}).numel(), 1u); }

}  // namespace
}  // namespace pteron::ir
