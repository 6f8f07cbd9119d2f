#include "backends/cpu/payload/step_values.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pteron::cpu_backend {
namespace {

std::string accesses(Step step) {
  std::string out;
  each_buffer(step, [&](int32_t& index, Access access) {
    out += (out.empty() ? "" : " ") + std::to_string(index) + (access == Access::read ? "r" : access == Access::write ? "w" : "u");
    index += 10;
  });
  // A change reaches the step itself.
  std::string changed;
  const Step after = step;
  each_buffer(after, [&](int32_t index, Access) { changed += std::to_string(index) + " "; });
  EXPECT_EQ(changed.find('-'), std::string::npos);
  each_buffer(after, [&](int32_t index, Access) { EXPECT_GE(index, 10); });
  return out;
}

TEST(StepValues, EveryKindOfStepNamesItsBuffers) {
  EXPECT_EQ(accesses(EmbedStep{0, 0, 3, 1}), "3w");
  EXPECT_EQ(accesses(NormStep{{}, 1, 2, false}), "1r 2w");
  EXPECT_EQ(accesses(NormStep{{}, 1, 2, true}), "1r 2u");
  EXPECT_EQ(accesses(ProjectStep{1, {}, {{0, kAbsent, 2}, {0, kAbsent, 3}}, ProjectMode::store, Activation::none}), "1r 2w 3w");
  EXPECT_EQ(accesses(ProjectStep{1, {}, {{0, kAbsent, 2}}, ProjectMode::accumulate, Activation::none}), "1r 2u");
  EXPECT_EQ(accesses(RopeStep{0, 4, 8, false}), "4u");
  EXPECT_EQ(accesses(WriteStep{5, 0, 0, 1, 1, 1}), "5r");
  EXPECT_EQ(accesses(MapStep{MapKind::copy, Activation::none, 1, 1, 2}), "1r 2w");
  EXPECT_EQ(accesses(CombineStep{CombineKind::add, 1, 1, 2, 3}), "1r 2r 3w");
  EXPECT_EQ(accesses(SelectStep{1, 0, 2}), "1r 2w");
  EXPECT_EQ(accesses(ConvertStep{0, 6, true}), "6r");
  EXPECT_EQ(accesses(ConvertStep{0, 6, false}), "6w");
}

TEST(StepValues, AttentionChangesTheHeadsThatItTurns) {
  AttendStep step;
  step.queries = 1, step.out = 4;
  EXPECT_EQ(accesses(step), "1r 4w");
  step.keys = 2, step.values = 3, step.query_rope = 0;
  EXPECT_EQ(accesses(step), "1u 2r 3r 4w");
  step.key_norm.kind = NormKind::rms;
  EXPECT_EQ(accesses(step), "1u 2u 3r 4w");
}

}  // namespace
}  // namespace pteron::cpu_backend
