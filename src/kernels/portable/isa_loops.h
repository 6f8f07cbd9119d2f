// The bodies of the loops in isa.h, written over a vector type V that each <isa>.cc supplies and compiled there for its instruction set.
// Everything has internal linkage, so that no code of one instruction set is linked in the place of another's.
//
// V: kLanes; Reg; zero(), set1(float), load(const float*), load(const Half*), load(const BFloat16*), store(float*, Reg), add,
// fma(a, b, c) = a * b + c, sum(Reg); kTileM x kTileN accumulators of a dot tile and kGemmM x 2 of a gemm tile fit its registers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/portable/isa.h"

namespace pteron::portable {
namespace {

struct Half { uint16_t bits; };
struct BFloat16 { uint16_t bits; };

inline float widen(float x) { return x; }
inline float widen(BFloat16 x) { return __builtin_bit_cast(float, static_cast<uint32_t>(x.bits) << 16); }
inline float widen(Half x) {
  const uint32_t magnitude = (x.bits & 0x7fffu) << 13, sign = (x.bits & 0x8000u) << 16;
  const float scaled = __builtin_bit_cast(float, magnitude) * 0x1p112f;  // moves the exponent and makes subnormals normal
  const uint32_t bits = magnitude >= 0x0f800000u ? magnitude | 0x7f800000u : __builtin_bit_cast(uint32_t, scaled);
  return __builtin_bit_cast(float, bits | sign);
}

// kM x kN results; k in steps of kLanes, the rest one by one.
template <class V, class W, int kM, int kN>
inline void dot_tile(const DotArgs& g, int64_t i, int64_t j) {
  const float* a = g.a + i * g.lda;
  const W* w = static_cast<const W*>(g.w) + j * g.ldw;
  typename V::Reg acc[kM][kN];
  for (int x = 0; x < kM; ++x) {
    for (int y = 0; y < kN; ++y) acc[x][y] = V::zero();
  }
  int64_t k = 0;
  for (; k + V::kLanes <= g.k; k += V::kLanes) {
    typename V::Reg rows[kN];
    for (int y = 0; y < kN; ++y) rows[y] = V::load(w + y * g.ldw + k);
    for (int x = 0; x < kM; ++x) {
      const typename V::Reg column = V::load(a + x * g.lda + k);
      for (int y = 0; y < kN; ++y) acc[x][y] = V::fma(column, rows[y], acc[x][y]);
    }
  }
  for (int x = 0; x < kM; ++x) {
    for (int y = 0; y < kN; ++y) {
      float sum = V::sum(acc[x][y]);
      for (int64_t t = k; t < g.k; ++t) sum += a[x * g.lda + t] * widen(w[y * g.ldw + t]);
      g.c[(i + x) * g.ldc + j + y] = sum + (g.bias != nullptr ? g.bias[j + y] : 0.0f);
    }
  }
}

// One row of a against the rows of w one after another: w is one long stream, which the processor fetches ahead best.
template <class V, class W>
void dot_rows(const DotArgs& g, int64_t i) {
  constexpr int kSteps = 8;
  constexpr int64_t kAhead = 2048;  // bytes
  const float* a = g.a + i * g.lda;
  for (int64_t j = 0; j < g.n; ++j) {
    const W* w = static_cast<const W*>(g.w) + j * g.ldw;
    typename V::Reg acc[kSteps];
    for (int s = 0; s < kSteps; ++s) acc[s] = V::zero();
    int64_t k = 0;
    for (; k + kSteps * V::kLanes <= g.k; k += kSteps * V::kLanes) {
      for (size_t line = 0; line < kSteps * V::kLanes * sizeof(W); line += 64) {
        __builtin_prefetch(reinterpret_cast<const char*>(w + k) + kAhead + line);
      }
      for (int s = 0; s < kSteps; ++s) acc[s] = V::fma(V::load(a + k + s * V::kLanes), V::load(w + k + s * V::kLanes), acc[s]);
    }
    for (; k + V::kLanes <= g.k; k += V::kLanes) acc[0] = V::fma(V::load(a + k), V::load(w + k), acc[0]);
    for (int s = 1; s < kSteps; ++s) acc[0] = V::add(acc[0], acc[s]);
    float sum = V::sum(acc[0]);
    for (int64_t t = k; t < g.k; ++t) sum += a[t] * widen(w[t]);
    g.c[i * g.ldc + j] = sum + (g.bias != nullptr ? g.bias[j] : 0.0f);
  }
}

// Columns [from, to) of kM rows.
template <class V, class W, int kM>
inline void dot_strip(const DotArgs& g, int64_t i, int64_t from, int64_t to) {
  int64_t j = from;
  for (; j + V::kTileN <= to; j += V::kTileN) dot_tile<V, W, kM, V::kTileN>(g, i, j);
  for (; j < to; ++j) dot_tile<V, W, kM, 1>(g, i, j);
}

template <class V, class W>
void dot(const DotArgs& g) {
  if (g.m < 3) {
    for (int64_t i = 0; i < g.m; ++i) dot_rows<V, W>(g, i);
    return;
  }
  // Rows of w that stay in the second-level cache while all rows of a pass by.
  constexpr int64_t kBlockBytes = 192 * 1024;
  int64_t block = kBlockBytes / (static_cast<int64_t>(sizeof(W)) * (g.k > 0 ? g.k : 1)) / V::kTileN * V::kTileN;
  if (block < V::kTileN) block = V::kTileN;
  for (int64_t from = 0; from < g.n; from += block) {
    const int64_t to = from + block < g.n ? from + block : g.n;
    int64_t i = 0;
    for (; i + V::kTileM <= g.m; i += V::kTileM) dot_strip<V, W, V::kTileM>(g, i, from, to);
    for (; i < g.m; ++i) dot_strip<V, W, 1>(g, i, from, to);
  }
}

// kM rows and kVectors vectors of columns of a gemm.
template <class V, int kM, int kVectors>
inline void gemm_tile(const GemmArgs& g, int64_t i, int64_t j) {
  typename V::Reg acc[kM][kVectors];
  for (int x = 0; x < kM; ++x) {
    for (int y = 0; y < kVectors; ++y) acc[x][y] = g.accumulate ? V::load(g.c + (i + x) * g.ldc + j + y * V::kLanes) : V::zero();
  }
  const float* b = g.b + j;
  for (int64_t k = 0; k < g.k; ++k, b += g.ldb) {
    typename V::Reg row[kVectors];
    for (int y = 0; y < kVectors; ++y) row[y] = V::load(b + y * V::kLanes);
    for (int x = 0; x < kM; ++x) {
      const typename V::Reg factor = V::set1(g.a[(i + x) * g.lda + k]);
      for (int y = 0; y < kVectors; ++y) acc[x][y] = V::fma(factor, row[y], acc[x][y]);
    }
  }
  for (int x = 0; x < kM; ++x) {
    for (int y = 0; y < kVectors; ++y) V::store(g.c + (i + x) * g.ldc + j + y * V::kLanes, acc[x][y]);
  }
}

// All rows of kVectors vectors of columns: the panel of b stays in cache while the rows of a pass by.
template <class V, int kVectors>
inline void gemm_panel(const GemmArgs& g, int64_t j) {
  int64_t i = 0;
  for (; i + V::kGemmM <= g.m; i += V::kGemmM) gemm_tile<V, V::kGemmM, kVectors>(g, i, j);
  for (; i < g.m; ++i) gemm_tile<V, 1, kVectors>(g, i, j);
}

template <class V>
void gemm(const GemmArgs& g) {
  int64_t j = 0;
  for (; j + 2 * V::kLanes <= g.n; j += 2 * V::kLanes) gemm_panel<V, 2>(g, j);
  for (; j + V::kLanes <= g.n; j += V::kLanes) gemm_panel<V, 1>(g, j);
  for (int64_t i = 0; j < g.n && i < g.m; ++i) {
    for (int64_t x = j; x < g.n; ++x) {
      float sum = g.accumulate ? g.c[i * g.ldc + x] : 0.0f;
      for (int64_t k = 0; k < g.k; ++k) sum += g.a[i * g.lda + k] * g.b[k * g.ldb + x];
      g.c[i * g.ldc + x] = sum;
    }
  }
}

// Elementary functions as branch-free arithmetic, which compilers turn into vector code.

// Cody-Waite reduction by ln 2 in two parts, then a polynomial on [-ln2/2, ln2/2]; the power of two is applied in two halves so that
// results reach from subnormal numbers to infinity.
inline float exp_one(float x) {
  x = x > 89.0f ? 89.0f : x;
  x = x < -104.0f ? -104.0f : x;
  constexpr float kRound = 0x1.8p23f;
  const float shifted = x * 1.44269504088896341f + kRound;
  const int32_t n = __builtin_bit_cast(int32_t, shifted) - __builtin_bit_cast(int32_t, kRound);
  const float whole = shifted - kRound;
  const float r = (x - whole * 0.693359375f) - whole * -2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  const int32_t half = n >> 1;
  return p * __builtin_bit_cast(float, (half + 127) << 23) * __builtin_bit_cast(float, (n - half + 127) << 23);
}

inline float sigmoid_one(float x) { return 1.0f / (1.0f + exp_one(-x)); }

inline float tanh_one(float x) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, x);
  const float magnitude = __builtin_bit_cast(float, bits & 0x7fffffffu);
  const float z = x * x;
  float p = -5.70498872745e-3f;
  p = p * z + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  const float small = p * z * x + x;
  const float large = 1.0f - 2.0f / (exp_one(2.0f * magnitude) + 1.0f);
  const float signed_large = __builtin_bit_cast(float, __builtin_bit_cast(uint32_t, large) | (bits & 0x80000000u));
  return magnitude < 0.625f ? small : signed_large;
}

