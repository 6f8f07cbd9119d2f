#include "llm/exponential.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace pteron::llm {
namespace {

TEST(Exponential, AgreesWithTheLibrary) {
  EXPECT_EQ(exp_nonpositive(0), 1);
  for (double x = -700; x <= 0; x += 0.0137) ASSERT_NEAR(exp_nonpositive(x) / std::exp(x), 1, 5e-16) << x;
}

TEST(Exponential, FadesOutThroughSubnormalNumbers) {
  for (double x = -745; x <= -700; x += 0.0137) ASSERT_NEAR(exp_nonpositive(x), std::exp(x), 5e-324 + 1e-15 * std::exp(x)) << x;
  EXPECT_EQ(exp_nonpositive(-800), 0);
  EXPECT_EQ(exp_nonpositive(-std::numeric_limits<double>::infinity()), 0);
}

}  // namespace
}  // namespace pteron::llm
