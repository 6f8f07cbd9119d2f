#include <gmock/gmock.h>

#include "kernels/portable/kernel_call_for_test.h"

namespace pteron::portable::testing {
namespace {

using ::testing::ElementsAre;

TEST(Create, ArangeCountsUpAndDown) {
  Call call("aten::arange.start_out");
  ASSERT_TRUE(call.i(5).i(0).i(-2).out(ScalarType::Long, {3}).run().ok());
  EXPECT_THAT(call.result(), ElementsAre(5, 3, 1));
}

TEST(Create, ARangeWithoutEndOrTooLongIsAnError) {
  EXPECT_FALSE(Call("aten::arange.start_out").i(0).i(5).i(0).out({5}).run().ok());
  EXPECT_FALSE(Call("aten::arange.start_out").i(0).i(5).i(-1).out({5}).run().ok());
  EXPECT_FALSE(Call("aten::arange.out").d(1e300).out({5}).run().ok());
}

TEST(Create, FullChecksItsSizes) {
  Call call("aten::full.out");
  ASSERT_TRUE(call.ints({2, 2}).d(1.5).out({2, 2}).run().ok());
  EXPECT_THAT(call.result(), ElementsAre(1.5, 1.5, 1.5, 1.5));
  EXPECT_FALSE(Call("aten::full.out").ints({-1}).d(0).out({1}).run().ok());
  EXPECT_FALSE(Call("aten::full.out").ints({int64_t{1} << 40}).d(0).out({1}).run().ok());
  EXPECT_FALSE(Call("aten::full.out").ints(std::vector<int64_t>(20, 1)).d(0).out({1}).run().ok());
}

TEST(Create, RandomNumbersLieInTheirRange) {
  Call call("aten::rand.out");
  ASSERT_TRUE(call.ints({1000}).out({1000}).run().ok());
  double sum = 0;
  for (double x : call.result()) {
    ASSERT_GE(x, 0);
    ASSERT_LT(x, 1);
    sum += x;
  }
  EXPECT_NEAR(sum / 1000, 0.5, 0.1);
}

TEST(Create, DropoutKeepsEverythingOutsideTraining) {
  Call call("aten::native_dropout.out");
  ASSERT_TRUE(call.in(floats({2}, {1, 2})).d(0.5).b(false).out({2}).out(ScalarType::Bool, {2}).run().ok());
  EXPECT_THAT(call.result(0), ElementsAre(1, 2));
  EXPECT_THAT(call.result(1), ElementsAre(1, 1));
}

}  // namespace
}  // namespace pteron::portable::testing
