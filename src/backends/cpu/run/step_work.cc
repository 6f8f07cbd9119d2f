#include "backends/cpu/run/step_work.h"

#include <algorithm>

#include "core/dtype.h"

namespace pteron::cpu_backend {
namespace {

using runtime::StepWork;

StepWork work(const Machine& m, const EmbedStep& step) {
  const TensorRef& weight = m.tensor_ref(step.weight);
  return {m.rows_of(step.out) * weight.bytes() / weight.rows, 0};
}

StepWork work(const Machine& m, const ProjectStep& step) {
  StepWork out;
  for (const Projection& p : step.projections) {
    const TensorRef& weight = m.tensor_ref(p.weight);
    out.bytes += weight.bytes();
    out.operations += uint64_t{2} * m.rows_of(step.in) * weight.rows * weight.cols;
  }
  return out;
}

StepWork work(const Machine& m, const AttendStep& step) {
  const kernels::cpu::SlotRuns* runs = m.runs(step.mask);
  uint64_t seen = 0, begin = step.slots, end = 0;
  for (size_t row = 0; row < m.valid_rows; ++row) {
    for (size_t run = 0; run < 2; ++run) {
      const auto first = static_cast<uint64_t>(runs[row].begin[run]), last = static_cast<uint64_t>(runs[row].end[run]);
      if (first == last) continue;
      seen += last - first;
      begin = std::min(begin, first);
      end = std::max(end, last);
    }
  }
  // One row reads just what it sees; the runs of several rows lie in each other, or side by side where a ring is entered.
  const uint64_t slots = m.valid_rows == 1 ? seen : end - begin;
  const uint64_t dims = step.key_dim + step.value_dim, element = element_size(m.plan.arguments[static_cast<size_t>(step.key_cache)].dtype);
  return {slots * step.kv_heads * dims * element, 2 * seen * step.heads * dims};
}

template <class T>
StepWork work(const Machine&, const T&) { return {}; }

}  // namespace

StepWork step_work(const Machine& machine, const Step& step) {
  return visit_step(step, [&](const auto& kind) { return work(machine, kind); });
}

}  // namespace pteron::cpu_backend
