// 128-bit vectors: NEON, and (included from dotprod.cc and i8mm.cc, under their flags) with the dot product and the matrix product.
#include <arm_neon.h>

#include "kernels/cpu/simd_table.h"

namespace pteron::kernels::cpu {
namespace {

struct Lanes : Partial<Lanes> {
  static constexpr size_t kLanes = 4;
  static constexpr int kBlockRows = 4, kBlockVectors = 2;
  using F = float32x4_t;
  using I = int32x4_t;
  using B = uint8x16_t;
  using A = int32x4_t;

  static PTERON_INLINE F load(const float* x) { return vld1q_f32(x); }
  static PTERON_INLINE void store(float* y, F x) { vst1q_f32(y, x); }
  static PTERON_INLINE F zero() { return vdupq_n_f32(0); }
  static PTERON_INLINE F set(float x) { return vdupq_n_f32(x); }
  static PTERON_INLINE F add(F a, F b) { return vaddq_f32(a, b); }
  static PTERON_INLINE F sub(F a, F b) { return vsubq_f32(a, b); }
  static PTERON_INLINE F mul(F a, F b) { return vmulq_f32(a, b); }
  static PTERON_INLINE F div(F a, F b) { return vdivq_f32(a, b); }
  static PTERON_INLINE F fma(F a, F b, F c) { return vfmaq_f32(c, a, b); }
  static PTERON_INLINE F fnma(F a, F b, F c) { return vfmsq_f32(c, a, b); }
  static PTERON_INLINE F max(F a, F b) { return vmaxq_f32(a, b); }
  static PTERON_INLINE F min(F a, F b) { return vminq_f32(a, b); }
  static PTERON_INLINE F abs(F x) { return vabsq_f32(x); }
  static PTERON_INLINE F copy_sign(F magnitude, F sign) { return vbslq_f32(vdupq_n_u32(0x80000000u), sign, magnitude); }
  static PTERON_INLINE float sum(F x) { return vaddvq_f32(x); }
  static PTERON_INLINE float largest(F x) { return vmaxvq_f32(x); }
  static PTERON_INLINE F pair_sums(F a, F b) { return vpaddq_f32(a, b); }
  static PTERON_INLINE void store_fours(float* y, F x) { store(y, x); }

  static PTERON_INLINE F load_float16(const uint16_t* x) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(x))); }
  static PTERON_INLINE F load_bfloat16(const uint16_t* x) { return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(x), 16)); }
  static PTERON_INLINE void store_float16(uint16_t* y, F x) { vst1_u16(y, vreinterpret_u16_f16(vcvt_f16_f32(x))); }
  static PTERON_INLINE void store_bfloat16(uint16_t* y, F x) {
    const uint32x4_t bits = vreinterpretq_u32_f32(x), upper = vshrq_n_u32(bits, 16);
    const uint32x4_t rounded = vshrq_n_u32(vaddq_u32(bits, vaddq_u32(vandq_u32(upper, vdupq_n_u32(1)), vdupq_n_u32(0x7fff))), 16);
    vst1_u16(y, vmovn_u32(vbslq_u32(vceqq_f32(x, x), rounded, vorrq_u32(upper, vdupq_n_u32(0x40)))));
  }

  static PTERON_INLINE I zero_int() { return vdupq_n_s32(0); }
  static PTERON_INLINE I add_int(I a, I b) { return vaddq_s32(a, b); }
  static PTERON_INLINE I max_int(I a, I b) { return vmaxq_s32(a, b); }
  static PTERON_INLINE F to_float(I x) { return vcvtq_f32_s32(x); }
  static PTERON_INLINE I to_int(F x) { return vcvtnq_s32_f32(x); }
  static PTERON_INLINE F power_of_two(I n) { return vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(n, vdupq_n_s32(127)), 23)); }
  static PTERON_INLINE I magnitude_bits(F x) { return vandq_s32(vreinterpretq_s32_f32(x), vdupq_n_s32(0x7fffffff)); }
  static PTERON_INLINE int32_t reduce_add(I x) { return vaddvq_s32(x); }
  static PTERON_INLINE int32_t reduce_max(I x) { return vmaxvq_s32(x); }
  static PTERON_INLINE void store_int8(int8_t* y, I x) {
    const int16x4_t words = vqmovn_s32(x);
    const int32_t four = vget_lane_s32(vreinterpret_s32_s8(vqmovn_s16(vcombine_s16(words, words))), 0);
    std::memcpy(y, &four, 4);
  }

  static PTERON_INLINE B load_bytes(const std::byte* x) { return vld1q_u8(reinterpret_cast<const uint8_t*>(x)); }
  static PTERON_INLINE void store_bytes(std::byte* y, B x) { vst1q_u8(reinterpret_cast<uint8_t*>(y), x); }
  static PTERON_INLINE B or_bytes(B a, B b) { return vorrq_u8(a, b); }
  static PTERON_INLINE B low_nibbles(B x) { return vandq_u8(x, vdupq_n_u8(15)); }
  static PTERON_INLINE B high_nibbles(B x) { return vshrq_n_u8(x, 4); }
  // Bytes shifted left by `shift` (right where negative), then masked.
  template <int kMask>
  static PTERON_INLINE B masked_shift(B x, int shift) {
    return vandq_u8(vshlq_u8(x, vdupq_n_s8(static_cast<int8_t>(shift))), vdupq_n_u8(kMask));
  }
  // A product that the compiler can neither move nor merge, for measuring.
  static PTERON_INLINE void dot_again(A& sum, B x) {
    asm volatile("" : "+w"(x));
    sum = dot(sum, x, x);
    asm volatile("" : "+w"(sum));
  }
  static PTERON_INLINE B broadcast4(const int8_t* x) {
    int32_t four = 0;
    std::memcpy(&four, x, 4);
    return vreinterpretq_u8_s32(vdupq_n_s32(four));
  }

  // All weights are signed here: 8-bit ones without their zero point of 128, narrow ones are below 64 anyway.
  static constexpr size_t depth(int) { return kBlocks; }
  static constexpr float kZero8 = 0;
  static PTERON_INLINE B bytes8(B raw) { return veorq_u8(raw, vdupq_n_u8(0x80)); }
  static PTERON_INLINE I widen(A sum) { return sum; }
  static PTERON_INLINE A dot_first(B w, B x) { return dot(zero_int(), w, x); }
  static PTERON_INLINE I dot8(I sum, B w, B x) { return dot(sum, w, x); }
