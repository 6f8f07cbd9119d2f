#include "backends/cpu/run/machine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "backends/cpu/run/plan_for_test.h"

namespace pteron::cpu_backend {
namespace {

// A projection and an attention over so many rows.
Plan plan_of(uint32_t rows) {
  PlanBuilder b(rows);
  const int32_t w = b.tensor(PackedEncoding::int4, 48, 100), in = b.handed(100, false), out = b.buffer(48), attended = b.buffer(48);
  const auto n = static_cast<int32_t>(rows);
  const int32_t positions = b.argument(ScalarType::Int, {1, n}), mask = b.argument(ScalarType::Bool, {1, 1, n, 500});
  const int32_t keys = b.argument(ScalarType::Half, {1, 1, 500, 8}), values = b.argument(ScalarType::Half, {1, 1, 500, 8});
  b.plan.ropes = {{b.plain(1, 4), positions, 1}, {b.plain(1, 3), positions, 1}};
  b.plan.masks = {{mask, 500}};
  AttendStep attend;
  attend.queries = out, attend.out = attended, attend.key_cache = keys, attend.value_cache = values, attend.heads = 6, attend.kv_heads = 1;
  attend.key_dim = attend.value_dim = 8, attend.slots = 500;
  b.plan.steps = {ProjectStep{in, {}, {{w, kAbsent, out}}, ProjectMode::store, Activation::none}, attend};
  return b.plan;
}

TEST(Machine, SharedPlacesLieOneAfterAnother) {
  for (const uint32_t rows : {1u, 5u, 128u}) {
    const Layout layout = make_layout(plan_of(rows));
    std::vector<std::pair<size_t, size_t>> places = {{layout.inputs, rows * kernels::cpu::quantized_row_bytes(100)},
                                                     {layout.states, 4 * 6 * kernels::cpu::attention_state_floats(8) * sizeof(float)},
                                                     {layout.ropes[0], size_t{2} * rows * 4 * sizeof(float)},
                                                     {layout.ropes[1], size_t{2} * rows * 3 * sizeof(float)},
                                                     {layout.masks[0], rows * sizeof(kernels::cpu::SlotRuns)}};
    std::sort(places.begin(), places.end());
    places.push_back({layout.shared_bytes, 0});
    for (size_t i = 0; i + 1 < places.size(); ++i) {
      EXPECT_EQ(places[i].first % 64, 0u);
      EXPECT_LE(places[i].first + places[i].second, places[i + 1].first) << i << " of " << rows << " rows";
    }
    EXPECT_EQ(layout.worker_bytes % 64, 0u);
    for (const size_t own : {layout.row, layout.quantized, layout.matmul, layout.columns, layout.queries, layout.attention, layout.local_states}) {
      EXPECT_EQ(own % 64, 0u);
      EXPECT_LT(own, layout.worker_bytes);
    }
  }
}

// Scratch is laid out for the plan's rows, and used for any number of valid ones.
TEST(Machine, NoNumberOfRowsTakesMoreThanWasLaidOut) {
  for (const uint32_t heads : {1u, 3u, 9u, 143u, 144u, 145u, 500u}) {
    AttendStep step;
    step.heads = heads, step.kv_heads = 1;
    for (size_t rows = 1; rows <= 300; ++rows) {
      const size_t together = attend_rows(step, rows);
      ASSERT_GE(together, 1u);
      ASSERT_LE(together, (kQueriesTogether + heads - 1) / heads);
      ASSERT_LE(together, rows);
    }
  }
}

TEST(Machine, SplitsCoverTheCache) {
  AttendStep step;
  for (const uint32_t slots : {1u, 127u, 128u, 129u, 4096u}) {
    step.slots = slots;
    EXPECT_GE(attend_splits(step) * kSplitSlots, slots);
    EXPECT_LT((attend_splits(step) - 1) * kSplitSlots, slots);
  }
}

TEST(Machine, IntegersAreReadInTheirWidth) {
  Machine m;
  m.plan.arguments = {{ScalarType::Long, false, {2}}, {ScalarType::Int, false, {2}}};
  int64_t wide[] = {5, int64_t{1} << 40};
  int32_t narrow[] = {-3, 7};
  m.arguments = {wide, narrow};
  EXPECT_EQ(m.integer(0, 1), int64_t{1} << 40);
  EXPECT_EQ(m.integer(1, 0), -3);
  EXPECT_EQ(m.integer(1, 1), 7);
}

TEST(Worker, ItemsAreSharedOutOnceEachPhaseAfterPhase) {
  constexpr size_t kThreads = 3, kItems = 101, kPhases = 12;
  Machine machine;
  const kernels::cpu::KernelTable& table = *kernels::cpu::kernels_for(CpuTarget::scalar);
  machine.kernels = &table;
  std::atomic<size_t> counters[kCounters] = {};
  std::vector<std::atomic<int>> taken(kItems * kPhases);
  ThreadPool pool(kThreads);
  SpinBarrier barrier(kThreads);
  std::atomic<size_t> early{0};
  pool.run(kThreads, [&](size_t index) {
    Worker worker(machine, index, counters, barrier);
    for (size_t phase = 0; phase < kPhases; ++phase) {
      worker.share(kItems, phase % 5 + 1, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) taken[phase * kItems + i].fetch_add(1);
      });
      // After the meeting all of the phase is done.
      for (size_t i = 0; i < kItems; ++i) early += taken[phase * kItems + i].load() != 1;
    }
  });
  EXPECT_EQ(early.load(), 0u);
}

}  // namespace
}  // namespace pteron::cpu_backend
