#include <gtest/gtest.h>

#include "passes/text_test.h"

namespace pteron::passes {
namespace {

TEST(Dce, DropsUnusedNodesAndConstantsButNotEffects) {
  EXPECT_EQ(after("dce", R"(const @unused : float32[2] = values [1.0, 2.0]
const @used : float32[2] = values [3.0, 4.0]
method @m {
  input %0 "x" user : float32[2]
  input %1 "state" user : float32[2]
  %2 : float32[2] = aten::mul.out(%0, @unused)
  %3 : float32[2] = aten::add.out(%0, @used)
  %4 : float32[2] = aten::neg.out(%3)
  %5 : float32[2] = aten::copy_(%1, %3)
  %6 : float32[2] = pteron::delegate([%1], index=0, mutates=[0], aliases=[0])
  output %3 "y" user
}
)"),
            R"(const @used : float32[2] = values [3.0, 4.0]
method @m {
  input %0 "x" user : float32[2]
  input %1 "state" user : float32[2]
  %2 : float32[2] = aten::add.out(%0, @used)
  %3 : float32[2] = aten::copy_(%1, %2)
  %4 : float32[2] = pteron::delegate([%1], index=0, mutates=[0], aliases=[0])
  output %2 "y" user
}
)");
}

}  // namespace
}  // namespace pteron::passes