#if defined(__ARM_FEATURE_DOTPROD)
  static PTERON_INLINE A dot(A sum, B w, B x) { return vdotq_s32(sum, vreinterpretq_s8_u8(w), vreinterpretq_s8_u8(x)); }
#else
  // |w| <= 128 and |x| <= 127: a pair of products stays below 2^15.
  static PTERON_INLINE A dot(A sum, B w, B x) {
    const int8x16_t a = vreinterpretq_s8_u8(w), b = vreinterpretq_s8_u8(x);
    return vpadalq_s16(sum, vpaddq_s16(vmull_s8(vget_low_s8(a), vget_low_s8(b)), vmull_high_s8(a, b)));
  }
#endif

#if defined(__ARM_FEATURE_MATMUL_INT8)
  static constexpr bool kPairs = true;
  // Two rows of x at a time: blocks are zipped in pairs to 8 columns of 2 outputs, and a matrix product makes 2 x 2 sums.
  template <size_t kBegin, size_t kEnd, int kRows, int kVectors, class Record>
  static PTERON_INLINE void pair_sums(const Record& record, size_t vector, const int8_t* x, size_t stride, I (&sums)[kRows][kVectors]) {
    I running[kRows / 2][kVectors][2];
    for (int m = 0; m < kRows / 2; ++m) {
      for (int v = 0; v < kVectors; ++v) running[m][v][0] = running[m][v][1] = zero_int();
    }
#pragma GCC unroll 4
    for (size_t block = kBegin; block < kEnd; block += 2) {
      int8x16_t weights[kVectors][2];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        const int32x4_t first = vreinterpretq_s32_u8(record.get(block, vector + static_cast<size_t>(v)));
        const int32x4_t second = vreinterpretq_s32_u8(record.get(block + 1, vector + static_cast<size_t>(v)));
        weights[v][0] = vreinterpretq_s8_s32(vzip1q_s32(first, second));
        weights[v][1] = vreinterpretq_s8_s32(vzip2q_s32(first, second));
      }
#pragma GCC unroll 4
      for (int m = 0; m < kRows / 2; ++m) {
        const int8_t* row = x + static_cast<size_t>(2 * m) * stride + block * 4;
        const int8x16_t two = vcombine_s8(vld1_s8(row), vld1_s8(row + stride));
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          running[m][v][0] = vmmlaq_s32(running[m][v][0], two, weights[v][0]);
          running[m][v][1] = vmmlaq_s32(running[m][v][1], two, weights[v][1]);
        }
      }
    }
    for (int m = 0; m < kRows / 2; ++m) {
      for (int v = 0; v < kVectors; ++v) {
        sums[2 * m][v] = vcombine_s32(vget_low_s32(running[m][v][0]), vget_low_s32(running[m][v][1]));
        sums[2 * m + 1][v] = vcombine_s32(vget_high_s32(running[m][v][0]), vget_high_s32(running[m][v][1]));
      }
    }
  }
#else
  static constexpr bool kPairs = false;
#endif

  static uint64_t read(const std::byte* data, size_t bytes) {
    uint64x2_t sums[4] = {vdupq_n_u64(0), vdupq_n_u64(0), vdupq_n_u64(0), vdupq_n_u64(0)};
    for (size_t i = 0; i + 64 <= bytes; i += 64) {
      __builtin_prefetch(data + i + kPrefetch);
      for (size_t j = 0; j < 4; ++j) sums[j] = vaddq_u64(sums[j], vreinterpretq_u64_u8(load_bytes(data + i + j * 16)));
    }
    return vaddvq_u64(vaddq_u64(vaddq_u64(sums[0], sums[1]), vaddq_u64(sums[2], sums[3])));
  }
};

}  // namespace

#if defined(__ARM_FEATURE_MATMUL_INT8)
const KernelTable& i8mm_kernels() {
  static constexpr KernelTable kTable = make_table<Lanes>(CpuTarget::i8mm);
#elif defined(__ARM_FEATURE_DOTPROD)
const KernelTable& dotprod_kernels() {
  static constexpr KernelTable kTable = make_table<Lanes>(CpuTarget::dotprod);
#else
const KernelTable& neon_kernels() {
  static constexpr KernelTable kTable = make_table<Lanes>(CpuTarget::neon);
#endif
  return kTable;
}

}  // namespace pteron::kernels::cpu
