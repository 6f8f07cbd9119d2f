#include <gmock/gmock.h>

#include <cmath>

#include "kernels/portable/kernel_call_for_test.h"

namespace pteron::portable::testing {
namespace {

using ::testing::ElementsAre;

TEST(Activation, GeluInBothForms) {
  for (const auto& [form, expected] : {std::pair<std::string_view, double>{"none", 0.841344746}, {"tanh", 0.841191991}}) {
    Call call("aten::gelu.out");
    ASSERT_TRUE(call.in(floats({2}, {1, -100})).s(form).out({2}).run().ok());
    EXPECT_NEAR(call.result()[0], expected, 1e-6) << form;
    EXPECT_EQ(call.result()[1], 0);
  }
}

TEST(Activation, ClampKeepsNanAndPrefersTheUpperBound) {
  Call call("aten::clamp.out");
  ASSERT_TRUE(call.in(floats({3}, {-5, 5, NAN})).d(2).d(1).out({3}).run().ok());
  EXPECT_EQ(call.result()[0], 1);
  EXPECT_EQ(call.result()[1], 1);
  EXPECT_TRUE(std::isnan(call.result()[2]));
}

TEST(Activation, ClampWithoutBoundsIsAnError) {
  Call call("aten::clamp.out");
  EXPECT_FALSE(call.in(floats({1}, {1})).none().none().out({1}).run().ok());
}

TEST(Activation, GluNeedsAnEvenSize) {
  Call good("aten::glu.out");
  ASSERT_TRUE(good.in(floats({4}, {2, 4, 0, 0})).i(-1).out({2}).run().ok());
  EXPECT_THAT(good.result(), ElementsAre(1, 2));
  Call bad("aten::glu.out");
  EXPECT_FALSE(bad.in(floats({3}, {1, 2, 3})).i(0).out({1}).run().ok());
}

}  // namespace
}  // namespace pteron::portable::testing
