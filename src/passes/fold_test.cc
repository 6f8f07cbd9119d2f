#include <gtest/gtest.h>

#include "passes/text_test.h"

namespace pteron::passes {
namespace {

TEST(Fold, WhatChangesNothingGoes) {
  EXPECT_EQ(after("fold", R"(method @m {
  input %0 "x" user : float32[2,3]
  %1 : float32[2,3] = aten::view_copy.out(%0, size=[2, 3])
  %2 : float32[2,3] = aten::slice_copy.Tensor_out(%1, start=0, end=3, dim=1)
  %3 : float32[2,3] = dim_order_ops::_to_dim_order_copy.out(%2)
  %4 : float32[2,3] = aten::mul.Scalar_out(%3, other=1.0)
  %5 : float32[2,3] = aten::add.Scalar_out(%4, other=0)
  %6 : float32[2,3] = aten::cat.out([%5], dim=1)
  %7 : float32[2,3] = aten::neg.out(%6)
  output %7 "y" user
}
)"),
            R"(method @m {
  input %0 "x" user : float32[2,3]
  %1 : float32[2,3] = aten::neg.out(%0)
  output %1 "y" user
}
)");
}

TEST(Fold, ViewsOfViewsAndPermutationsOfOnes) {
  EXPECT_EQ(after("fold", R"(method @m {
  input %0 "x" user : float32[1,2,3]
  %1 : float32[2,1,3] = aten::permute_copy.out(%0, dims=[1, 0, 2])
  %2 : float32[6] = aten::view_copy.out(%1, size=[6])
  %3 : float32[3,2] = aten::view_copy.out(%2, size=[3, 2])
  %4 : float32[2,3] = aten::permute_copy.out(%3, dims=[1, 0])
  output %4 "y" user
}
)"),
            R"(method @m {
  input %0 "x" user : float32[1,2,3]
  %1 : float32[2,1,3] = aten::view_copy.out(%0, size=[2, 1, 3])
  %2 : float32[6] = aten::view_copy.out(%0, size=[6])
  %3 : float32[3,2] = aten::view_copy.out(%0, size=[3, 2])
  %4 : float32[2,3] = aten::permute_copy.out(%3, dims=[1, 0])
  output %4 "y" user
}
)");
}

TEST(Fold, CastsAndFactorsThatDoSomethingStay) {
  const char* text = R"(method @m {
  input %0 "x" user : float32[2]
  %1 : float16[2] = dim_order_ops::_to_dim_order_copy.out(%0)
  %2 : float16[2] = aten::mul.Scalar_out(%1, other=2.0)
  output %2 "y" user
}
)";
  EXPECT_EQ(after("fold", text), text);
}

}  // namespace
}  // namespace pteron::passes
