#include <gmock/gmock.h>

#include "kernels/portable/kernel_call_for_test.h"

namespace pteron::portable::testing {
namespace {

using ::testing::ElementsAre;

Array image() { return floats({1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}); }

TEST(Pool, MaxGivesPlaces) {
  Call call("aten::max_pool2d_with_indices.out");
  ASSERT_TRUE(call.in(image())
                  .ints({2, 2})
                  .ints({2, 2})
                  .ints({0, 0})
                  .ints({1, 1})
                  .b(false)
                  .out({1, 1, 2})
                  .out(ScalarType::Long, {1, 1, 2})
                  .none()
                  .run()
                  .ok());
  EXPECT_THAT(call.result(0), ElementsAre(6, 8));
  EXPECT_THAT(call.result(1), ElementsAre(5, 7));
}

TEST(Pool, AverageCountsPaddingOnlyIfAsked) {
  for (const bool count : {false, true}) {
    Call call("aten::avg_pool2d.out");
    ASSERT_TRUE(call.in(image()).ints({2, 2}).ints({4, 4}).ints({1, 1}).b(false).b(count).none().out({1, 1, 2}).run().ok());
    EXPECT_THAT(call.result(), ElementsAre(count ? 0.25 : 1, count ? 1 : 4));
  }
}

TEST(Pool, AdaptiveCoversEverything) {
  Call call("aten::_adaptive_avg_pool2d.out");
  ASSERT_TRUE(call.in(image()).ints({1, 1}).out({1, 1, 1}).run().ok());
  EXPECT_THAT(call.result(), ElementsAre(4.5));
}

TEST(Pool, BadWindowsAreErrors) {
  const auto run = [](std::vector<int64_t> kernel, std::vector<int64_t> padding) {
    return Call("aten::avg_pool2d.out").in(image()).ints(kernel).ints({1}).ints(padding).b(false).b(true).none().out({1, 1, 3}).run();
  };
  EXPECT_FALSE(run({0, 0}, {0}).ok());
  EXPECT_FALSE(run({2, 2}, {2}).ok());
  EXPECT_FALSE(run({9, 9}, {0}).ok());
  EXPECT_FALSE(run({}, {0}).ok());
}

TEST(Pool, BackwardChecksItsIndices) {
  const auto run = [](double place) {
    Call call("aten::max_pool2d_with_indices_backward.grad_input");
    return call.in(floats({1, 1, 2}, {1, 2}))
        .in(image())
        .ints({2, 2})
        .ints({2, 2})
        .ints({0, 0})
        .ints({1, 1})
        .b(false)
        .in(longs({1, 1, 2}, {5, place}))
        .out({1, 2, 4})
        .run();
  };
  EXPECT_TRUE(run(7).ok());
  EXPECT_FALSE(run(8).ok());
  EXPECT_FALSE(run(-1).ok());
}

}  // namespace
}  // namespace pteron::portable::testing
