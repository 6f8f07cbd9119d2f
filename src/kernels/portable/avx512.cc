// The loops of isa.h for x86-64 with AVX-512 (F, BW, DQ, VL, VNNI). Compiled with those enabled; called only where the processor has them.
#if defined(__x86_64__)

#include <immintrin.h>

#include "kernels/portable/isa_loops.h"

namespace pteron::portable {
namespace {

struct Avx512 {
  static constexpr int kLanes = 16, kTileM = 6, kTileN = 4, kGemmM = 10;
  using Reg = __m512;

  static Reg zero() { return _mm512_setzero_ps(); }
  static Reg set1(float x) { return _mm512_set1_ps(x); }
  static Reg load(const float* p) { return _mm512_loadu_ps(p); }
  static Reg load(const Half* p) { return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))); }
  static Reg load(const BFloat16* p) {
    const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
    return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
  }
  static void store(float* p, Reg r) { _mm512_storeu_ps(p, r); }
  static Reg add(Reg a, Reg b) { return _mm512_add_ps(a, b); }
  static Reg fma(Reg a, Reg b, Reg c) { return _mm512_fmadd_ps(a, b, c); }
  static float sum(Reg r) { return _mm512_reduce_add_ps(r); }
};

void halves_to_floats(const uint16_t* in, float* out, size_t n) {
  size_t i = 0;
  for (; i + 16 <= n; i += 16) _mm512_storeu_ps(out + i, Avx512::load(reinterpret_cast<const Half*>(in + i)));
  for (; i < n; ++i) out[i] = _cvtsh_ss(in[i]);
}
void floats_to_halves(const float* in, uint16_t* out, size_t n) {
  size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), _mm512_cvtps_ph(_mm512_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT));
  }
  for (; i < n; ++i) out[i] = _cvtss_sh(in[i], _MM_FROUND_TO_NEAREST_INT);
}

}  // namespace

constexpr Isa kAvx512Isa = make_isa<Avx512>(CpuTarget::avx512vnni, &halves_to_floats, &floats_to_halves);

}  // namespace pteron::portable

#endif
