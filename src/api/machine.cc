#include "kernels/cpu/probe.h"
#include "pteron/profile.h"

namespace pteron {

Result<MachineLimits> measure_machine(size_t threads) {
  PTERON_ASSIGN(const kernels::cpu::KernelTable* table, kernels::cpu::active_kernels());
  ThreadPool pool(threads);
  const kernels::cpu::MachineLimits limits = kernels::cpu::measure_limits(*table, pool);
  return MachineLimits{limits.read_bytes, limits.dot_ops};
}

}  // namespace pteron
