#include <gmock/gmock.h>

#include "kernels/portable/kernel_call_for_test.h"

namespace pteron::portable::testing {
namespace {

using ::testing::ElementsAre;

TEST(Binary, BroadcastsAndScalesTheSecondOperand) {
  Call call("aten::sub.out");
  ASSERT_TRUE(call.in(floats({2, 2}, {1, 2, 3, 4})).in(floats({2}, {10, 20})).d(0.5).out({2, 2}).run().ok());
  EXPECT_THAT(call.result(), ElementsAre(-4, -8, -2, -6));
}

TEST(Binary, OperandsWithDifferentLayoutsMeetByIndex) {
  Array channels_last = floats({1, 2, 1, 2}, {1, 2, 3, 4});
  channels_last.order = {0, 2, 3, 1};
  Call call("aten::add.out");
  ASSERT_TRUE(call.in(channels_last).in(floats({1, 2, 1, 2}, {10, 20, 30, 40})).i(1).out({1, 2, 1, 2}).run().ok());
  EXPECT_THAT(call.result(), ElementsAre(11, 22, 33, 44));
}

TEST(Binary, LargeOperandsAgreeOnAnyNumberOfThreads) {
  std::vector<double> a(40000), b(200);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<double>(i % 97);
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<double>(i);
  Call one("aten::mul.out"), two("aten::mul.out");
  ASSERT_TRUE(one.in(floats({200, 200}, a)).in(floats({200}, b)).out({200, 200}).run(1).ok());
  ASSERT_TRUE(two.in(floats({200, 200}, a)).in(floats({200}, b)).out({200, 200}).run(3).ok());
  EXPECT_EQ(one.result(), two.result());
  EXPECT_EQ(one.result()[201], a[201] * b[1]);
}

TEST(Binary, Int8Wraps) {
  Call call("aten::add.out");
  ASSERT_TRUE(
      call.in({ScalarType::Char, {2}, {100, -100}}).in({ScalarType::Char, {2}, {100, -100}}).i(1).out(ScalarType::Char, {2}).run().ok());
  EXPECT_THAT(call.result(), ElementsAre(-56, 56));
}

TEST(Binary, FloorDivisionIsExactWhereTheQuotientRoundsUp) {
  Call call("aten::floor_divide.out");
  ASSERT_TRUE(
      call.in({ScalarType::Double, {3}, {1.0, -7, 7}}).in({ScalarType::Double, {3}, {0.1, 2, -2}}).out(ScalarType::Double, {3}).run().ok());
  EXPECT_THAT(call.result(), ElementsAre(9, -4, -4));
}

TEST(Binary, RemainderHasTheDivisorsSign) {
  Call call("aten::remainder.Scalar_out");
  ASSERT_TRUE(call.in(longs({4}, {-7, 7, -1, 6})).i(3).out(ScalarType::Long, {4}).run().ok());
  EXPECT_THAT(call.result(), ElementsAre(2, 1, 2, 0));
}

TEST(Binary, IntegerDivisionByZeroIsAnError) {
  Call call("aten::floor_divide.out");
  EXPECT_EQ(call.in(longs({2}, {1, 2})).in(longs({2}, {1, 0})).out(ScalarType::Long, {2}).run().code(), Code::invalid_argument);
}

TEST(Binary, SizesThatDoNotBroadcastAreAnError) {
  Call call("aten::mul.out");
  const Status status = call.in(floats({3}, {1, 2, 3})).in(floats({2}, {1, 2})).out({3}).run();
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find("broadcast"), std::string::npos) << status.message();
}

TEST(Binary, AnUnknownRoundingModeIsAnError) {
  Call call("aten::div.out_mode");
  EXPECT_FALSE(call.in(floats({1}, {1})).in(floats({1}, {1})).s("up").out({1}).run().ok());
}

}  // namespace
}  // namespace pteron::portable::testing
