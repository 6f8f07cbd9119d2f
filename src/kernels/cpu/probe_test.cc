#include "kernels/cpu/probe.h"

#include <gtest/gtest.h>

namespace pteron::kernels::cpu {
namespace {

TEST(Probe, LimitsArePlausible) {
  const auto table = active_kernels();
  ASSERT_TRUE(table.ok());
  ThreadPool threads(2);
  const MachineLimits limits = measure_limits(**table, threads);
  EXPECT_GT(limits.read_bytes, 1e8);
  EXPECT_LT(limits.read_bytes, 1e13);
  EXPECT_GT(limits.dot_ops, 1e8);
  EXPECT_LT(limits.dot_ops, 1e15);
}

}  // namespace
}  // namespace pteron::kernels::cpu
