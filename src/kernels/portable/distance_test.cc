#include <gmock/gmock.h>

#include <cmath>

#include "kernels/portable/kernel_call_for_test.h"

namespace pteron::portable::testing {
namespace {

using ::testing::ElementsAre;

TEST(Distance, NormsOfDifferences) {
  for (const auto& [p, expected] : {std::pair{0.0, 2.0}, {1.0, 7.0}, {2.0, 5.0}, {HUGE_VAL, 4.0}, {3.0, std::cbrt(91.0)}}) {
    Call call("aten::_cdist_forward.out");
    ASSERT_TRUE(call.in(floats({1, 2}, {0, 0})).in(floats({1, 2}, {3, 4})).d(p).none().out({1, 1}).run().ok());
    EXPECT_NEAR(call.result()[0], expected, 1e-6) << p;
  }
}

TEST(Distance, PairsOfRows) {
  Call call("aten::_pdist_forward.out");
  ASSERT_TRUE(call.in(floats({3, 1}, {0, 1, 5})).d(1).out({3}).run().ok());
  EXPECT_THAT(call.result(), ElementsAre(1, 5, 4));
  EXPECT_FALSE(Call("aten::_pdist_forward.out").in(floats({3, 1}, {0, 1, 5})).d(-1).out({3}).run().ok());
}

}  // namespace
}  // namespace pteron::portable::testing
