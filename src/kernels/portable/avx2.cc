// The loops of isa.h for x86-64 with AVX2, FMA and F16C. Compiled with those enabled; called only where the processor has them.
#if defined(__x86_64__)

#include <immintrin.h>

#include "kernels/portable/isa_loops.h"

namespace pteron::portable {
namespace {

struct Avx2 {
  static constexpr int kLanes = 8, kTileM = 4, kTileN = 3, kGemmM = 6;
  using Reg = __m256;

  static Reg zero() { return _mm256_setzero_ps(); }
  static Reg set1(float x) { return _mm256_set1_ps(x); }
  static Reg load(const float* p) { return _mm256_loadu_ps(p); }
  static Reg load(const Half* p) { return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))); }
  static Reg load(const BFloat16* p) {
    const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
    return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
  }
  static void store(float* p, Reg r) { _mm256_storeu_ps(p, r); }
  static Reg add(Reg a, Reg b) { return _mm256_add_ps(a, b); }
  static Reg fma(Reg a, Reg b, Reg c) { return _mm256_fmadd_ps(a, b, c); }
  static float sum(Reg r) {
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(r), _mm256_extractf128_ps(r, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
  }
};

void halves_to_floats(const uint16_t* in, float* out, size_t n) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8) _mm256_storeu_ps(out + i, Avx2::load(reinterpret_cast<const Half*>(in + i)));
  for (; i < n; ++i) out[i] = _cvtsh_ss(in[i]);
}
void floats_to_halves(const float* in, uint16_t* out, size_t n) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT));
  }
  for (; i < n; ++i) out[i] = _cvtss_sh(in[i], _MM_FROUND_TO_NEAREST_INT);
}

}  // namespace

constexpr Isa kAvx2Isa = make_isa<Avx2>(CpuTarget::avx2, &halves_to_floats, &floats_to_halves);

}  // namespace pteron::portable

#endif
