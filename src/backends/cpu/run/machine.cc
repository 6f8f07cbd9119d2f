#include "backends/cpu/run/machine.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/checked.h"

namespace pteron::cpu_backend {
namespace {

using kernels::cpu::attention_scratch_floats;
using kernels::cpu::attention_state_floats;
using kernels::cpu::matmul_scratch_bytes;
using kernels::cpu::quantized_row_bytes;

size_t place(size_t& end, size_t bytes) {
  const size_t offset = end;
  end = align_up(end + bytes, 64);
  return offset;
}

struct Sizes {
  size_t inputs = 0, states = 0, row = 0, quantized = 0, matmul = 0, columns = 0, attention = 0, queries = 0, local_states = 0;
};

void grow(size_t& size, size_t bytes) { size = std::max(size, bytes); }

void measure(const Plan& plan, const ProjectStep& step, Sizes& sizes) {
  const Buffer& in = plan.buffers[static_cast<size_t>(step.in)];
  const size_t rows = in.single_row ? 1 : plan.rows;
  grow(sizes.inputs, rows * std::max<size_t>(quantized_row_bytes(in.width), in.width * sizeof(float)));
  grow(sizes.quantized, quantized_row_bytes(in.width));
  grow(sizes.matmul, matmul_scratch_bytes(in.width));
  grow(sizes.columns, 2 * rows * kProjectColumns * sizeof(float));
}

void measure(const Plan& plan, const AttendStep& step, Sizes& sizes) {
  // `attend_rows` never gives more than this, whatever the number of valid rows.
  const size_t group = group_heads(step), rows = std::min<size_t>(plan.rows, (kQueriesTogether + group - 1) / group), state = attention_state_floats(step.value_dim);
  grow(sizes.attention, attention_scratch_floats(rows, group, step.key_dim, step.value_dim) * sizeof(float));
  grow(sizes.queries, (group + 1) * step.key_dim * sizeof(float));
  grow(sizes.local_states, rows * group * state * sizeof(float));
  grow(sizes.states, attend_splits(step) * step.heads * state * sizeof(float));
}

template <class T>
void measure(const Plan&, const T&, Sizes&) {}

}  // namespace

size_t attend_rows(const AttendStep& step, size_t rows) {
  const size_t blocks = std::max<size_t>(1, (rows * group_heads(step) + kQueriesTogether - 1) / kQueriesTogether);
  return std::max<size_t>(1, (rows + blocks - 1) / blocks);
}

size_t attend_splits(const AttendStep& step) { return (step.slots + kSplitSlots - 1) / kSplitSlots; }

int64_t Machine::integer(int32_t argument, size_t index) const {
  const auto at = static_cast<size_t>(argument);
  return plan.arguments[at].dtype == ScalarType::Long ? static_cast<const int64_t*>(arguments[at])[index] : static_cast<const int32_t*>(arguments[at])[index];
}

Layout make_layout(const Plan& plan) {
  Sizes sizes;
  for (const Buffer& buffer : plan.buffers) grow(sizes.row, buffer.width * sizeof(float));
  for (const Step& step : plan.steps) visit_step(step, [&](const auto& kind) { measure(plan, kind, sizes); });
  Layout out;
  out.inputs = place(out.shared_bytes, sizes.inputs);
  out.states = place(out.shared_bytes, sizes.states);
  for (const Rope& rope : plan.ropes) {
    out.ropes.push_back(place(out.shared_bytes, size_t{2} * plan.rows * plan.tensors[static_cast<size_t>(rope.frequencies)].cols * sizeof(float)));
  }
  for (size_t i = 0; i < plan.masks.size(); ++i) out.masks.push_back(place(out.shared_bytes, plan.rows * sizeof(kernels::cpu::SlotRuns)));
  out.row = place(out.worker_bytes, sizes.row);
  out.quantized = place(out.worker_bytes, sizes.quantized);
  out.matmul = place(out.worker_bytes, sizes.matmul);
  out.columns = place(out.worker_bytes, sizes.columns);
  out.queries = place(out.worker_bytes, sizes.queries);
  out.attention = place(out.worker_bytes, sizes.attention);
  out.local_states = place(out.worker_bytes, sizes.local_states);
  out.worker_bytes = align_up(out.worker_bytes, 4096) + 64;  // not the same cache sets for every worker
  return out;
}

}  // namespace pteron::cpu_backend
