#include <gmock/gmock.h>

#include <cmath>

#include "kernels/portable/kernel_call_for_test.h"

namespace pteron::portable::testing {
namespace {

using ::testing::ElementsAre;

TEST(Quantize, RoundsHalfToEvenAndSaturates) {
  Call call("quantized_decomposed::quantize_per_tensor.out");
  ASSERT_TRUE(call.in(floats({5}, {0.25, 0.75, 1e30, -1e30, NAN})).d(0.5).i(0).i(-128).i(127).i(1).out(ScalarType::Char, {5}).run().ok());
  EXPECT_THAT(call.result(), ElementsAre(0, 2, 127, -128, -128));
}

TEST(Quantize, RangesMustFitTheType) {
  const auto run = [](int64_t low, int64_t high, int64_t dtype, int64_t zero) {
    return Call("quantized_decomposed::quantize_per_tensor.out")
        .in(floats({1}, {1}))
        .d(1)
        .i(zero)
        .i(low)
        .i(high)
        .i(dtype)
        .out(ScalarType::Char, {1})
        .run();
  };
  EXPECT_TRUE(run(-128, 127, 1, 0).ok());
  EXPECT_FALSE(run(-129, 127, 1, 0).ok());
  EXPECT_FALSE(run(0, 255, 1, 0).ok());
  EXPECT_FALSE(run(-128, 127, 0, 0).ok());
  EXPECT_FALSE(run(-128, 127, 1, int64_t{1} << 40).ok());
}

TEST(Quantize, ChannelsHaveParametersOfTheirOwn) {
  Call call("quantized_decomposed::dequantize_per_channel.out");
  ASSERT_TRUE(call.in({ScalarType::Char, {2, 2}, {1, 2, 3, 4}})
                  .in({ScalarType::Double, {2}, {1, 10}})
                  .in(longs({2}, {0, 1}))
                  .i(0)
                  .i(-128)
                  .i(127)
                  .i(1)
                  .none()
                  .out({2, 2})
                  .run()
                  .ok());
  EXPECT_THAT(call.result(), ElementsAre(1, 2, 20, 30));
}

TEST(Quantize, ChosenParametersHoldZero) {
  Call call("quantized_decomposed::choose_qparams.Tensor_out");
  ASSERT_TRUE(
      call.in(floats({2}, {0, 255})).i(0).i(255).d(1e-9).i(0).out(ScalarType::Double, {1}).out(ScalarType::Long, {1}).none().run().ok());
  EXPECT_THAT(call.result(0), ElementsAre(1));
  EXPECT_THAT(call.result(1), ElementsAre(0));
}

TEST(Quantize, MixedProducts) {
  Call linear("quantized_decomposed::mixed_linear.out");
  ASSERT_TRUE(linear.in(floats({1, 2}, {1, 2}))
                  .in({ScalarType::Char, {1, 2}, {3, 4}})
                  .in(floats({1, 2}, {1, 10}))
                  .none()
                  .none()
                  .out({1, 1})
                  .run()
                  .ok());
  EXPECT_THAT(linear.result(), ElementsAre(83));
  Call mm("quantized_decomposed::mixed_mm.out");
  ASSERT_TRUE(mm.in(floats({1, 2}, {1, 2})).in({ScalarType::Char, {2, 1}, {3, 4}}).in(floats({2}, {1, 10})).none().out({1, 1}).run().ok());
  EXPECT_THAT(mm.result(), ElementsAre(83));
}

}  // namespace
}  // namespace pteron::portable::testing
