#include "backends/cpu/run/slot_runs.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "core/dtype.h"

namespace pteron::cpu_backend {
namespace {

constexpr float kLowest = std::numeric_limits<float>::lowest();

bool runs_of(const std::vector<float>& mask, kernels::cpu::SlotRuns& runs) { return slot_runs(ScalarType::Float, mask.data(), 0, mask.size(), runs); }

TEST(SlotRuns, FindsOneAndTwoRuns) {
  kernels::cpu::SlotRuns runs;
  ASSERT_TRUE(runs_of({0, 0, kLowest, kLowest}, runs));
  EXPECT_EQ(runs.begin[0], 0);
  EXPECT_EQ(runs.end[0], 2);
  EXPECT_EQ(runs.end[1], 0);
  ASSERT_TRUE(runs_of({0, kLowest, kLowest, 0, 0}, runs));
  EXPECT_EQ(runs.end[0], 1);
  EXPECT_EQ(runs.begin[1], 3);
  EXPECT_EQ(runs.end[1], 5);
}

TEST(SlotRuns, ReadsEveryMaskTypeAtItsRow) {
  kernels::cpu::SlotRuns runs;
  const uint8_t booleans[] = {1, 1, 1, 0, 1, 0};
  ASSERT_TRUE(slot_runs(ScalarType::Bool, booleans, 1, 3, runs));
  EXPECT_EQ(runs.begin[0], 1);
  EXPECT_EQ(runs.end[0], 2);
  const uint16_t halves[] = {float_to_half(-65504.0f), 0};
  ASSERT_TRUE(slot_runs(ScalarType::Half, halves, 0, 2, runs));
  EXPECT_EQ(runs.begin[0], 1);
  const uint16_t bfloats[] = {0, float_to_bfloat16(kLowest)};
  ASSERT_TRUE(slot_runs(ScalarType::BFloat16, bfloats, 0, 2, runs));
  EXPECT_EQ(runs.end[0], 1);
}

TEST(SlotRuns, RefusesWhatIsNoMask) {
  kernels::cpu::SlotRuns runs;
  EXPECT_FALSE(runs_of({0, -1.0f, kLowest}, runs));
  EXPECT_FALSE(runs_of({kLowest, kLowest}, runs));
  EXPECT_FALSE(runs_of({0, kLowest, 0, kLowest, 0}, runs));
  EXPECT_FALSE(runs_of({std::numeric_limits<float>::quiet_NaN()}, runs));
  const int64_t numbers[] = {0};
  EXPECT_FALSE(slot_runs(ScalarType::Long, numbers, 0, 1, runs));
}

}  // namespace
}  // namespace pteron::cpu_backend
