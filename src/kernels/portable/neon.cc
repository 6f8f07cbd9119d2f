// The loops of isa.h for arm64.
#if defined(__aarch64__)

#include <arm_neon.h>

#include "core/dtype.h"
#include "kernels/portable/isa_loops.h"

namespace pteron::portable {
namespace {

struct Neon {
  static constexpr int kLanes = 4, kTileM = 4, kTileN = 4, kGemmM = 8;
  using Reg = float32x4_t;

  static Reg zero() { return vdupq_n_f32(0); }
  static Reg set1(float x) { return vdupq_n_f32(x); }
  static Reg load(const float* p) { return vld1q_f32(p); }
  static Reg load(const Half* p) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(reinterpret_cast<const uint16_t*>(p)))); }
  static Reg load(const BFloat16* p) { return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(reinterpret_cast<const uint16_t*>(p)), 16)); }
  static void store(float* p, Reg r) { vst1q_f32(p, r); }
  static Reg add(Reg a, Reg b) { return vaddq_f32(a, b); }
  static Reg fma(Reg a, Reg b, Reg c) { return vfmaq_f32(c, a, b); }
  static float sum(Reg r) { return vaddvq_f32(r); }
};

void halves_to_floats(const uint16_t* in, float* out, size_t n) {
  size_t i = 0;
  for (; i + 4 <= n; i += 4) vst1q_f32(out + i, Neon::load(reinterpret_cast<const Half*>(in + i)));
  for (; i < n; ++i) out[i] = widen(Half{in[i]});
}
void floats_to_halves(const float* in, uint16_t* out, size_t n) {
  size_t i = 0;
  for (; i + 4 <= n; i += 4) vst1_u16(out + i, vreinterpret_u16_f16(vcvt_f16_f32(vld1q_f32(in + i))));
  for (; i < n; ++i) out[i] = float_to_half(in[i]);
}

}  // namespace

constexpr Isa kNeonIsa = make_isa<Neon>(CpuTarget::neon, &halves_to_floats, &floats_to_halves);

}  // namespace pteron::portable

#endif
