#include <gmock/gmock.h>

#include "kernels/portable/kernel_call_for_test.h"

namespace pteron::portable::testing {
namespace {

using ::testing::ElementsAre;

TEST(Convolution, OfOneDimensionWithPadding) {
  Call call("aten::convolution.out");
  ASSERT_TRUE(call.in(floats({1, 1, 3}, {1, 2, 3}))
                  .in(floats({1, 1, 3}, {1, 10, 100}))
                  .in(floats({1}, {0.5}))
                  .ints({1})
                  .ints({1})
                  .ints({1})
                  .b(false)
                  .ints({0})
                  .i(1)
                  .out({1, 1, 3})
                  .run()
                  .ok());
  EXPECT_THAT(call.result(), ElementsAre(210.5, 321.5, 32.5));
}

TEST(Convolution, TransposedSpreadsElements) {
  Call call("aten::convolution.out");
  ASSERT_TRUE(call.in(floats({1, 1, 2}, {1, 2}))
                  .in(floats({1, 1, 2}, {1, 10}))
                  .none()
                  .ints({2})
                  .ints({0})
                  .ints({1})
                  .b(true)
                  .ints({1})
                  .i(1)
                  .out({1, 1, 5})
                  .run()
                  .ok());
  EXPECT_THAT(call.result(), ElementsAre(1, 10, 2, 20, 0));
}

TEST(Convolution, BadParametersAreErrors) {
  const Array x = floats({1, 2, 3}, {1, 2, 3, 4, 5, 6}), w = floats({1, 2, 1}, {1, 1});
  const auto run = [&](std::vector<int64_t> stride, std::vector<int64_t> padding, int64_t groups, const Array& weight) {
    return Call("aten::convolution.out")
        .in(x)
        .in(weight)
        .none()
        .ints(stride)
        .ints(padding)
        .ints({1})
        .b(false)
        .ints({0})
        .i(groups)
        .out({1, 1, 3})
        .run();
  };
  EXPECT_TRUE(run({1}, {0}, 1, w).ok());
  EXPECT_FALSE(run({0}, {0}, 1, w).ok());
  EXPECT_FALSE(run({1}, {-1}, 1, w).ok());
  EXPECT_FALSE(run({1}, {0}, 0, w).ok());
  EXPECT_FALSE(run({1}, {0}, 3, w).ok());
  EXPECT_FALSE(run({1}, {0}, 1, floats({1, 1, 1}, {1})).ok());
  EXPECT_FALSE(run({1, 1, 1}, {0}, 1, w).ok());
  EXPECT_FALSE(run({1}, {0}, 1, floats({1, 2, 0}, {})).ok());
}

TEST(Convolution, GradientsOfAProduct) {
  Call call("aten::convolution_backward.out");
  ASSERT_TRUE(call.in(floats({1, 1, 2}, {1, 1}))
                  .in(floats({1, 1, 2}, {3, 4}))
                  .in(floats({1, 1, 1}, {5}))
                  .ints({1})
                  .ints({1})
                  .ints({0})
                  .ints({1})
                  .b(false)
                  .ints({0})
                  .i(1)
                  .flags({1, 1, 1})
                  .out({1, 1, 2})
                  .out({1, 1, 1})
                  .out({1})
                  .none()
                  .run()
                  .ok());
  EXPECT_THAT(call.result(0), ElementsAre(5, 5));
  EXPECT_THAT(call.result(1), ElementsAre(7));
  EXPECT_THAT(call.result(2), ElementsAre(2));
}

}  // namespace
}  // namespace pteron::portable::testing
