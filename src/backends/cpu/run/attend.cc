// Attention with what comes before it: queries and keys are normalised and rotated, keys and values go to their caches.
#include <algorithm>

#include "backends/cpu/run/machine.h"

namespace pteron::cpu_backend {
namespace {

using kernels::cpu::attention_state_floats;
using kernels::cpu::AttentionArgs;
using kernels::cpu::SlotRuns;

size_t slot_of(const Machine& m, const AttendStep& step, size_t row) { return static_cast<size_t>(m.integer(step.positions, row)) % step.slots; }

// Heads [first, first + heads) of one row, normalised and rotated, from `x` to `y` (which may be `x`).
void turn(const Machine& m, const Norm& norm, int32_t rope, bool interleaved, size_t row, const float* x, size_t dim, size_t first, size_t heads, float* y) {
  if (norm.kind != NormKind::none) normalize(m, norm, x, heads * dim, y, first);
  else if (x != y) std::copy(x, x + heads * dim, y);
  if (rope != kAbsent) rotate_heads(m, rope, interleaved, row, y, dim, heads);
}

AttentionArgs attention_args(const Worker& w, const AttendStep& step, size_t kv_head) {
  const Machine& m = w.machine;
  const size_t group = group_heads(step);
  const auto of_head = [&](int32_t cache, size_t dim) {
    const auto index = static_cast<size_t>(cache);
    return static_cast<const std::byte*>(m.arguments[index]) + kv_head * step.slots * dim * element_size(m.plan.arguments[index].dtype);
  };
  return {.query = nullptr, .query_stride = size_t{step.heads} * step.key_dim, .rows = 1, .heads = group, .key_dim = step.key_dim,
          .value_dim = step.value_dim, .keys = of_head(step.key_cache, step.key_dim), .values = of_head(step.value_cache, step.value_dim),
          .runs = m.runs(step.mask), .slot_begin = 0, .slot_end = 0, .scale = step.scale, .softcap = step.softcap,
          .bias = step.bias == kAbsent ? nullptr : m.vector(step.bias) + kv_head * group * step.slots, .bias_stride = step.slots, .state = nullptr,
          .scratch = w.local<float>(m.layout.attention)};
}

void attend(const Worker& w, const AttendStep& step, const AttentionArgs& args) {
  switch (w.machine.plan.arguments[static_cast<size_t>(step.key_cache)].dtype) {
    case ScalarType::Half: w.k.attention_float16(args); break;
    case ScalarType::BFloat16: w.k.attention_bfloat16(args); break;
    default: w.k.attention_float32(args);
  }
}

size_t first_slot(const SlotRuns& runs) { return static_cast<size_t>(runs.begin[0] != runs.end[0] ? runs.begin[0] : runs.begin[1]); }
size_t last_slot(const SlotRuns& runs) { return static_cast<size_t>(runs.end[1] != 0 ? runs.end[1] : runs.end[0]); }

// One row: the cache is cut into the blocks that many rows are handled by too, so that all workers have a part of a long one and the result is the same.
class SingleRow {
 public:
  SingleRow(Worker& w, const AttendStep& step)
      : w_(w), m_(w.machine), step_(step), group_(group_heads(step)), state_(attention_state_floats(step.value_dim)),
        writes_(step.keys != kAbsent), slot_(writes_ ? slot_of(m_, step, 0) : 0) {
    const SlotRuns& runs = m_.runs(step.mask)[0];
    size_t begin = first_slot(runs), end = last_slot(runs);
    if (writes_) begin = std::min(begin, slot_), end = std::max(end, slot_ + 1);
    first_ = begin / kSplitSlots;
    splits_ = (end + kSplitSlots - 1) / kSplitSlots - first_;
  }

  void run() {
    // Neighbouring stretches go to one worker, which then has asked for the next one's memory already.
    const size_t units = step_.kv_heads * splits_;
    w_.share(units, std::max<size_t>(1, units / 8), [&](size_t begin, size_t end) {
      for (size_t unit = begin; unit < end; ++unit) {
        const size_t kv_head = unit / splits_, split = unit % splits_;
        if (unit == begin || split == 0) turn_queries(kv_head);
        if (writes_ && slot_ / kSplitSlots == first_ + split) write_caches(kv_head);
        attend_split(kv_head, split);
        if (last_of_head(kv_head)) join(kv_head);
      }
    });
  }

 private:
  float* state(size_t split, size_t kv_head) const {
    return reinterpret_cast<float*>(m_.shared(m_.layout.states)) + (split * step_.heads + kv_head * group_) * state_;
  }
  float* queries() const { return w_.local<float>(m_.layout.queries); }

  void turn_queries(size_t kv_head) {
    const float* from = m_.floats(step_.queries) + kv_head * group_ * step_.key_dim;
    turn(m_, step_.query_norm, step_.query_rope, step_.interleaved, 0, from, step_.key_dim, kv_head * group_, group_, queries());
  }

