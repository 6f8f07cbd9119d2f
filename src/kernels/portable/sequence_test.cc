#include <gmock/gmock.h>

#include <cmath>

#include "kernels/portable/kernel_call_for_test.h"

namespace pteron::portable::testing {
namespace {

using ::testing::ElementsAre;

TEST(Sequence, HadamardOfTwoAndOfTwentyEight) {
  Call two("llama::fast_hadamard_transform.out");
  ASSERT_TRUE(two.in(floats({1, 2}, {1, 3})).out({1, 2}).run().ok());
  EXPECT_NEAR(two.result()[0], 4 / std::sqrt(2.0), 1e-6);
  EXPECT_NEAR(two.result()[1], -2 / std::sqrt(2.0), 1e-6);
  // Rows of the 28-point matrix are orthogonal: it keeps lengths up to a factor of 28.
  std::vector<double> x(28);
  double before = 0, after = 0;
  for (size_t i = 0; i < 28; ++i) x[i] = static_cast<double>(i % 5) - 1, before += x[i] * x[i];
  Call many("llama::fast_hadamard_transform.out");
  ASSERT_TRUE(many.in(floats({28}, x)).out({28}).run().ok());
  for (double y : many.result()) after += y * y;
  EXPECT_NEAR(after, 28 * before, 1e-3);
  EXPECT_FALSE(Call("llama::fast_hadamard_transform.out").in(floats({3}, {1, 2, 3})).out({3}).run().ok());
}

TEST(Sequence, DeltaRuleLearnsAndRecalls) {
  const auto run = [](const Array& query) {
    Call call("llama::gated_delta_rule.out");
    EXPECT_TRUE(call.in(query)
                    .in(floats({1, 1, 2, 1}, {1, 1}))
                    .in(floats({1, 1, 2, 1}, {4, 4}))
                    .in(floats({1, 1, 2}, {1, 1}))
                    .in(floats({1, 1, 2}, {0.5, 0.5}))
                    .in(floats({1, 1, 1, 1}, {0}))
                    .out({1, 1, 2, 1})
                    .out({1, 1, 1, 1})
                    .none()
                    .run()
                    .ok());
    return std::pair{call.result(0), call.result(1)};
  };
  const auto [answers, state] = run(floats({1, 1, 2, 1}, {1, 2}));
  EXPECT_THAT(answers, ElementsAre(2, 6));
  EXPECT_THAT(state, ElementsAre(3));
}

}  // namespace
}  // namespace pteron::portable::testing
