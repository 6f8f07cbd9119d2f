// 512-bit vectors: AVX-512 (F, BW, DQ, VL) with the VNNI dot product. A vector covers a whole tile.
#include <immintrin.h>

#include "kernels/cpu/simd_table.h"

namespace pteron::kernels::cpu {
namespace {

struct Lanes : Partial<Lanes> {
  static constexpr size_t kLanes = 16;
  static constexpr int kBlockRows = 8, kBlockVectors = 1;
  static constexpr bool kPairs = false;
  using F = __m512;
  using I = __m512i;
  using B = __m512i;
  using A = __m512i;

  static PTERON_INLINE F load(const float* x) { return _mm512_loadu_ps(x); }
  static PTERON_INLINE void store(float* y, F x) { _mm512_storeu_ps(y, x); }
  static PTERON_INLINE F zero() { return _mm512_setzero_ps(); }
  static PTERON_INLINE F set(float x) { return _mm512_set1_ps(x); }
  static PTERON_INLINE F add(F a, F b) { return _mm512_add_ps(a, b); }
  static PTERON_INLINE F sub(F a, F b) { return _mm512_sub_ps(a, b); }
  static PTERON_INLINE F mul(F a, F b) { return _mm512_mul_ps(a, b); }
  static PTERON_INLINE F div(F a, F b) { return _mm512_div_ps(a, b); }
  static PTERON_INLINE F fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
  static PTERON_INLINE F fnma(F a, F b, F c) { return _mm512_fnmadd_ps(a, b, c); }
  // The second operand where either is NaN.
  static PTERON_INLINE F max(F a, F b) { return _mm512_max_ps(a, b); }
  static PTERON_INLINE F min(F a, F b) { return _mm512_min_ps(a, b); }
  static PTERON_INLINE F abs(F x) { return _mm512_andnot_ps(set(-0.0f), x); }
  static PTERON_INLINE F copy_sign(F magnitude, F sign) { return _mm512_or_ps(abs(magnitude), _mm512_and_ps(set(-0.0f), sign)); }
  static PTERON_INLINE float sum(F x) { return _mm512_reduce_add_ps(x); }
  static PTERON_INLINE float largest(F x) { return _mm512_reduce_max_ps(x); }
  static PTERON_INLINE F pair_sums(F a, F b) { return add(_mm512_shuffle_ps(a, b, 0x88), _mm512_shuffle_ps(a, b, 0xdd)); }
  static PTERON_INLINE void store_fours(float* y, F x) {
    const __m256 low = _mm512_castps512_ps256(x), high = _mm512_extractf32x8_ps(x, 1);
    const __m128 first = _mm_add_ps(_mm256_castps256_ps128(low), _mm256_extractf128_ps(low, 1));
    _mm_storeu_ps(y, _mm_add_ps(first, _mm_add_ps(_mm256_castps256_ps128(high), _mm256_extractf128_ps(high, 1))));
  }

