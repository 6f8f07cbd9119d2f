#include <gmock/gmock.h>

#include "kernels/portable/kernel_call_for_test.h"

namespace pteron::portable::testing {
namespace {

using ::testing::ElementsAre;

TEST(View, PermuteMovesElements) {
  Call call("aten::permute_copy.out");
  ASSERT_TRUE(call.in(floats({2, 3}, {1, 2, 3, 4, 5, 6})).ints({1, 0}).out({3, 2}).run().ok());
  EXPECT_THAT(call.result(), ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST(View, PermuteRefusesWhatIsNoPermutation) {
  EXPECT_FALSE(Call("aten::permute_copy.out").in(floats({1, 1}, {1})).ints({0, 0}).out({1, 1}).run().ok());
  EXPECT_FALSE(Call("aten::permute_copy.out").in(floats({1, 1}, {1})).ints({0}).out({1, 1}).run().ok());
}

TEST(View, SliceClipsItsBounds) {
  Call call("aten::slice_copy.Tensor_out");
  ASSERT_TRUE(call.in(floats({5}, {0, 1, 2, 3, 4})).i(0).i(-4).i(100).i(2).out({2}).run().ok());
  EXPECT_THAT(call.result(), ElementsAre(1, 3));
  EXPECT_FALSE(Call("aten::slice_copy.Tensor_out").in(floats({5}, {0, 1, 2, 3, 4})).i(0).none().none().i(0).out({5}).run().ok());
}

TEST(View, ExpandRepeatsWithoutReadingBeyond) {
  Call call("aten::expand_copy.out");
  ASSERT_TRUE(call.in(floats({2, 1}, {1, 2})).ints({2, -1, 2}).b(false).out({2, 2, 2}).run().ok());
  EXPECT_THAT(call.result(), ElementsAre(1, 1, 2, 2, 1, 1, 2, 2));
  EXPECT_FALSE(Call("aten::expand_copy.out").in(floats({3}, {1, 2, 3})).ints({2}).b(false).out({2}).run().ok());
}

TEST(View, ReshapeAcrossLayoutsKeepsLogicalOrder) {
  Array from = floats({1, 2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  from.order = {0, 2, 3, 1};
  Call call("aten::view_copy.out");
  ASSERT_TRUE(call.in(from).ints({4, -1}).out({4, 2}).run().ok());
  EXPECT_THAT(call.result(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST(View, AsStridedStaysInsideItsTensor) {
  Call call("aten::as_strided_copy.out");
  ASSERT_TRUE(call.in(floats({5}, {0, 1, 2, 3, 4})).ints({2, 2}).ints({1, 2}).i(1).out({2, 2}).run().ok());
  EXPECT_THAT(call.result(), ElementsAre(1, 3, 2, 4));
  EXPECT_FALSE(Call("aten::as_strided_copy.out").in(floats({5}, {0, 1, 2, 3, 4})).ints({2, 2}).ints({1, 4}).i(1).out({2, 2}).run().ok());
  EXPECT_FALSE(Call("aten::as_strided_copy.out").in(floats({5}, {0, 1, 2, 3, 4})).ints({2}).ints({1}).i(-1).out({2}).run().ok());
}

TEST(View, SelectChecksItsIndex) {
  Call call("aten::select_copy.int_out");
  ASSERT_TRUE(call.in(floats({2, 2}, {1, 2, 3, 4})).i(1).i(-1).out({2}).run().ok());
  EXPECT_THAT(call.result(), ElementsAre(2, 4));
  EXPECT_FALSE(Call("aten::select_copy.int_out").in(floats({2, 2}, {1, 2, 3, 4})).i(0).i(2).out({2}).run().ok());
}

TEST(View, FlipAndDiagonal) {
  Call flip("aten::flip.out");
  ASSERT_TRUE(flip.in(floats({2, 2}, {1, 2, 3, 4})).ints({1}).out({2, 2}).run().ok());
  EXPECT_THAT(flip.result(), ElementsAre(2, 1, 4, 3));
  Call diagonal("aten::diagonal_copy.out");
  ASSERT_TRUE(diagonal.in(floats({2, 3}, {1, 2, 3, 4, 5, 6})).i(1).i(0).i(1).out({2}).run().ok());
  EXPECT_THAT(diagonal.result(), ElementsAre(2, 6));
}

}  // namespace
}  // namespace pteron::portable::testing
