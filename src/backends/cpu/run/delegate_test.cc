#include "backends/cpu/run/delegate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "backends/cpu/payload/plan.h"
#include "kernels/cpu/kernel_cases.h"

namespace pteron::cpu_backend {
namespace {

using kernels::cpu::Aligned;
using kernels::cpu::random_floats;
using kernels::cpu::random_weight;

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

// Random weights under the plan's keys.
struct Weights {
  std::map<std::string, Aligned<std::byte>> data;
  std::map<std::string, size_t> sizes;
  explicit Weights(const Plan& plan) {
    uint32_t seed = 1;
    for (const TensorRef& t : plan.tensors) {
      std::vector<std::byte> bytes;
      if (t.packed) {
        bytes = random_weight(t.encoding, t.rows, t.cols, ++seed);
      } else {
        const auto floats = random_floats(size_t{t.rows} * t.cols, ++seed, 0.5f);
        bytes.assign(reinterpret_cast<const std::byte*>(floats.data()), reinterpret_cast<const std::byte*>(floats.data() + floats.size()));
      }
      auto [it, fresh] = data.emplace(t.key, bytes.size());
      std::memcpy(it->second.data(), bytes.data(), bytes.size());
      sizes[t.key] = bytes.size();
    }
  }
};

class Context : public runtime::InitContext {
 public:
  Context(Weights& weights, size_t threads) : weights_(weights), pool_(threads) {}
  std::string_view method_name() const override { return "forward"; }
  Allocator& allocator() const override { return host_allocator(); }
  ThreadPool& threads() const override { return pool_; }
  Result<ByteSpan> named_data(std::string_view key) const override {
    const auto it = weights_.data.find(std::string(key));
    if (it == weights_.data.end()) return Status::error(Code::not_found, "no such data", {.field = std::string(key)});
    return ByteSpan(it->second.data() + shift, weights_.sizes.at(std::string(key)) - shorter);
  }
  std::span<const runtime::BackendOption* const> options() const override { return given; }
  std::vector<const runtime::BackendOption*> given;
  size_t shift = 0, shorter = 0;

 private:
  Weights& weights_;
  mutable ThreadPool pool_;
};

// One delegate with its arguments and caches.
class Session {
 public:
  Session(const Plan& plan, Weights& weights, size_t threads) : plan_(plan), payload_(write_plan(plan)), context_(weights, threads) {
    auto made = run_backend().init(payload_, {}, context_);
    EXPECT_TRUE(made.ok()) << made.status().message();
    if (made.ok()) delegate_ = std::move(made).value();
    for (const Argument& a : plan.arguments) {
      memory_.emplace_back(a.elements() * element_size(a.dtype));
      std::memset(memory_.back().data(), 0, a.elements() * element_size(a.dtype));
      std::vector<uint8_t> order(a.sizes.size());
      for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<uint8_t>(i);
      tensors_.push_back(std::make_unique<runtime::Tensor>(a.dtype, a.sizes, order, false));
      tensors_.back()->set_data(memory_.back().data());
      values_.emplace_back(tensors_.back().get());
    }
    for (runtime::Value& value : values_) pointers_.push_back(&value);
  }

  template <class T>
  T* data(size_t argument) { return reinterpret_cast<T*>(memory_[argument].data()); }
  std::vector<runtime::Value*>& arguments() { return pointers_; }
  Status execute() { return delegate_->execute(pointers_); }

  // Feeds `ids` from position `start` on; the rows after them hold `pad`.
  Status call(int64_t start, const std::vector<int64_t>& ids, int64_t pad = 0) {
    for (size_t row = 0; row < plan_.rows; ++row) {
      const int64_t position = start + static_cast<int64_t>(row);
      data<int64_t>(0)[row] = row < ids.size() ? ids[row] : pad;
      data<int64_t>(1)[row] = position;
      for (int64_t slot = 0; slot < kSlots; ++slot) data<float>(2)[row * kSlots + static_cast<size_t>(slot)] = slot <= position ? 0 : std::numeric_limits<float>::lowest();
    }
    data<int64_t>(5)[0] = static_cast<int64_t>(ids.size()) - 1;
    return execute();
  }
  std::vector<float> logits() { return {data<float>(6), data<float>(6) + kVocab}; }
  Context& context() { return context_; }

 private:
  Plan plan_;
  std::vector<std::byte> payload_;
  Context context_;
  std::unique_ptr<runtime::Delegate> delegate_;
  std::vector<Aligned<std::byte>> memory_;
  std::vector<std::unique_ptr<runtime::Tensor>> tensors_;
  std::vector<runtime::Value> values_;
  std::vector<runtime::Value*> pointers_;
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
