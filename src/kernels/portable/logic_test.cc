#include <gmock/gmock.h>

#include "kernels/portable/kernel_call_for_test.h"

namespace pteron::portable::testing {
namespace {

using ::testing::ElementsAre;

TEST(Logic, ComparesLargeIntegersExactly) {
  Call call("aten::gt.Tensor_out");
  ASSERT_TRUE(call.in(longs({2}, {9007199254740992.0, 1})).in(longs({2}, {9007199254740990.0, 1})).out(ScalarType::Bool, {2}).run().ok());
  EXPECT_THAT(call.result(), ElementsAre(1, 0));
}

TEST(Logic, WhereTakesFromEitherSide) {
  Call call("aten::where.self_out");
  ASSERT_TRUE(call.in(bools({2, 1}, {1, 0})).in(floats({2}, {1, 2})).in(floats({}, {9})).out({2, 2}).run().ok());
  EXPECT_THAT(call.result(), ElementsAre(1, 2, 9, 9));
}

TEST(Logic, ShiftsByTheWidthOrMoreEmptyTheNumber) {
  Call call("aten::bitwise_left_shift.Tensor_Scalar_out");
  ASSERT_TRUE(call.in({ScalarType::Int, {2}, {1, -1}}).i(32).out(ScalarType::Int, {2}).run().ok());
  EXPECT_THAT(call.result(), ElementsAre(0, 0));
}

TEST(Logic, BitwiseOperatorsRefuseFloats) {
  Call call("aten::bitwise_and.Tensor_out");
  EXPECT_EQ(call.in(floats({1}, {1})).in(floats({1}, {1})).out({1}).run().code(), Code::unsupported);
}

TEST(Logic, MaskedFillNeedsABoolMask) {
  Call good("aten::masked_fill.Scalar_out");
  ASSERT_TRUE(good.in(floats({2}, {1, 2})).in(bools({2}, {0, 1})).d(-3).out({2}).run().ok());
  EXPECT_THAT(good.result(), ElementsAre(1, -3));
  Call bad("aten::masked_fill.Scalar_out");
  EXPECT_FALSE(bad.in(floats({2}, {1, 2})).in(longs({2}, {0, 1})).d(-3).out({2}).run().ok());
}

}  // namespace
}  // namespace pteron::portable::testing
