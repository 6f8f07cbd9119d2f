// 256-bit vectors: AVX2 with FMA and F16C, and (included from avxvnni.cc, under its flags) with the VNNI dot product.
#include <immintrin.h>

#include "kernels/cpu/simd_table.h"

namespace pteron::kernels::cpu {
namespace {

struct Lanes : Partial<Lanes> {
  static constexpr size_t kLanes = 8;
  static constexpr int kBlockRows = 4, kBlockVectors = 2;
  static constexpr bool kPairs = false;
  using F = __m256;
  using I = __m256i;
  using B = __m256i;
  using A = __m256i;

  static PTERON_INLINE F load(const float* x) { return _mm256_loadu_ps(x); }
  static PTERON_INLINE void store(float* y, F x) { _mm256_storeu_ps(y, x); }
  static PTERON_INLINE F zero() { return _mm256_setzero_ps(); }
  static PTERON_INLINE F set(float x) { return _mm256_set1_ps(x); }
  static PTERON_INLINE F add(F a, F b) { return _mm256_add_ps(a, b); }
  static PTERON_INLINE F sub(F a, F b) { return _mm256_sub_ps(a, b); }
  static PTERON_INLINE F mul(F a, F b) { return _mm256_mul_ps(a, b); }
  static PTERON_INLINE F div(F a, F b) { return _mm256_div_ps(a, b); }
  static PTERON_INLINE F fma(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }
  static PTERON_INLINE F fnma(F a, F b, F c) { return _mm256_fnmadd_ps(a, b, c); }
  // The second operand where either is NaN.
  static PTERON_INLINE F max(F a, F b) { return _mm256_max_ps(a, b); }
  static PTERON_INLINE F min(F a, F b) { return _mm256_min_ps(a, b); }
  static PTERON_INLINE F abs(F x) { return _mm256_andnot_ps(set(-0.0f), x); }
  static PTERON_INLINE F copy_sign(F magnitude, F sign) { return _mm256_or_ps(abs(magnitude), _mm256_and_ps(set(-0.0f), sign)); }
  static PTERON_INLINE float sum(F x) {
    __m128 half = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    half = _mm_add_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_add_ss(half, _mm_movehdup_ps(half)));
  }
  static PTERON_INLINE float largest(F x) {
    __m128 half = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    half = _mm_max_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_max_ss(half, _mm_movehdup_ps(half)));
  }
  static PTERON_INLINE F pair_sums(F a, F b) { return add(_mm256_shuffle_ps(a, b, 0x88), _mm256_shuffle_ps(a, b, 0xdd)); }
  static PTERON_INLINE void store_fours(float* y, F x) { _mm_storeu_ps(y, _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1))); }

  static PTERON_INLINE F load_float16(const uint16_t* x) {
    __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(x));
    asm("" : "+x"(halves));  // converting out of memory takes Zen 4 three times as long as out of a register
    return _mm256_cvtph_ps(halves);
  }
  static PTERON_INLINE F load_bfloat16(const uint16_t* x) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x))), 16));
  }
  static PTERON_INLINE void store_float16(uint16_t* y, F x) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y), _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
  }
  static PTERON_INLINE void store_bfloat16(uint16_t* y, F x) {
    const I bits = _mm256_castps_si256(x);
    const I odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const I rounded = _mm256_srli_epi32(_mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff))), 16);
    const I quiet = _mm256_or_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(0x40));
    const I wide = _mm256_blendv_epi8(rounded, quiet, _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q)));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y), _mm_packus_epi32(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1)));
  }

  static PTERON_INLINE I zero_int() { return _mm256_setzero_si256(); }
  static PTERON_INLINE I add_int(I a, I b) { return _mm256_add_epi32(a, b); }
  static PTERON_INLINE I max_int(I a, I b) { return _mm256_max_epi32(a, b); }
  static PTERON_INLINE F to_float(I x) { return _mm256_cvtepi32_ps(x); }
  static PTERON_INLINE I to_int(F x) { return _mm256_cvtps_epi32(x); }
  static PTERON_INLINE F power_of_two(I n) { return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n, _mm256_set1_epi32(127)), 23)); }
  static PTERON_INLINE I magnitude_bits(F x) { return _mm256_and_si256(_mm256_castps_si256(x), _mm256_set1_epi32(0x7fffffff)); }
  static PTERON_INLINE int32_t reduce_add(I x) {
    __m128i half = _mm_add_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(half, _mm_shuffle_epi32(half, 0xb1)));
  }
  static PTERON_INLINE int32_t reduce_max(I x) {
    __m128i half = _mm_max_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    half = _mm_max_epi32(half, _mm_shuffle_epi32(half, 0x4e));
    return _mm_cvtsi128_si32(_mm_max_epi32(half, _mm_shuffle_epi32(half, 0xb1)));
  }
  static PTERON_INLINE void store_int8(int8_t* y, I x) {
    const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(y), _mm_packs_epi16(words, words));
  }

  static PTERON_INLINE B load_bytes(const std::byte* x) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x)); }
  static PTERON_INLINE void store_bytes(std::byte* y, B x) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), x); }
  static PTERON_INLINE B or_bytes(B a, B b) { return _mm256_or_si256(a, b); }
  static PTERON_INLINE B low_nibbles(B x) { return _mm256_and_si256(x, _mm256_set1_epi8(15)); }
  static PTERON_INLINE B high_nibbles(B x) { return low_nibbles(_mm256_srli_epi16(x, 4)); }
  // Bytes shifted left by `shift` (right where negative), then masked: bits that come over from the neighbour never lie in the mask.
  template <int kMask>
  static PTERON_INLINE B masked_shift(B x, int shift) {
    return _mm256_and_si256(shift >= 0 ? _mm256_slli_epi16(x, shift) : _mm256_srli_epi16(x, -shift), _mm256_set1_epi8(kMask));
  }
  // A product that the compiler can neither move nor merge, for measuring.
  static PTERON_INLINE void dot_again(A& sum, B x) {
    asm volatile("" : "+x"(x));
    sum = dot(sum, x, x);
    asm volatile("" : "+x"(sum));
  }
  static PTERON_INLINE B broadcast4(const int8_t* x) {
    int32_t four = 0;
    std::memcpy(&four, x, 4);
    return _mm256_set1_epi32(four);
  }

