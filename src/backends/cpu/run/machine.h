// One plan with everything that its steps touch: weights, arguments, arena and scratch. Made once, used by all workers of a call.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backends/cpu/payload/plan.h"
#include "base/status.h"
#include "base/thread_pool.h"
#include "kernels/cpu/kernels.h"
#include "pteron/allocator.h"

namespace pteron::cpu_backend {

inline constexpr size_t kSplitSlots = kernels::cpu::kAttentionBlock;  // slots of a cache that one worker reads for a single row
inline constexpr size_t kQueriesTogether = 144;  // queries that share an unpacked block of the cache
inline constexpr size_t kProjectColumns = 32;  // outputs that are activated (and quantised) at a time: a group
inline constexpr size_t kCounters = 4;

// Where things lie in memory that all workers share (beyond the plan's arena), and in each worker's own.
struct Layout {
  size_t inputs = 0;             // normalised or quantised rows of a projection
  size_t states = 0;             // attention states of a single row, by split and head
  std::vector<size_t> ropes;     // cos, then sin: [rows][half] each
  std::vector<size_t> masks;     // SlotRuns of each row
  size_t shared_bytes = 0;
  size_t row = 0;                // floats of the widest row
  size_t quantized = 0;          // one quantised row
  size_t matmul = 0;
  size_t columns = 0;            // two blocks of rows x kProjectColumns
  size_t attention = 0;          // scratch of the kernel, after the rotated queries and a key
  size_t queries = 0;
  size_t local_states = 0;
  size_t worker_bytes = 0;
};

// How many heads share a key/value head, and how many rows are attended to together.
inline size_t group_heads(const AttendStep& step) { return step.heads / step.kv_heads; }
size_t attend_rows(const AttendStep& step, size_t rows);
size_t attend_splits(const AttendStep& step);

struct Machine {
  Plan plan;
  const kernels::cpu::KernelTable* kernels = nullptr;
  std::vector<const std::byte*> tensors;
  Layout layout;
  std::byte* arena = nullptr;     // the plan's arena, then what is shared
  std::byte* workers = nullptr;   // worker_bytes for each thread
  std::unique_ptr<std::atomic<uint32_t>[]> finished;  // splits of each key/value head that are done
  // Of the current call:
  std::vector<void*> arguments;
  std::vector<std::byte*> buffers;
  size_t valid_rows = 1;

  std::byte* shared(size_t offset) const { return arena + plan.arena_bytes + offset; }
  const std::byte* tensor(int32_t index) const { return tensors[static_cast<size_t>(index)]; }
  const float* vector(int32_t index) const { return index == kAbsent ? nullptr : reinterpret_cast<const float*>(tensor(index)); }
  const TensorRef& tensor_ref(int32_t index) const { return plan.tensors[static_cast<size_t>(index)]; }
  const Buffer& buffer(int32_t index) const { return plan.buffers[static_cast<size_t>(index)]; }
  std::byte* bytes(int32_t buffer_index) const { return buffers[static_cast<size_t>(buffer_index)]; }
  float* floats(int32_t buffer_index) const { return reinterpret_cast<float*>(bytes(buffer_index)); }
  // Rows of a buffer that a call computes.
  size_t rows_of(int32_t buffer_index) const { return buffer(buffer_index).single_row ? 1 : valid_rows; }
  int64_t integer(int32_t argument, size_t index) const;
  const kernels::cpu::SlotRuns* runs(int32_t mask) const {
    return reinterpret_cast<const kernels::cpu::SlotRuns*>(shared(layout.masks[static_cast<size_t>(mask)]));
  }
};

Layout make_layout(const Plan& plan);

// One thread's part of a call. All workers walk through the same phases; within one they share out the items, and they meet at its end.
class Worker {
 public:
  Worker(const Machine& machine_in, size_t index_in, std::atomic<size_t>* counters, SpinBarrier& barrier)
      : machine(machine_in), k(*machine_in.kernels), index(index_in), memory_(machine_in.workers + index_in * machine_in.layout.worker_bytes),
        counters_(counters), barrier_(barrier) {}

  // Calls f(begin, end) for stretches of at most `chunk` items until all are taken.
  template <class F>
  void share(size_t items, size_t chunk, F&& f) {
    std::atomic<size_t>& next = counters_[phase_ % kCounters];
    for (size_t begin = next.fetch_add(chunk, std::memory_order_relaxed); begin < items; begin = next.fetch_add(chunk, std::memory_order_relaxed)) {
      f(begin, begin + chunk < items ? begin + chunk : items);
    }
    barrier_.wait();
    // Nobody comes back to this counter before the next meeting.
    if (index == 0) next.store(0, std::memory_order_relaxed);
    ++phase_;
  }

  template <class T = std::byte>
  T* local(size_t offset) const { return reinterpret_cast<T*>(memory_ + offset); }

  const Machine& machine;
  const kernels::cpu::KernelTable& k;
  const size_t index;

 private:
  std::byte* memory_;
  std::atomic<size_t>* counters_;
  SpinBarrier& barrier_;
  size_t phase_ = 0;
};

void run_step(Worker& worker, const EmbedStep& step);
void run_step(Worker& worker, const NormStep& step);
void run_step(Worker& worker, const ProjectStep& step);
void run_step(Worker& worker, const RopeStep& step);
void run_step(Worker& worker, const WriteStep& step);
void run_step(Worker& worker, const AttendStep& step);
void run_step(Worker& worker, const MapStep& step);
void run_step(Worker& worker, const CombineStep& step);
void run_step(Worker& worker, const SelectStep& step);
void run_step(Worker& worker, const ConvertStep& step);

// Pieces that several steps use.
// Normalises `width` values stretch by stretch; `first` is the number of the first stretch where the weight has a row for each.
void normalize(const Machine& machine, const Norm& norm, const float* x, size_t width, float* y, size_t first = 0);
void rotate_heads(const Machine& machine, int32_t rope, bool interleaved, size_t row, float* x, size_t head_width, size_t heads);
void write_cache_row(const Machine& machine, int32_t cache, size_t head, size_t slots, size_t dim, size_t slot, const float* x);
void activate(const kernels::cpu::KernelTable& k, Activation activation, const float* x, size_t n, float* y);
void activate_gated(const kernels::cpu::KernelTable& k, Activation activation, const float* gate, const float* up, size_t n, float* y);

}  // namespace pteron::cpu_backend
