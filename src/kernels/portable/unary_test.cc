#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "kernels/portable/kernel_call_for_test.h"

namespace pteron::portable::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;

TEST(Unary, IntegersOfFloatFunctionsGiveFloat) {
  Call call("aten::sqrt.out");
  ASSERT_TRUE(call.in(longs({3}, {0, 4, 9})).out({3}).run().ok());
  EXPECT_THAT(call.result(), ElementsAre(0, 2, 3));
}

TEST(Unary, RoundTakesHalvesToTheEvenNeighbour) {
  Call call("aten::round.out");
  ASSERT_TRUE(call.in(floats({4}, {0.5, 1.5, -2.5, 2.4})).out({4}).run().ok());
  EXPECT_THAT(call.result(), ElementsAre(0, 2, -2, 2));
}

TEST(Unary, SigmoidOfWideRangeIsFiniteAndNearlyExact) {
  Call call("aten::sigmoid.out");
  ASSERT_TRUE(call.in(floats({5}, {-200, -1, 0, 1, 200})).out({5}).run().ok());
  const auto result = call.result();
  EXPECT_EQ(result[0], 0);
  EXPECT_NEAR(result[1], 1 / (1 + std::exp(1.0)), 1e-7);
  EXPECT_EQ(result[2], 0.5);
  EXPECT_EQ(result[4], 1);
}

TEST(Unary, ReluAndIsnanKeepNan) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Call relu("aten::relu.out");
  ASSERT_TRUE(relu.in(floats({3}, {-1, nan, 2})).out({3}).run().ok());
  EXPECT_EQ(relu.result()[0], 0);
  EXPECT_TRUE(std::isnan(relu.result()[1]));
  Call isnan("aten::isnan.out");
  ASSERT_TRUE(isnan.in(floats({3}, {-1, nan, 2})).out(ScalarType::Bool, {3}).run().ok());
  EXPECT_THAT(isnan.result(), ElementsAre(0, 1, 0));
}

TEST(Unary, ComplexAndQuantisedTypesAreRefused) {
  Call call("aten::neg.out");
  const Status status = call.in({ScalarType::QInt8, {0}, {}}).out(ScalarType::QInt8, {0}).run();
  EXPECT_EQ(status.code(), Code::unsupported);
}

TEST(Unary, AStaticOutOfOtherSizesIsRefused) {
  Call call("aten::neg.out");
  EXPECT_FALSE(call.in(floats({3}, {1, 2, 3})).out({4}).run().ok());
}

}  // namespace
}  // namespace pteron::portable::testing
