#include "kernels/portable/isa.h"

namespace pteron::portable {

const Isa* isa_for(CpuTarget target) {
  switch (target) {
    case CpuTarget::scalar: return &kScalarIsa;
#if defined(__x86_64__)
    case CpuTarget::avx2:
    case CpuTarget::avxvnni: return &kAvx2Isa;
    case CpuTarget::avx512vnni: return &kAvx512Isa;
#elif defined(__aarch64__)
    case CpuTarget::neon:
    case CpuTarget::dotprod:
    case CpuTarget::i8mm: return &kNeonIsa;
#endif
    default: return nullptr;
  }
}

const Isa& isa() {
  static const Isa* const chosen = [] {
    const auto target = cpu_target();
    const Isa* found = target.ok() ? isa_for(*target) : nullptr;
    return found != nullptr ? found : &kScalarIsa;
  }();
  return *chosen;
}

}  // namespace pteron::portable
