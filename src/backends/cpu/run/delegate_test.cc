#include "backends/cpu/run/delegate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "backends/cpu/run/plan_for_test.h"

namespace pteron::cpu_backend {
namespace {

constexpr uint32_t kRows = 8, kHidden = 64, kHeads = 4, kKvHeads = 2, kDim = 16, kSlots = 1100, kInner = 96, kVocab = 100;

// A decoder layer with everything in it, over `rows` rows.
Plan layer_plan(uint32_t rows, ScalarType cache = ScalarType::Half) {
  Plan p;
  p.rows = rows;
  p.tensors = {{"embed", true, PackedEncoding::int8, kVocab, kHidden},      {"norm", false, PackedEncoding::float32, 1, kHidden},
               {"q", true, PackedEncoding::int4_affine, kHeads * kDim, kHidden}, {"kv", true, PackedEncoding::int5, kKvHeads * kDim, kHidden},
               {"freq", false, PackedEncoding::float32, 1, kDim / 2},       {"up", true, PackedEncoding::int4, kInner, kHidden},
               {"down", true, PackedEncoding::int6, kHidden, kInner},       {"o", true, PackedEncoding::float16, kHidden, kHeads * kDim}};
  const auto i = [](uint32_t n) { return static_cast<int32_t>(n); };
  p.arguments = {{ScalarType::Long, false, {1, i(rows)}}, {ScalarType::Long, false, {1, i(rows)}}, {ScalarType::Float, false, {1, 1, i(rows), i(kSlots)}},
                 {cache, false, {1, i(kKvHeads), i(kSlots), i(kDim)}}, {cache, false, {1, i(kKvHeads), i(kSlots), i(kDim)}},
                 {ScalarType::Long, false, {1}}, {ScalarType::Float, true, {1, 1, i(kVocab)}}};
  p.last_row = 5;
  const auto add = [&](uint32_t width, bool single, BufferFormat format = BufferFormat::float32) {
    p.buffers.push_back({kAbsent, p.arena_bytes, width, single && rows > 1, format});
    p.arena_bytes += (rows * buffer_row_bytes(p.buffers.back()) + 63) / 64 * 64;
  };
  add(kHidden, false), add(kHeads * kDim, false), add(kKvHeads * kDim, false), add(kKvHeads * kDim, false), add(kHeads * kDim, false);
  add(kInner, false, BufferFormat::quantized), add(kHidden, true);
  p.buffers.push_back({6, 0, kVocab, rows > 1, BufferFormat::float32});
  p.ropes = {{4, 1, 1.0f}};
  p.masks = {{2, kSlots}};
  const Norm norm{NormKind::rms, 1, kAbsent, 1e-5f, 0, kHidden};
  AttendStep attend;
  attend.queries = 1, attend.keys = 2, attend.values = 3, attend.out = 4, attend.query_rope = attend.key_rope = 0;
  attend.key_cache = 3, attend.value_cache = 4, attend.positions = 1, attend.heads = kHeads, attend.kv_heads = kKvHeads;
  attend.key_dim = attend.value_dim = kDim, attend.slots = kSlots, attend.scale = 0.25f;
  p.steps = {EmbedStep{0, 0, 0, 2.0f}, ProjectStep{0, norm, {{2, kAbsent, 1}, {3, kAbsent, 2}, {3, kAbsent, 3}}, ProjectMode::store, Activation::none}, attend,
             ProjectStep{4, {}, {{7, kAbsent, 0}}, ProjectMode::accumulate, Activation::none},
             ProjectStep{0, norm, {{5, kAbsent, 5}, {5, kAbsent, 5}}, ProjectMode::gated, Activation::silu},
             ProjectStep{5, {}, {{6, kAbsent, 0}}, ProjectMode::accumulate, Activation::none}, SelectStep{0, 5, 6},
             ProjectStep{6, norm, {{0, kAbsent, 7}}, ProjectMode::store, Activation::none}};
  return p;
}

// One delegate with its arguments and caches.
class Session : public PlanRun {
 public:
  using PlanRun::PlanRun;

