#include <gmock/gmock.h>

#include "kernels/portable/kernel_call_for_test.h"

namespace pteron::portable::testing {
namespace {

using ::testing::ElementsAre;

TEST(Join, CatSkipsEmptyRowsAndConverts) {
  Call call("aten::cat.out");
  ASSERT_TRUE(call.tensors({floats({1, 2}, {1, 2}), floats({0}, {}), longs({1, 2}, {3, 4})}).i(0).out({2, 2}).run().ok());
  EXPECT_THAT(call.result(), ElementsAre(1, 2, 3, 4));
}

TEST(Join, CatAndStackCheckSizes) {
  EXPECT_FALSE(Call("aten::cat.out").tensors({floats({1, 2}, {1, 2}), floats({1, 3}, {1, 2, 3})}).i(0).out({2, 2}).run().ok());
  EXPECT_FALSE(Call("aten::cat.out").tensors({}).i(0).out({0}).run().ok());
  EXPECT_FALSE(Call("aten::stack.out").tensors({floats({1}, {1}), floats({2}, {1, 2})}).i(0).out({2, 1}).run().ok());
}

TEST(Join, SplitNeedsTheRightOuts) {
  Call call("aten::split_copy.Tensor_out");
  ASSERT_TRUE(call.in(floats({3}, {1, 2, 3})).i(2).i(0).out_list({{2}, {1}}).run().ok());
  EXPECT_THAT(call.result(0), ElementsAre(1, 2));
  EXPECT_THAT(call.result(1), ElementsAre(3));
  EXPECT_FALSE(Call("aten::split_copy.Tensor_out").in(floats({3}, {1, 2, 3})).i(0).i(0).out_list({{3}}).run().ok());
  EXPECT_FALSE(Call("aten::split_copy.Tensor_out").in(floats({3}, {1, 2, 3})).i(2).i(0).out_list({{3}}).run().ok());
}

TEST(Join, PadGrowsAndCuts) {
  Call call("aten::constant_pad_nd.out");
  ASSERT_TRUE(call.in(floats({3}, {1, 2, 3})).ints({-1, 2}).d(9).out({4}).run().ok());
  EXPECT_THAT(call.result(), ElementsAre(2, 3, 9, 9));
  EXPECT_FALSE(Call("aten::constant_pad_nd.out").in(floats({3}, {1, 2, 3})).ints({-2, -2}).d(0).out({0}).run().ok());
}

TEST(Join, RollRepeatAndTril) {
  Call roll("aten::roll.out");
  ASSERT_TRUE(roll.in(floats({2, 2}, {1, 2, 3, 4})).ints({1, 3}).ints({0, 1}).out({2, 2}).run().ok());
  EXPECT_THAT(roll.result(), ElementsAre(4, 3, 2, 1));
  Call repeat("aten::repeat.out");
  ASSERT_TRUE(repeat.in(floats({2}, {1, 2})).ints({2, 2}).out({2, 4}).run().ok());
  EXPECT_THAT(repeat.result(), ElementsAre(1, 2, 1, 2, 1, 2, 1, 2));
  Call tril("aten::tril.out");
  ASSERT_TRUE(tril.in(floats({2, 2}, {1, 2, 3, 4})).i(0).out({2, 2}).run().ok());
  EXPECT_THAT(tril.result(), ElementsAre(1, 0, 3, 4));
}

TEST(Join, PixelShuffleAndBack) {
  Call shuffle("aten::pixel_shuffle.out");
  ASSERT_TRUE(shuffle.in(floats({4, 1, 1}, {1, 2, 3, 4})).i(2).out({1, 2, 2}).run().ok());
  EXPECT_THAT(shuffle.result(), ElementsAre(1, 2, 3, 4));
  EXPECT_FALSE(Call("aten::pixel_shuffle.out").in(floats({3, 1, 1}, {1, 2, 3})).i(2).out({1, 2, 2}).run().ok());
}

TEST(Join, TilesOfAnImage) {
  Call call("preprocess::tile_crop.out");
  ASSERT_TRUE(call.in(floats({1, 2, 4}, {0, 1, 2, 3, 4, 5, 6, 7})).i(2).out({2, 1, 2, 2}).run().ok());
  EXPECT_THAT(call.result(), ElementsAre(0, 1, 4, 5, 2, 3, 6, 7));
}

}  // namespace
}  // namespace pteron::portable::testing
