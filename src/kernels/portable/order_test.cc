#include <gmock/gmock.h>

#include <cmath>

#include "kernels/portable/kernel_call_for_test.h"

namespace pteron::portable::testing {
namespace {

using ::testing::ElementsAre;

TEST(Order, TopkSortsAndKeepsTheOrderOfEqualElements) {
  Call call("aten::topk.values");
  ASSERT_TRUE(call.in(floats({5}, {1, 3, 2, 3, 0})).i(3).i(-1).b(true).b(true).out({3}).out(ScalarType::Long, {3}).run().ok());
  EXPECT_THAT(call.result(0), ElementsAre(3, 3, 2));
  EXPECT_THAT(call.result(1), ElementsAre(1, 3, 2));
  EXPECT_FALSE(Call("aten::topk.values").in(floats({2}, {1, 3})).i(3).i(0).b(true).b(true).out({3}).out(ScalarType::Long, {3}).run().ok());
}

TEST(Order, SmallestAlongADimension) {
  Call call("aten::topk.values");
  ASSERT_TRUE(call.in(floats({3, 2}, {3, 1, 2, 6, 1, 5})).i(2).i(0).b(false).b(true).out({2, 2}).out(ScalarType::Long, {2, 2}).run().ok());
  EXPECT_THAT(call.result(0), ElementsAre(1, 1, 2, 5));
  EXPECT_THAT(call.result(1), ElementsAre(2, 0, 1, 2));
}

TEST(Order, ArgmaxTakesTheFirstAndPrefersNan) {
  Call call("aten::argmax.out");
  ASSERT_TRUE(call.in(floats({2, 3}, {1, 5, 5, NAN, 9, NAN})).i(1).b(false).out(ScalarType::Long, {2}).run().ok());
  EXPECT_THAT(call.result(), ElementsAre(1, 0));
}

TEST(Order, CumsumAndNonzero) {
  Call cumsum("aten::cumsum.out");
  ASSERT_TRUE(cumsum.in(floats({3}, {1, 2, 3})).i(0).none().out({3}).run().ok());
  EXPECT_THAT(cumsum.result(), ElementsAre(1, 3, 6));
  Call nonzero("aten::nonzero.out");
  ASSERT_TRUE(nonzero.in(floats({2, 2}, {0, 1, 1, 0})).out(ScalarType::Long, {4, 2}, true).run().ok());
  EXPECT_THAT(nonzero.result_sizes(), ElementsAre(2, 2));
  EXPECT_THAT(nonzero.result(), ElementsAre(0, 1, 1, 0));
}

TEST(Order, RepeatInterleaveBoundsItsResult) {
  Call good("aten::repeat_interleave.Tensor_out");
  ASSERT_TRUE(good.in(longs({3}, {2, 0, 1})).none().out(ScalarType::Long, {3}).run().ok());
  EXPECT_THAT(good.result(), ElementsAre(0, 0, 2));
  EXPECT_FALSE(Call("aten::repeat_interleave.Tensor_out").in(longs({2}, {2e9, 2e9})).none().out(ScalarType::Long, {3}, true).run().ok());
  EXPECT_FALSE(Call("aten::repeat_interleave.Tensor_out").in(longs({1}, {-1})).none().out(ScalarType::Long, {3}, true).run().ok());
}

}  // namespace
}  // namespace pteron::portable::testing