  // Feeds `ids` from position `start` on; the rows after them hold `pad`.
  Status call(int64_t start, const std::vector<int64_t>& ids, int64_t pad = 0) {
    for (size_t row = 0; row < plan().rows; ++row) {
      const int64_t position = start + static_cast<int64_t>(row);
      data<int64_t>(0)[row] = row < ids.size() ? ids[row] : pad;
      data<int64_t>(1)[row] = position;
      for (int64_t slot = 0; slot < kSlots; ++slot) data<float>(2)[row * kSlots + static_cast<size_t>(slot)] = slot <= position ? 0 : std::numeric_limits<float>::lowest();
    }
    data<int64_t>(5)[0] = static_cast<int64_t>(ids.size()) - 1;
    return execute();
  }
  std::vector<float> logits() { return floats(6); }
};

std::vector<int64_t> some_ids(size_t n) {
  std::vector<int64_t> ids(n);
  for (size_t i = 0; i < n; ++i) ids[i] = static_cast<int64_t>((i * 37 + 11) % kVocab);
  return ids;
}

TEST(CpuDelegate, ResultsDoNotDependOnTheNumberOfThreads) {
  Weights weights(layer_plan(kRows));
  for (const ScalarType cache : {ScalarType::Half, ScalarType::BFloat16, ScalarType::Float}) {
    Session one(layer_plan(kRows, cache), weights, 1), two(layer_plan(kRows, cache), weights, 2), three(layer_plan(kRows, cache), weights, 3);
    for (int64_t start = 0; start < 40; start += kRows) {
      for (Session* s : {&one, &two, &three}) ASSERT_TRUE(s->call(start, some_ids(kRows)).ok());
      ASSERT_EQ(one.logits(), two.logits());
      ASSERT_EQ(one.logits(), three.logits());
    }
    for (const float value : one.logits()) EXPECT_TRUE(std::isfinite(value));
  }
}

TEST(CpuDelegate, RowByRowAgreesWithAChunkAlsoInALongCache) {
  Weights weights(layer_plan(kRows));
  Session chunk(layer_plan(kRows), weights, 2), single(layer_plan(1), weights, 2);
  // A cache that is full up to slot 1000: several stretches of slots for a single row.
  for (Session* s : {&chunk, &single}) {
    for (size_t cache : {size_t{3}, size_t{4}}) {
      const auto floats = random_floats(kKvHeads * kSlots * kDim, static_cast<uint32_t>(cache), 0.5f);
      for (size_t i = 0; i < floats.size(); ++i) s->data<uint16_t>(cache)[i] = float_to_half(floats[i]);
    }
  }
  const auto ids = some_ids(kRows);
  ASSERT_TRUE(chunk.call(1000, ids).ok());
  for (size_t i = 0; i < ids.size(); ++i) ASSERT_TRUE(single.call(1000 + static_cast<int64_t>(i), {ids[i]}).ok());
  const auto a = chunk.logits(), b = single.logits();
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 2e-3f * (1 + std::abs(a[i]))) << i;
  EXPECT_EQ(std::memcmp(chunk.data<uint16_t>(3), single.data<uint16_t>(3), size_t{kSlots} * kDim * 2), 0) << "keys of the first head";
}

TEST(CpuDelegate, PaddedRowsAreNeitherComputedNorWritten) {
  Weights weights(layer_plan(kRows));
  Session padded(layer_plan(kRows), weights, 2), other(layer_plan(kRows), weights, 2);
  const auto ids = some_ids(3);
  ASSERT_TRUE(padded.call(0, ids, 1).ok());
  ASSERT_TRUE(other.call(0, ids, 99).ok());
  EXPECT_EQ(padded.logits(), other.logits());
  for (size_t i = 3 * kDim; i < size_t{kSlots} * kDim; ++i) ASSERT_EQ(padded.data<uint16_t>(3)[i], 0) << i;
  ASSERT_NE(padded.data<uint16_t>(3)[2 * kDim], 0);
  const auto before = padded.logits();
  ASSERT_TRUE(padded.call(0, ids, 5).ok());
  EXPECT_EQ(padded.logits(), before);
}

TEST(CpuDelegate, WrongArgumentsAreErrors) {
  Weights weights(layer_plan(kRows));
  Session s(layer_plan(kRows), weights, 2);
  ASSERT_TRUE(s.call(0, some_ids(kRows)).ok());
  const auto field = [&](const char* what) {
    const Status status = s.execute();
    EXPECT_EQ(status.code(), Code::invalid_argument) << what;
    return status.detail().field;
  };
  s.data<int64_t>(0)[2] = kVocab;
  EXPECT_EQ(field("id"), "id of row 2");
  s.data<int64_t>(0)[2] = 0;
  s.data<int64_t>(1)[1] = -1;
  EXPECT_EQ(field("position"), "position of row 1");
  s.data<int64_t>(1)[1] = 1;
  s.data<int64_t>(5)[0] = kRows;
  EXPECT_EQ(field("last row"), "last_row");
  s.data<int64_t>(5)[0] = kRows - 1;
  s.data<float>(2)[3] = -1.0f;
  EXPECT_EQ(field("mask"), "mask, row 0");
  s.data<float>(2)[3] = std::numeric_limits<float>::lowest();
  s.arguments().pop_back();
  EXPECT_EQ(field("count"), "count");
}

TEST(CpuDelegate, ConstantsAreReadButNotWritten) {
  Weights weights(layer_plan(kRows));
  Session s(layer_plan(kRows), weights, 1);
  ASSERT_TRUE(s.call(0, some_ids(kRows)).ok());
  const auto logits = s.logits();
  const auto lock = [&](size_t argument) {
    s.tensor(argument).set_data(s.tensor(argument).data(), false);
    const Status status = s.execute();
    s.tensor(argument).set_data(s.tensor(argument).data(), true);
    return status;
  };
  for (const size_t cache : {size_t{3}, size_t{4}, size_t{6}}) {
    EXPECT_EQ(lock(cache).code(), Code::invalid_argument);
    EXPECT_EQ(lock(cache).detail().field, "arguments[" + std::to_string(cache) + "]");
  }
  for (const size_t read : {size_t{0}, size_t{1}, size_t{2}, size_t{5}}) EXPECT_TRUE(lock(read).ok()) << read;
  EXPECT_EQ(s.logits(), logits);
}

TEST(CpuDelegate, InitRefusesWrongWeightsAndOptions) {
  const Plan plan = layer_plan(kRows);
  Weights weights(plan);
  const auto payload = write_plan(plan);
  const auto init = [&](Context& context) { return run_backend().init(payload, {}, context).status(); };
  Context misaligned(weights, 1), small(weights, 1), optioned(weights, 1);
  misaligned.shift = 16;
  misaligned.shorter = 0;
  EXPECT_EQ(init(misaligned).code(), Code::invalid_data);
  EXPECT_EQ(init(misaligned).detail().field, "tensors[0] embed");
  small.shorter = 32;
  EXPECT_EQ(init(small).code(), Code::invalid_data);
  const runtime::BackendOption option{"PteronCpu", "turbo", true};
  optioned.given.push_back(&option);
  EXPECT_EQ(init(optioned).detail().field, "turbo");
  Weights missing(plan);
  missing.data.erase("down");
  Context without(missing, 1);
  EXPECT_EQ(init(without).code(), Code::not_found);
}

TEST(CpuDelegate, BrokenPayloadsAreRefusedAtInit) {
  const Plan plan = layer_plan(kRows);
  Weights weights(plan);
  Context context(weights, 1);
  auto payload = write_plan(plan);
  payload[4] = std::byte{99};
  EXPECT_EQ(run_backend().init(payload, {}, context).status().detail().field, "version");
}

}  // namespace
}  // namespace pteron::cpu_backend
