#include "builtin/run/builtin.h"

#include <array>

#include "backends/cpu/run/delegate.h"
#include "kernels/portable/families.h"

namespace pteron::builtin {

const runtime::KernelTable& builtin_kernels() {
  static const runtime::KernelTable table{portable::all_kernels()};
  return table;
}

std::span<const runtime::RunBackend* const> builtin_run_backends() {
  static const std::array<const runtime::RunBackend*, 1> backends = {&cpu_backend::run_backend()};
  return backends;
}

}  // namespace pteron::builtin
