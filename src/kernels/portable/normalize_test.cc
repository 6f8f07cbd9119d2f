#include <gmock/gmock.h>

#include <cmath>

#include "kernels/portable/kernel_call_for_test.h"

namespace pteron::portable::testing {
namespace {

using ::testing::ElementsAre;

TEST(Normalize, SoftmaxOfLargeNumbersAndAnyDimension) {
  Call last("aten::_softmax.out");
  ASSERT_TRUE(last.in(floats({1, 2}, {1000, 1000})).i(-1).b(false).out({1, 2}).run().ok());
  EXPECT_THAT(last.result(), ElementsAre(0.5, 0.5));
  Call first("aten::_softmax.out");
  ASSERT_TRUE(first.in(floats({2, 1}, {0, std::log(3.0)})).i(0).b(false).out({2, 1}).run().ok());
  EXPECT_NEAR(first.result()[1], 0.75, 1e-6);
}

TEST(Normalize, LogSoftmaxOfDoubles) {
  Call call("aten::_log_softmax.out");
  ASSERT_TRUE(call.in({ScalarType::Double, {2}, {0, 0}}).i(0).b(false).out(ScalarType::Double, {2}).run().ok());
  EXPECT_NEAR(call.result()[0], -std::log(2.0), 1e-12);
}

TEST(Normalize, LayerNormGivesItsStatistics) {
  Call call("aten::native_layer_norm.out");
  ASSERT_TRUE(call.in(floats({1, 2}, {1, 3}))
                  .ints({2})
                  .in(floats({2}, {2, 2}))
                  .in(floats({2}, {1, 1}))
                  .d(0)
                  .out({1, 2})
                  .out({1, 1})
                  .out({1, 1})
                  .none()
                  .run()
                  .ok());
  EXPECT_THAT(call.result(0), ElementsAre(-1, 3));
  EXPECT_THAT(call.result(1), ElementsAre(2));
  EXPECT_THAT(call.result(2), ElementsAre(1));
}

TEST(Normalize, ShapesThatContradictAreErrors) {
  EXPECT_FALSE(Call("aten::native_layer_norm.out")
                   .in(floats({1, 2}, {1, 3}))
                   .ints({3})
                   .none()
                   .none()
                   .d(0)
                   .out({1, 2})
                   .out({1, 1})
                   .out({1, 1})
                   .none()
                   .run()
                   .ok());
  EXPECT_FALSE(Call("aten::native_layer_norm.out")
                   .in(floats({1, 2}, {1, 3}))
                   .ints({1, 1, 2})
                   .none()
                   .none()
                   .d(0)
                   .out({1, 2})
                   .out({1, 1})
                   .out({1, 1})
                   .none()
                   .run()
                   .ok());
  EXPECT_FALSE(Call("aten::native_group_norm.out")
                   .in(floats({1, 2, 1}, {1, 3}))
                   .none()
                   .none()
                   .i(1)
                   .i(2)
                   .i(1)
                   .i(0)
                   .d(0)
                   .out({1, 2, 1})
                   .out({1, 1})
                   .out({1, 1})
                   .none()
                   .run()
                   .ok());
  EXPECT_FALSE(Call("aten::_softmax.out").in(floats({2}, {1, 2})).i(1).b(false).out({2}).run().ok());
}

TEST(Normalize, BatchNormInTrainingMovesItsStatistics) {
  Call call("aten::_native_batch_norm_legit.out");
  ASSERT_TRUE(call.in(floats({2, 1}, {1, 3}))
                  .none()
                  .none()
                  .inout(floats({1}, {0}))
                  .inout(floats({1}, {1}))
                  .b(true)
                  .d(0.5)
                  .d(0)
                  .out({2, 1})
                  .out({1})
                  .out({1})
                  .none()
                  .run()
                  .ok());
  EXPECT_THAT(call.result(0), ElementsAre(1));    // running mean: half way to 2
  EXPECT_THAT(call.result(1), ElementsAre(1.5));  // running variance: half way to the unbiased 2
  EXPECT_THAT(call.result(2), ElementsAre(-1, 1));
}

}  // namespace
}  // namespace pteron::portable::testing
