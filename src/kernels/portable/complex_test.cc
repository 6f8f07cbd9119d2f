#include <gmock/gmock.h>

#include "kernels/portable/kernel_call_for_test.h"

namespace pteron::portable::testing {
namespace {

using ::testing::ElementsAre;

TEST(Complex, SpectrumOfACosine) {
  Call call("aten::_fft_r2c.out");
  ASSERT_TRUE(call.in(floats({4}, {1, 0, -1, 0})).ints({0}).i(0).b(true).out(ScalarType::Double, {3}).run().code() == Code::unsupported);
}

TEST(Complex, AbsOfRealNumbers) {
  Call call("aten::abs.out");
  ASSERT_TRUE(call.in({ScalarType::Char, {3}, {-128, -1, 1}}).out(ScalarType::Char, {3}).run().ok());
  EXPECT_THAT(call.result(), ElementsAre(-128, 1, 1));
}

TEST(Complex, RealTensorsHaveNoParts) {
  EXPECT_EQ(Call("aten::view_as_real_copy.out").in(floats({1}, {1})).out({1, 2}).run().code(), Code::unsupported);
}

}  // namespace
}  // namespace pteron::portable::testing
