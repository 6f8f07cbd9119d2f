#include <gmock/gmock.h>

#include <cmath>

#include "kernels/portable/kernel_call_for_test.h"

namespace pteron::portable::testing {
namespace {

using ::testing::ElementsAre;

TEST(Reduce, SumsOverAnyDimensions) {
  Call call("aten::sum.IntList_out");
  ASSERT_TRUE(call.in(floats({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8})).ints({0, -1}).b(true).none().out({1, 2, 1}).run(2).ok());
  EXPECT_THAT(call.result(), ElementsAre(14, 22));
}

TEST(Reduce, LongSumsOfFloatsStayExact) {
  std::vector<double> ones(100000, 1);
  ones[0] = 16777216;  // float32 accumulation would lose the rest
  Call call("aten::sum.IntList_out");
  ASSERT_TRUE(call.in(floats({100000}, ones)).none().b(false).none().out(ScalarType::Double, {}).run().ok());
  EXPECT_THAT(call.result(), ElementsAre(16777216.0 + 99999));
}

TEST(Reduce, MeanOfNothingIsNan) {
  Call call("aten::mean.out");
  ASSERT_TRUE(call.in(floats({2, 0}, {})).ints({1}).b(false).none().out({2}).run().ok());
  EXPECT_TRUE(std::isnan(call.result()[0]));
}

TEST(Reduce, ExtremaKeepNanAndRefuseNothing) {
  Call call("aten::amax.out");
  ASSERT_TRUE(call.in(floats({2, 2}, {1, NAN, 3, 2})).ints({1}).b(false).out({2}).run().ok());
  EXPECT_TRUE(std::isnan(call.result()[0]));
  EXPECT_EQ(call.result()[1], 3);
  EXPECT_FALSE(Call("aten::amax.out").in(floats({2, 0}, {})).ints({1}).b(false).out({2}).run().ok());
}

TEST(Reduce, VarianceWithCorrection) {
  Call call("aten::var.correction_out");
  ASSERT_TRUE(call.in(floats({4}, {1, 2, 3, 4})).none().i(1).b(false).out({}).run().ok());
  EXPECT_NEAR(call.result()[0], 5.0 / 3, 1e-6);
}

TEST(Reduce, ADimensionTwiceOrOutOfRangeIsAnError) {
  EXPECT_FALSE(Call("aten::sum.IntList_out").in(floats({2, 2}, {1, 2, 3, 4})).ints({0, -2}).b(false).none().out({2}).run().ok());
  EXPECT_FALSE(Call("aten::sum.IntList_out").in(floats({2, 2}, {1, 2, 3, 4})).ints({2}).b(false).none().out({2}).run().ok());
}

}  // namespace
}  // namespace pteron::portable::testing
