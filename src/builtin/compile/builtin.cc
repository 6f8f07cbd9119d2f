#include "builtin/compile/builtin.h"

#include "backends/cpu/compile/backend.h"

namespace pteron::builtin {

std::span<const partition::CompileBackend* const> builtin_compile_backends() {
  static const partition::CompileBackend* const kBackends[] = {&cpu_backend::compile_backend()};
  return kBackends;
}

}  // namespace pteron::builtin
