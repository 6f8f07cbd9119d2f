#include "kernels/cpu/kernels.h"

#include <gtest/gtest.h>

#include "kernels/cpu/kernel_cases.h"

namespace pteron::kernels::cpu {
namespace {

struct Shape {
  size_t rows, heads, key_dim, value_dim, slots;
};

enum class Pattern { causal, ring };

std::vector<SlotRuns> make_runs(Pattern pattern, const Shape& shape) {
  std::vector<SlotRuns> runs(shape.rows);
  const auto slots = static_cast<int32_t>(shape.slots);
  for (size_t row = 0; row < shape.rows; ++row) {
    const auto after = static_cast<int32_t>(shape.rows - 1 - row);
    // The ring has wrapped: newest in front, oldest behind, and a gap of rows that are not visible yet.
    if (pattern == Pattern::causal) runs[row] = {{0, 0}, {slots - after, 0}};
    else runs[row] = {{0, slots / 2 + 1}, {std::max(1, slots / 3 - after), slots}};
  }
  return runs;
}

template <class T>
std::vector<T> stored(const std::vector<float>& x, void (*convert)(const float*, size_t, T*)) {
  std::vector<T> out(x.size());
  convert(x.data(), x.size(), out.data());
  return out;
}

using Attend = void (*)(const AttentionArgs&);

// The attention of all queries over the whole range in `splits` parts, joined.
std::vector<float> attend_all(const KernelTable& table, Attend attend, const Shape& shape, AttentionArgs args, size_t splits) {
  const size_t queries = shape.rows * shape.heads, state = attention_state_floats(shape.value_dim);
  std::vector<float> states(splits * queries * state), out(queries * shape.value_dim);
  Aligned<float> scratch(attention_scratch_floats(shape.rows, shape.heads, shape.key_dim, shape.value_dim));
  args.scratch = scratch.data();
  for (size_t i = 0; i < splits; ++i) {
    args.slot_begin = shape.slots * i / splits;
    args.slot_end = shape.slots * (i + 1) / splits;
    args.state = &states[i * queries * state];
    attend(args);
  }
  for (size_t q = 0; q < queries; ++q) {
    table.attention_join({.state = &states[q * state], .splits = splits, .split_stride = queries * state, .value_dim = shape.value_dim,
                          .out = &out[q * shape.value_dim]});
  }
  return out;
}

// The same with each row alone and block by block.
std::vector<float> attend_alone(const KernelTable& table, Attend attend, Shape shape, AttentionArgs args) {
  std::vector<float> out;
  const size_t rows = shape.rows, state = attention_state_floats(shape.value_dim), blocks = (shape.slots + kAttentionBlock - 1) / kAttentionBlock;
  shape.rows = args.rows = 1;
  Aligned<float> scratch(attention_scratch_floats(1, shape.heads, shape.key_dim, shape.value_dim));
  args.scratch = scratch.data();
  for (size_t row = 0; row < rows; ++row, args.query += args.query_stride, ++args.runs) {
    std::vector<float> states(blocks * shape.heads * state), values(shape.heads * shape.value_dim);
    for (size_t i = 0; i < blocks; ++i) {
      args.slot_begin = i * kAttentionBlock;
      args.slot_end = std::min(shape.slots, args.slot_begin + kAttentionBlock);
      args.state = &states[i * shape.heads * state];
      attend(args);
    }
    for (size_t head = 0; head < shape.heads; ++head) {
      table.attention_join({.state = &states[head * state], .splits = blocks, .split_stride = shape.heads * state, .value_dim = shape.value_dim, .out = &values[head * shape.value_dim]});
    }
    out.insert(out.end(), values.begin(), values.end());
  }
  return out;
}

template <class T>
void check_attention(const KernelTable& table, const KernelTable& reference, Attend attend, Attend expected, void (*convert)(const float*, size_t, T*)) {
  for (const Shape& shape : {Shape{1, 1, 64, 64, 1}, Shape{1, 3, 64, 64, 100}, Shape{1, 9, 20, 12, 130}, Shape{5, 3, 64, 64, 64},
                             Shape{32, 3, 64, 64, 200}, Shape{7, 2, 24, 40, 90}, Shape{16, 1, 6, 5, 77}, Shape{3, 4, 256, 256, 150}}) {
    for (const Pattern pattern : {Pattern::causal, Pattern::ring}) {
      if (pattern == Pattern::ring && shape.slots < 8) continue;
      for (const float cap : {0.0f, 5.0f}) {
        SCOPED_TRACE(testing::Message() << shape.rows << " rows, " << shape.heads << " heads of " << shape.key_dim << ", " << shape.slots << " slots");
        const auto query = random_floats(shape.rows * (shape.heads * shape.key_dim + 3), 1, 2);
        const auto keys = stored<T>(random_floats(shape.slots * shape.key_dim, 2), convert);
        const auto values = stored<T>(random_floats(shape.slots * shape.value_dim, 3), convert);
        const auto bias = random_floats(shape.heads * shape.slots, 4);
        const auto runs = make_runs(pattern, shape);
        const AttentionArgs args{.query = query.data(), .query_stride = shape.heads * shape.key_dim + 3, .rows = shape.rows, .heads = shape.heads,
                                 .key_dim = shape.key_dim, .value_dim = shape.value_dim, .keys = keys.data(), .values = values.data(),
                                 .runs = runs.data(), .slot_begin = 0, .slot_end = 0, .scale = 0.2f, .softcap = cap,
                                 .bias = cap > 0 ? bias.data() : nullptr, .bias_stride = shape.slots, .state = nullptr, .scratch = nullptr};
        const auto plain = attend_all(reference, expected, shape, args, 1);
        for (const size_t splits : {size_t{1}, size_t{3}}) {
          const auto found = attend_all(table, attend, shape, args, splits);
          for (size_t i = 0; i < plain.size(); ++i) ASSERT_NEAR(found[i], plain[i], 2e-5f) << i << " in " << splits << " parts";
        }
        ASSERT_EQ(attend_alone(table, attend, shape, args), attend_all(table, attend, shape, args, 1)) << "rows alone";
      }
    }
  }
}

}  // namespace

void check_attention_float32(const KernelTable& table, const KernelTable& reference) {
  check_attention<float>(table, reference, table.attention_float32, reference.attention_float32,
                         [](const float* x, size_t n, float* y) { std::copy(x, x + n, y); });
}
void check_attention_float16(const KernelTable& table, const KernelTable& reference) {
  check_attention<uint16_t>(table, reference, table.attention_float16, reference.attention_float16, reference.to_float16);
}
void check_attention_bfloat16(const KernelTable& table, const KernelTable& reference) {
  check_attention<uint16_t>(table, reference, table.attention_bfloat16, reference.attention_bfloat16, reference.to_bfloat16);
}

void check_attention_join(const KernelTable& table, const KernelTable& reference) {
  // Two ranges, and a third that saw nothing.
  const size_t n = 10;
  std::vector<float> states = random_floats(3 * (n + 2), 1), found(n), plain(n);
  states[n] = 3.0f;
  states[n + 1] = 2.0f;
  states[2 * n + 2] = 1.0f;
  states[2 * n + 3] = 4.0f;
  states[3 * n + 4] = -std::numeric_limits<float>::infinity();
  states[3 * n + 5] = 0.0f;
  table.attention_join({.state = states.data(), .splits = 3, .split_stride = n + 2, .value_dim = n, .out = found.data()});
  reference.attention_join({.state = states.data(), .splits = 3, .split_stride = n + 2, .value_dim = n, .out = plain.data()});
  for (size_t i = 0; i < n; ++i) EXPECT_NEAR(found[i], plain[i], 1e-6f);
}

TEST(Attention, HiddenSlotsDoNotReachTheResult) {
  for (const CpuTarget target : {CpuTarget::scalar, CpuTarget::avx2, CpuTarget::avx512vnni, CpuTarget::neon}) {
    const KernelTable* table = kernels_for(target);
    if (table == nullptr) continue;
    const Shape shape{8, 2, 16, 16, 96};
    const auto query = random_floats(shape.rows * 32, 1);
    auto keys = random_floats(shape.slots * 16, 2), values = random_floats(shape.slots * 16, 3);
    std::vector<SlotRuns> runs(shape.rows, SlotRuns{{10, 80}, {40, 90}});
    AttentionArgs args{.query = query.data(), .query_stride = 32, .rows = 8, .heads = 2, .key_dim = 16, .value_dim = 16, .keys = keys.data(),
                       .values = values.data(), .runs = runs.data(), .slot_begin = 0, .slot_end = 0, .scale = 1, .softcap = 0, .bias = nullptr,
                       .bias_stride = 0, .state = nullptr, .scratch = nullptr};
    const auto before = attend_all(*table, table->attention_float32, shape, args, 1);
    for (size_t slot = 0; slot < shape.slots; ++slot) {
      if ((slot >= 10 && slot < 40) || (slot >= 80 && slot < 90)) continue;
      for (size_t d = 0; d < 16; ++d) keys[slot * 16 + d] = values[slot * 16 + d] = 1e30f;
    }
    EXPECT_EQ(attend_all(*table, table->attention_float32, shape, args, 1), before) << cpu_target_name(target);
  }
}

}  // namespace pteron::kernels::cpu
