#include <gmock/gmock.h>

#include <cmath>

#include "kernels/portable/kernel_call_for_test.h"

namespace pteron::portable::testing {
namespace {

using ::testing::ElementsAre;

Array image() { return floats({1, 1, 2, 2}, {0, 2, 4, 6}); }

TEST(Resample, BilinearBetweenCorners) {
  Call call("aten::upsample_bilinear2d.vec_out");
  ASSERT_TRUE(call.in(image()).ints({3, 3}).b(true).none().out({1, 1, 3, 3}).run().ok());
  EXPECT_THAT(call.result(), ElementsAre(0, 1, 2, 2, 3, 4, 4, 5, 6));
}

TEST(Resample, NearestByFactor) {
  Call call("aten::upsample_nearest2d.vec_out");
  ASSERT_TRUE(call.in(image()).none().doubles({1, 2}).out({1, 1, 2, 4}).run().ok());
  EXPECT_THAT(call.result(), ElementsAre(0, 0, 2, 2, 4, 4, 6, 6));
}

TEST(Resample, AntiAliasedReductionAverages) {
  Call call("aten::_upsample_bilinear2d_aa.out");
  ASSERT_TRUE(call.in(image()).ints({1, 1}).b(false).none().none().out({1, 1, 1, 1}).run().ok());
  EXPECT_THAT(call.result(), ElementsAre(3));
}

TEST(Resample, GridPlacesMayBeAnything) {
  Call call("aten::grid_sampler_2d.out");
  ASSERT_TRUE(call.in(image()).in(floats({1, 1, 3, 2}, {-1, -1, 1e30, 0, NAN, 0})).i(0).i(0).b(true).out({1, 1, 1, 3}).run().ok());
  EXPECT_EQ(call.result()[0], 0);
  EXPECT_EQ(call.result()[1], 0);
}

TEST(Resample, BadTargetsAreErrors) {
  EXPECT_FALSE(Call("aten::upsample_nearest2d.vec_out").in(image()).ints({0, 1}).none().out({1, 1, 1, 1}).run().ok());
  EXPECT_FALSE(Call("aten::upsample_nearest2d.vec_out").in(image()).none().none().out({1, 1, 1, 1}).run().ok());
  EXPECT_FALSE(Call("aten::upsample_nearest2d.vec_out").in(image()).none().doubles({NAN, 1}).out({1, 1, 1, 1}).run().ok());
  EXPECT_FALSE(Call("aten::grid_sampler_2d.out").in(image()).in(floats({1, 1, 1, 2}, {0, 0})).i(3).i(0).b(true).out({1, 1, 1, 1}).run().ok());
}

}  // namespace
}  // namespace pteron::portable::testing
