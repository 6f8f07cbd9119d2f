#include <gmock/gmock.h>

#include "kernels/portable/kernel_call_for_test.h"

namespace pteron::portable::testing {
namespace {

using ::testing::ElementsAre;

TEST(Scatter, AddsWhereIndicesRepeat) {
  Call call("aten::scatter_add.out");
  ASSERT_TRUE(call.in(floats({2}, {1, 1})).i(0).in(longs({3}, {0, 1, 0})).in(floats({3}, {1, 2, 3})).out({2}).run().ok());
  EXPECT_THAT(call.result(), ElementsAre(5, 3));
}

TEST(Scatter, WritesValuesAlongADimension) {
  Call call("aten::scatter.value_out");
  ASSERT_TRUE(call.in(floats({2, 2}, {1, 2, 3, 4})).i(1).in(longs({2, 1}, {1, 0})).d(9).out({2, 2}).run().ok());
  EXPECT_THAT(call.result(), ElementsAre(1, 9, 9, 4));
}

TEST(Scatter, BadIndicesAreErrors) {
  EXPECT_FALSE(Call("aten::scatter.value_out").in(floats({2}, {1, 2})).i(0).in(longs({1}, {2})).d(9).out({2}).run().ok());
  EXPECT_FALSE(Call("aten::scatter.src_out").in(floats({2}, {1, 2})).i(0).in(longs({2}, {0, 1})).in(floats({1}, {5})).out({2}).run().ok());
  EXPECT_FALSE(Call("aten::scatter.src_out").in(floats({2}, {1, 2})).i(0).in(floats({1}, {0})).in(floats({1}, {5})).out({2}).run().ok());
}

}  // namespace
}  // namespace pteron::portable::testing
