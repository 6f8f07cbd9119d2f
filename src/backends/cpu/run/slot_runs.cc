#include "backends/cpu/run/slot_runs.h"

#include <limits>

#include "core/dtype.h"

namespace pteron::cpu_backend {
namespace {

enum class Seen { shown, hidden, neither };

Seen seen(uint8_t value) { return value != 0 ? Seen::shown : Seen::hidden; }
Seen seen_float(float value, float lowest) { return value == 0 ? Seen::shown : value <= lowest / 2 ? Seen::hidden : Seen::neither; }
Seen seen(float value) { return seen_float(value, std::numeric_limits<float>::lowest()); }
struct Half { uint16_t bits; };
struct BFloat16 { uint16_t bits; };
Seen seen(Half value) { return seen_float(half_to_float(value.bits), -65504.0f); }
Seen seen(BFloat16 value) { return seen_float(bfloat16_to_float(value.bits), std::numeric_limits<float>::lowest()); }

template <class T>
bool scan(const T* row, size_t slots, kernels::cpu::SlotRuns& out) {
  out = {};
  size_t runs = 0;
  Seen before = Seen::hidden;
  for (size_t slot = 0; slot < slots; ++slot) {
    const Seen now = seen(row[slot]);
    if (now == Seen::neither) return false;
    if (now == before) continue;
    if (now == Seen::shown) {
      if (runs == 2) return false;
      out.begin[runs] = static_cast<int32_t>(slot);
    } else {
      out.end[runs++] = static_cast<int32_t>(slot);
    }
    before = now;
  }
  if (before == Seen::shown) out.end[runs++] = static_cast<int32_t>(slots);
  return runs > 0;
}

}  // namespace

bool slot_runs(ScalarType dtype, const void* mask, size_t row, size_t slots, kernels::cpu::SlotRuns& out) {
  const size_t first = row * slots;
  switch (dtype) {
    case ScalarType::Bool: return scan(static_cast<const uint8_t*>(mask) + first, slots, out);
    case ScalarType::Float: return scan(static_cast<const float*>(mask) + first, slots, out);
    case ScalarType::Half: return scan(static_cast<const Half*>(mask) + first, slots, out);
    case ScalarType::BFloat16: return scan(static_cast<const BFloat16*>(mask) + first, slots, out);
    default: return false;
  }
}

}  // namespace pteron::cpu_backend
