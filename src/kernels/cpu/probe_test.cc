#include "kernels/cpu/probe.h"

#include <gtest/gtest.h>

namespace pteron::kernels::cpu {
namespace {

TEST(Probe, LimitsArePlausible) {
  const auto table = active_kernels();
  ASSERT_TRUE(table.ok());
  ThreadPool threads(2);
  const MachineLimits limits = measure_limits(**table, threads);
  EXPECT_GT(limits.read_gigabytes, 0.1);
  EXPECT_LT(limits.read_gigabytes, 10000);
  EXPECT_GT(limits.dot_gigaops, 0.1);
  EXPECT_LT(limits.dot_gigaops, 1e6);
}

}  // namespace
}  // namespace pteron::kernels::cpu