  void write_caches(size_t kv_head) {
    float* const key = queries() + group_ * step_.key_dim;
    turn(m_, step_.key_norm, step_.key_rope, step_.interleaved, 0, m_.floats(step_.keys) + kv_head * step_.key_dim, step_.key_dim, kv_head, 1, key);
    write_cache_row(m_, step_.key_cache, kv_head, step_.slots, step_.key_dim, slot_, key);
    write_cache_row(m_, step_.value_cache, kv_head, step_.slots, step_.value_dim, slot_, m_.floats(step_.values) + kv_head * step_.value_dim);
  }

  void attend_split(size_t kv_head, size_t split) {
    AttentionArgs args = attention_args(w_, step_, kv_head);
    args.query = queries();
    args.slot_begin = (first_ + split) * kSplitSlots;
    args.slot_end = std::min<size_t>(args.slot_begin + kSplitSlots, step_.slots);
    args.state = state(split, kv_head);
    attend(w_, step_, args);
  }

  // Who finishes a head joins it.
  bool last_of_head(size_t kv_head) {
    if (splits_ == 1) return true;
    std::atomic<uint32_t>& finished = m_.finished[kv_head];
    if (finished.fetch_add(1, std::memory_order_acq_rel) + 1 < splits_) return false;
    finished.store(0, std::memory_order_relaxed);
    return true;
  }

  void join(size_t kv_head) {
    for (size_t head = 0; head < group_; ++head) {
      w_.k.attention_join({.state = state(0, kv_head) + head * state_, .splits = splits_, .split_stride = step_.heads * state_, .value_dim = step_.value_dim,
                           .out = m_.floats(step_.out) + (kv_head * group_ + head) * step_.value_dim});
    }
  }

  Worker& w_;
  const Machine& m_;
  const AttendStep& step_;
  const size_t group_, state_;
  const bool writes_;
  const size_t slot_;
  size_t first_ = 0, splits_ = 1;
};

void prepare_rows(Worker& w, const AttendStep& step, size_t rows) {
  const Machine& m = w.machine;
  w.share(rows, 4, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      float* const queries = m.floats(step.queries) + row * step.heads * step.key_dim;
      turn(m, step.query_norm, step.query_rope, step.interleaved, row, queries, step.key_dim, 0, step.heads, queries);
      if (step.keys == kAbsent) continue;
      float* const keys = m.floats(step.keys) + row * step.kv_heads * step.key_dim;
      const float* values = m.floats(step.values) + row * step.kv_heads * step.value_dim;
      turn(m, step.key_norm, step.key_rope, step.interleaved, row, keys, step.key_dim, 0, step.kv_heads, keys);
      const size_t slot = slot_of(m, step, row);
      for (size_t head = 0; head < step.kv_heads; ++head) {
        write_cache_row(m, step.key_cache, head, step.slots, step.key_dim, slot, keys + head * step.key_dim);
        write_cache_row(m, step.value_cache, head, step.slots, step.value_dim, slot, values + head * step.value_dim);
      }
    }
  });
}

void attend_block(Worker& w, const AttendStep& step, size_t kv_head, size_t row_begin, size_t row_end) {
  const Machine& m = w.machine;
  const size_t group = group_heads(step), state = attention_state_floats(step.value_dim);
  AttentionArgs args = attention_args(w, step, kv_head);
  args.query = m.floats(step.queries) + row_begin * args.query_stride + kv_head * group * step.key_dim;
  args.rows = row_end - row_begin;
  args.runs += row_begin;
  args.slot_begin = step.slots;
  for (size_t row = 0; row < args.rows; ++row) {
    args.slot_begin = std::min(args.slot_begin, first_slot(args.runs[row]));
    args.slot_end = std::max(args.slot_end, last_slot(args.runs[row]));
  }
  args.state = w.local<float>(m.layout.local_states);
  attend(w, step, args);
  for (size_t row = 0; row < args.rows; ++row) {
    for (size_t head = 0; head < group; ++head) {
      float* out = m.floats(step.out) + ((row_begin + row) * step.heads + kv_head * group + head) * step.value_dim;
      w.k.attention_join({.state = args.state + (row * group + head) * state, .splits = 1, .split_stride = 0, .value_dim = step.value_dim, .out = out});
    }
  }
}

}  // namespace

void run_step(Worker& w, const AttendStep& step) {
  const size_t rows = w.machine.valid_rows;
  if (rows == 1) return SingleRow(w, step).run();
  prepare_rows(w, step, rows);
  const size_t together = attend_rows(step, rows), blocks = (rows + together - 1) / together;
  w.share(step.kv_heads * blocks, 1, [&](size_t begin, size_t end) {
    for (size_t unit = begin; unit < end; ++unit) {
      // The last rows see most: they come first.
      const size_t block = blocks - 1 - unit / step.kv_heads;
      attend_block(w, step, unit % step.kv_heads, block * together, std::min(rows, (block + 1) * together));
    }
  });
}

}  // namespace pteron::cpu_backend