#if defined(__AVXVNNI__)
  static constexpr size_t depth(int) { return kBlocks; }
  static constexpr float kZero8 = 128;
  static PTERON_INLINE A dot_first(B w, B x) { return _mm256_dpbusd_avx_epi32(zero_int(), w, x); }
  static PTERON_INLINE A dot(A sum, B w, B x) { return _mm256_dpbusd_avx_epi32(sum, w, x); }
  static PTERON_INLINE I widen(A sum) { return sum; }
  static PTERON_INLINE B bytes8(B raw) { return raw; }
  static PTERON_INLINE I dot8(I sum, B w, B x) { return _mm256_dpbusd_avx_epi32(sum, w, x); }
#else
  // 16-bit sums hold 8, 4 and 2 pairs of products with weights of 4, 5 and 6 bits.
  static constexpr size_t depth(int bits) { return bits == 4 ? 8 : bits == 5 ? 4 : 2; }
  static constexpr float kZero8 = 0;
  static PTERON_INLINE A dot_first(B w, B x) { return _mm256_maddubs_epi16(w, x); }
  static PTERON_INLINE A dot(A sum, B w, B x) {
    sum = _mm256_add_epi16(sum, _mm256_maddubs_epi16(w, x));
    asm("" : "+x"(sum));  // keeps the compiler from putting all additions off to the end, which spills every product
    return sum;
  }
  static PTERON_INLINE I widen(A sum) { return _mm256_madd_epi16(sum, _mm256_set1_epi16(1)); }
  static PTERON_INLINE B bytes8(B raw) { return _mm256_xor_si256(raw, _mm256_set1_epi8(-128)); }
  // |w| <= 128 and |x| <= 127: a pair of products stays below 2^15.
  static PTERON_INLINE I dot8(I sum, B w, B x) {
    sum = _mm256_add_epi32(sum, widen(_mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(x, w))));
    asm("" : "+x"(sum));
    return sum;
  }
#endif

  static uint64_t read(const std::byte* data, size_t bytes) {
    __m256i sums[4] = {zero_int(), zero_int(), zero_int(), zero_int()};
    for (size_t i = 0; i + 128 <= bytes; i += 128) {
      __builtin_prefetch(data + i + kPrefetch);
      __builtin_prefetch(data + i + kPrefetch + 64);
      for (size_t j = 0; j < 4; ++j) sums[j] = _mm256_add_epi64(sums[j], load_bytes(data + i + j * 32));
    }
    const __m256i all = _mm256_add_epi64(_mm256_add_epi64(sums[0], sums[1]), _mm256_add_epi64(sums[2], sums[3]));
    uint64_t parts[4];
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(parts), all);
    return parts[0] + parts[1] + parts[2] + parts[3];
  }
};

}  // namespace

#if defined(__AVXVNNI__)
const KernelTable& avxvnni_kernels() {
  static constexpr KernelTable kTable = make_table<Lanes>(CpuTarget::avxvnni);
#else
const KernelTable& avx2_kernels() {
  static constexpr KernelTable kTable = make_table<Lanes>(CpuTarget::avx2);
#endif
  return kTable;
}

}  // namespace pteron::kernels::cpu