void exp_loop(const float* in, float* out, size_t n) {
  for (size_t i = 0; i < n; ++i) out[i] = exp_one(in[i]);
}
void sigmoid_loop(const float* in, float* out, size_t n) {
  for (size_t i = 0; i < n; ++i) out[i] = sigmoid_one(in[i]);
}
void tanh_loop(const float* in, float* out, size_t n) {
  for (size_t i = 0; i < n; ++i) out[i] = tanh_one(in[i]);
}

float exp_sum_loop(const float* in, float shift, float* out, size_t n) {
  constexpr size_t kLanes = 16;
  float sums[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (size_t l = 0; l < kLanes; ++l) {
      const float e = exp_one(in[i + l] - shift);
      out[i + l] = e;
      sums[l] += e;
    }
  }
  float sum = 0;
  for (; i < n; ++i) sum += out[i] = exp_one(in[i] - shift);
  for (float s : sums) sum += s;
  return sum;
}

float max_loop(const float* in, size_t n) {
  constexpr size_t kLanes = 16;
  float best[kLanes];
  for (float& b : best) b = in[0];
  bool unordered = false;
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (size_t l = 0; l < kLanes; ++l) {
      best[l] = in[i + l] > best[l] ? in[i + l] : best[l];
      unordered |= in[i + l] != in[i + l];
    }
  }
  float result = best[0];
  for (float b : best) result = b > result ? b : result;
  for (; i < n; ++i) {
    result = in[i] > result ? in[i] : result;
    unordered |= in[i] != in[i];
  }
  return unordered ? __builtin_nanf("") : result;
}

