#include <gtest/gtest.h>

#include "pteron/profile.h"

namespace pteron {
namespace {

TEST(Machine, LimitsAreThoseOfAComputer) {
  const auto limits = measure_machine(1);
  ASSERT_TRUE(limits.ok()) << limits.status().message();
  EXPECT_GT(limits->read_bytes_per_second, 1e8);
  EXPECT_LT(limits->read_bytes_per_second, 1e13);
  EXPECT_GT(limits->dot_ops_per_second, 1e8);
}

}  // namespace
}  // namespace pteron