  static PTERON_INLINE __m256i load_halves(const uint16_t* x) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x)); }
  static PTERON_INLINE F load_float16(const uint16_t* x) {
    __m256i halves = load_halves(x);
    asm("" : "+v"(halves));  // converting out of memory takes Zen 4 three times as long as out of a register
    return _mm512_cvtph_ps(halves);
  }
  static PTERON_INLINE F load_bfloat16(const uint16_t* x) { return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(load_halves(x)), 16)); }
  static PTERON_INLINE void store_float16(uint16_t* y, F x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
  static PTERON_INLINE void store_bfloat16(uint16_t* y, F x) {
    const I bits = _mm512_castps_si512(x), upper = _mm512_srli_epi32(bits, 16);
    const I odd = _mm512_and_si512(upper, _mm512_set1_epi32(1));
    const I rounded = _mm512_srli_epi32(_mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff))), 16);
    const __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    const I wide = _mm512_mask_or_epi32(rounded, nan, upper, _mm512_set1_epi32(0x40));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), _mm512_cvtepi32_epi16(wide));
  }

  static PTERON_INLINE I zero_int() { return _mm512_setzero_si512(); }
  static PTERON_INLINE I add_int(I a, I b) { return _mm512_add_epi32(a, b); }
  static PTERON_INLINE I max_int(I a, I b) { return _mm512_max_epi32(a, b); }
  static PTERON_INLINE F to_float(I x) { return _mm512_cvtepi32_ps(x); }
  static PTERON_INLINE I to_int(F x) { return _mm512_cvtps_epi32(x); }
  static PTERON_INLINE F power_of_two(I n) { return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_add_epi32(n, _mm512_set1_epi32(127)), 23)); }
  static PTERON_INLINE I magnitude_bits(F x) { return _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(0x7fffffff)); }
  static PTERON_INLINE int32_t reduce_add(I x) { return _mm512_reduce_add_epi32(x); }
  static PTERON_INLINE int32_t reduce_max(I x) { return _mm512_reduce_max_epi32(x); }
  static PTERON_INLINE void store_int8(int8_t* y, I x) { _mm_storeu_si128(reinterpret_cast<__m128i*>(y), _mm512_cvtsepi32_epi8(x)); }

  static PTERON_INLINE B load_bytes(const std::byte* x) { return _mm512_loadu_si512(x); }
  static PTERON_INLINE void store_bytes(std::byte* y, B x) { _mm512_storeu_si512(y, x); }
  static PTERON_INLINE B or_bytes(B a, B b) { return _mm512_or_si512(a, b); }
  static PTERON_INLINE B low_nibbles(B x) { return _mm512_and_si512(x, _mm512_set1_epi8(15)); }
  static PTERON_INLINE B high_nibbles(B x) { return low_nibbles(_mm512_srli_epi16(x, 4)); }
  // Bytes shifted left by `shift` (right where negative), then masked: bits that come over from the neighbour never lie in the mask.
  template <int kMask>
  static PTERON_INLINE B masked_shift(B x, int shift) {
    const B moved = shift >= 0 ? _mm512_slli_epi16(x, static_cast<unsigned>(shift)) : _mm512_srli_epi16(x, static_cast<unsigned>(-shift));
    return _mm512_and_si512(moved, _mm512_set1_epi8(kMask));
  }
  // A product that the compiler can neither move nor merge, for measuring.
  static PTERON_INLINE void dot_again(A& sum, B x) {
    asm volatile("" : "+v"(x));
    sum = dot(sum, x, x);
    asm volatile("" : "+v"(sum));
  }
  static PTERON_INLINE B broadcast4(const int8_t* x) {
    int32_t four = 0;
    std::memcpy(&four, x, 4);
    return _mm512_set1_epi32(four);
  }

  static constexpr size_t depth(int) { return kBlocks; }
  static constexpr float kZero8 = 128;
  static PTERON_INLINE A dot_first(B w, B x) { return _mm512_dpbusd_epi32(zero_int(), w, x); }
  static PTERON_INLINE A dot(A sum, B w, B x) { return _mm512_dpbusd_epi32(sum, w, x); }
  static PTERON_INLINE I widen(A sum) { return sum; }
  static PTERON_INLINE B bytes8(B raw) { return raw; }
  static PTERON_INLINE I dot8(I sum, B w, B x) { return _mm512_dpbusd_epi32(sum, w, x); }

  static uint64_t read(const std::byte* data, size_t bytes) {
    __m512i sums[2] = {zero_int(), zero_int()};
    for (size_t i = 0; i + 128 <= bytes; i += 128) {
      __builtin_prefetch(data + i + kPrefetch);
      __builtin_prefetch(data + i + kPrefetch + 64);
      for (size_t j = 0; j < 2; ++j) sums[j] = _mm512_add_epi64(sums[j], load_bytes(data + i + j * 64));
    }
    return static_cast<uint64_t>(_mm512_reduce_add_epi64(_mm512_add_epi64(sums[0], sums[1])));
  }
};

}  // namespace

const KernelTable& avx512vnni_kernels() {
  static constexpr KernelTable kTable = make_table<Lanes>(CpuTarget::avx512vnni);
  return kTable;
}

}  // namespace pteron::kernels::cpu