void scale_loop(const float* in, float factor, float* out, size_t n) {
  for (size_t i = 0; i < n; ++i) out[i] = in[i] * factor;
}

float sum_of_squares_loop(const float* in, size_t n) {
  constexpr size_t kLanes = 16;
  float sums[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (size_t l = 0; l < kLanes; ++l) sums[l] += in[i + l] * in[i + l];
  }
  float sum = 0;
  for (; i < n; ++i) sum += in[i] * in[i];
  for (float s : sums) sum += s;
  return sum;
}

// The table of an instruction set with vectors V.
template <class V>
constexpr Isa make_isa(CpuTarget target, void (*half_to_float)(const uint16_t*, float*, size_t),
                       void (*float_to_half)(const float*, uint16_t*, size_t)) {
  Isa isa;
  isa.target = target;
  isa.dot_f32 = &dot<V, float>;
  isa.dot_f16 = &dot<V, Half>;
  isa.dot_bf16 = &dot<V, BFloat16>;
  isa.gemm = &gemm<V>;
  isa.half_to_float = half_to_float;
  isa.float_to_half = float_to_half;
  isa.exp = &exp_loop;
  isa.sigmoid = &sigmoid_loop;
  isa.tanh = &tanh_loop;
  isa.exp_sum = &exp_sum_loop;
  isa.max = &max_loop;
  isa.scale = &scale_loop;
  isa.sum_of_squares = &sum_of_squares_loop;
  return isa;
}

}  // namespace
}  // namespace pteron::portable
