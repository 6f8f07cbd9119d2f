#include <gmock/gmock.h>

#include "kernels/portable/kernel_call_for_test.h"

namespace pteron::portable::testing {
namespace {

using ::testing::ElementsAre;

TEST(Pad, ReflectsAndReplicates) {
  Call reflect("aten::reflection_pad1d.out");
  ASSERT_TRUE(reflect.in(floats({1, 3}, {1, 2, 3})).ints({2, 1}).out({1, 6}).run().ok());
  EXPECT_THAT(reflect.result(), ElementsAre(3, 2, 1, 2, 3, 2));
  Call replicate("aten::replication_pad2d.out");
  ASSERT_TRUE(replicate.in(floats({1, 1, 2}, {1, 2})).ints({1, 0, 1, 0}).out({1, 2, 3}).run().ok());
  EXPECT_THAT(replicate.result(), ElementsAre(1, 1, 2, 1, 1, 2));
}

TEST(Pad, ReflectionIsShorterThanTheRow) {
  EXPECT_FALSE(Call("aten::reflection_pad1d.out").in(floats({1, 3}, {1, 2, 3})).ints({3, 0}).out({1, 6}).run().ok());
  EXPECT_FALSE(Call("aten::reflection_pad1d.out").in(floats({1, 3}, {1, 2, 3})).ints({1}).out({1, 4}).run().ok());
  EXPECT_FALSE(Call("aten::replication_pad1d.out").in(floats({1, 0}, {})).ints({1, 0}).out({1, 1}).run().ok());
}

}  // namespace
}  // namespace pteron::portable::testing
