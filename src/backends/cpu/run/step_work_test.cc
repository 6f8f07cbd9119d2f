#include "backends/cpu/run/step_work.h"

#include <gtest/gtest.h>

#include "backends/cpu/run/plan_for_test.h"

namespace pteron::cpu_backend {
namespace {

TEST(StepWork, MatricesAreReadOnceAndComputedForEachRow) {
  Machine m;
  m.plan.rows = 8;
  m.plan.tensors = {{"w", true, PackedEncoding::int4, 32, 64}, {"table", true, PackedEncoding::float16, 100, 64}};
  m.plan.buffers = {{kAbsent, 0, 64}, {kAbsent, 0, 32}, {kAbsent, 0, 64, true}};
  m.valid_rows = 5;
  const runtime::StepWork project = step_work(m, ProjectStep{0, {}, {{0, kAbsent, 1}, {0, kAbsent, 1}}, ProjectMode::store, Activation::none});
  EXPECT_EQ(project.bytes, 2 * m.plan.tensors[0].bytes());
  EXPECT_EQ(project.operations, uint64_t{2} * 5 * 2 * 32 * 64);
  EXPECT_EQ(step_work(m, ProjectStep{2, {}, {{0, kAbsent, 1}}, ProjectMode::store, Activation::none}).operations, uint64_t{2} * 32 * 64);
  EXPECT_EQ(step_work(m, EmbedStep{1, 0, 0, 1}).bytes, 5 * m.plan.tensors[1].bytes() / 100);
  EXPECT_EQ(step_work(m, NormStep{}).bytes, 0u);
}

TEST(StepWork, AttentionReadsVisibleSlots) {
  Machine m;
  m.plan.rows = 2;
  m.plan.arguments = {{ScalarType::Half, false, {1, 2, 100, 8}}, {ScalarType::Half, false, {1, 2, 100, 16}}, {ScalarType::Bool, false, {1, 1, 2, 100}}};
  m.plan.masks = {{2, 100}};
  m.layout.masks = {0};
  kernels::cpu::SlotRuns runs[2] = {{{10, 50}, {20, 60}}, {{0, 0}, {30, 0}}};
  m.arena = reinterpret_cast<std::byte*>(runs);
  AttendStep step;
  step.key_cache = 0, step.value_cache = 1, step.heads = 4, step.kv_heads = 2, step.key_dim = 8, step.value_dim = 16, step.slots = 100;
  m.valid_rows = 1;
  EXPECT_EQ(step_work(m, step).bytes, uint64_t{20} * 2 * (8 + 16) * 2);
  EXPECT_EQ(step_work(m, step).operations, uint64_t{2} * 20 * 4 * (8 + 16));
  m.valid_rows = 2;
  EXPECT_EQ(step_work(m, step).bytes, uint64_t{60} * 2 * (8 + 16) * 2);
  EXPECT_EQ(step_work(m, step).operations, uint64_t{2} * (20 + 30) * 4 * (8 + 16));
}

}  // namespace
}  // namespace pteron::cpu_backend
