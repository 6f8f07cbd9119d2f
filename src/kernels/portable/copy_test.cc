#include <gmock/gmock.h>

#include <cmath>

#include "kernels/portable/kernel_call_for_test.h"

namespace pteron::portable::testing {
namespace {

using ::testing::ElementsAre;

TEST(Copy, CastsTruncateAndNaNIsNoCrash) {
  Call call("aten::_to_copy.out");
  ASSERT_TRUE(call.in(floats({4}, {1.9, -1.9, 3e9, NAN})).b(false).none().out(ScalarType::Int, {4}).run().ok());
  EXPECT_THAT(call.result(), ElementsAre(1, -1, -2147483648.0, -2147483648.0));
}

TEST(Copy, ADimOrderMustBeThatOfTheOut) {
  const Array image = floats({1, 2, 1, 2}, {1, 2, 3, 4});
  Call good("dim_order_ops::_to_dim_order_copy.out");
  ASSERT_TRUE(good.in(image).b(false).ints({0, 2, 3, 1}).out(ScalarType::Float, {1, 2, 1, 2}, false, {0, 2, 3, 1}).run().ok());
  EXPECT_THAT(good.result(), ElementsAre(1, 2, 3, 4));
  EXPECT_FALSE(Call("dim_order_ops::_to_dim_order_copy.out").in(image).b(false).ints({0, 2, 3, 1}).out({1, 2, 1, 2}).run().ok());
  EXPECT_FALSE(Call("dim_order_ops::_clone_dim_order.out").in(image).b(true).ints({0, 1, 2, 3}).out({1, 2, 1, 2}).run().ok());
}

TEST(Copy, InPlaceBroadcastsAndReturnsItsTarget) {
  Call call("aten::copy_");
  ASSERT_TRUE(call.inout(floats({2, 2}, {0, 0, 0, 0})).in(longs({2}, {3, 4})).b(false).run().ok());
  EXPECT_THAT(call.result(), ElementsAre(3, 4, 3, 4));
  ASSERT_TRUE(call.returned().is(Value::Kind::tensor));
  EXPECT_EQ(call.returned().tensor().numel(), 4u);
}

TEST(Copy, ASourceThatDoesNotFitIsAnError) {
  EXPECT_FALSE(Call("aten::copy_").inout(floats({2}, {0, 0})).in(floats({3}, {1, 2, 3})).b(false).run().ok());
}

}  // namespace
}  // namespace pteron::portable::testing
