// Kernels over one row of floats: quantisation, norms, activations, rotation, conversion. `V` as in simd_matmul.h.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/kernels.h"
#include "kernels/cpu/simd_matmul.h"
#include "kernels/cpu/tables.h"

namespace pteron::kernels::cpu {
namespace {

// e^x within 2 units in the last place, for x clamped to [-87.3, 88.3]; NaN stays NaN.
template <class V>
PTERON_INLINE typename V::F exponential(typename V::F x) {
  x = V::max(V::set(-87.3f), V::min(V::set(88.3f), x));
  const typename V::I n = V::to_int(V::mul(x, V::set(1.44269504f)));
  const typename V::F whole = V::to_float(n);
  typename V::F r = V::fnma(whole, V::set(0.693359375f), x);
  r = V::fnma(whole, V::set(-2.12194440e-4f), r);
  typename V::F p = V::set(1.9875691500e-4f);
  p = V::fma(p, r, V::set(1.3981999507e-3f));
  p = V::fma(p, r, V::set(8.3334519073e-3f));
  p = V::fma(p, r, V::set(4.1665795894e-2f));
  p = V::fma(p, r, V::set(1.6666665459e-1f));
  p = V::fma(p, r, V::set(5.0000001201e-1f));
  p = V::add(V::fma(p, V::mul(r, r), r), V::set(1.0f));
  return V::mul(p, V::power_of_two(n));
}

template <class V>
PTERON_INLINE typename V::F sigmoid_times(typename V::F x, typename V::F argument) {
  return V::div(x, V::add(V::set(1.0f), exponential<V>(V::sub(V::zero(), argument))));
}

struct Silu {
  template <class V>
  static PTERON_INLINE typename V::F apply(typename V::F x) { return sigmoid_times<V>(x, x); }
};

// 0.5 x (1 + tanh(u)) = x sigmoid(2 u)
struct GeluTanh {
  template <class V>
  static PTERON_INLINE typename V::F apply(typename V::F x) {
    const typename V::F cubic = V::fma(V::mul(x, x), V::set(0.044715f), V::set(1.0f));
    return sigmoid_times<V>(x, V::mul(V::mul(x, cubic), V::set(1.5957691216f)));
  }
};

// With erf after Abramowitz and Stegun 7.1.26 (absolute error 1.5e-7).
struct GeluErf {
  template <class V>
  static PTERON_INLINE typename V::F apply(typename V::F x) {
    const typename V::F z = V::mul(V::abs(x), V::set(0.70710678f));
    const typename V::F t = V::div(V::set(1.0f), V::fma(z, V::set(0.3275911f), V::set(1.0f)));
    typename V::F p = V::set(1.061405429f);
    p = V::fma(p, t, V::set(-1.453152027f));
    p = V::fma(p, t, V::set(1.421413741f));
    p = V::fma(p, t, V::set(-0.284496736f));
    p = V::fma(p, t, V::set(0.254829592f));
    const typename V::F tail = V::mul(V::mul(p, t), exponential<V>(V::sub(V::zero(), V::mul(z, z))));
    const typename V::F half = V::fnma(tail, V::set(0.5f), V::set(0.5f));
    return V::mul(x, V::add(V::set(0.5f), V::copy_sign(half, x)));
  }
};

struct Relu {
  template <class V>
  static PTERON_INLINE typename V::F apply(typename V::F x) { return V::max(V::zero(), x); }
};

// Calls f(offset, width) for whole vectors and for the rest.
template <class V, class F>
PTERON_INLINE void each_vector(size_t n, F&& f) {
  size_t i = 0;
  for (; i + V::kLanes <= n; i += V::kLanes) f(i, V::kLanes);
  if (i < n) f(i, n - i);
}

template <class V, class Op>
void map_unary(const float* x, size_t n, float* y) {
  each_vector<V>(n, [&](size_t i, size_t width) { V::store_some(y + i, width, Op::template apply<V>(V::load_some(x + i, width))); });
}

template <class V, class Op>
void map_gated(const float* gate, const float* up, size_t n, float* y) {
  each_vector<V>(n, [&](size_t i, size_t width) {
    V::store_some(y + i, width, V::mul(Op::template apply<V>(V::load_some(gate + i, width)), V::load_some(up + i, width)));
  });
}

template <class V>
PTERON_INLINE typename V::F soft_cap(typename V::F x, typename V::F cap, typename V::F twice_inverse) {
  const typename V::F e = V::add(exponential<V>(V::mul(x, twice_inverse)), V::set(1.0f));
  return V::mul(cap, V::sub(V::set(1.0f), V::div(V::set(2.0f), e)));
}

template <class V>
PTERON_INLINE void quantize_group(const float* x, int8_t* values, GroupScale& group) {
  constexpr size_t kVectors = kGroupColumns / V::kLanes;
  typename V::I largest = V::zero_int();
#pragma GCC unroll 8
  for (size_t v = 0; v < kVectors; ++v) largest = V::max_int(largest, V::magnitude_bits(V::load(x + v * V::kLanes)));
  const int32_t bits = V::reduce_max(largest);
  const bool finite = bits < 0x7f800000;
  float maximum = 0;
  if (finite) std::memcpy(&maximum, &bits, sizeof maximum);
  const bool zero = maximum < kSmallestMaximum;
  const typename V::F inverse = V::set(zero ? 0 : 127.0f / maximum);
  typename V::I sums[2] = {V::zero_int(), V::zero_int()};
#pragma GCC unroll 8
  for (size_t v = 0; v < kVectors; ++v) {
    const typename V::I whole = finite ? V::to_int(V::mul(V::load(x + v * V::kLanes), inverse)) : V::zero_int();
    V::store_int8(values + v * V::kLanes, whole);
    sums[v * 2 / kVectors] = V::add_int(sums[v * 2 / kVectors], whole);
  }
  const int32_t low = V::reduce_add(sums[0]), high = V::reduce_add(sums[1]);
  group.scale = finite ? (zero ? 0 : maximum / 127.0f) : std::numeric_limits<float>::quiet_NaN();
  group.low_sum = static_cast<float>(low);
  group.high_sum = static_cast<float>(high);
  group.sum = static_cast<float>(low + high);
}

template <class V>
void quantize_floats(const float* x, size_t n, int8_t* values, GroupScale* groups) {
  size_t i = 0;
  for (; i + kGroupColumns <= n; i += kGroupColumns) quantize_group<V>(x + i, values + i, groups[i / kGroupColumns]);
  if (i == n) return;
  float padded[kGroupColumns] = {};
  std::memcpy(padded, x + i, (n - i) * sizeof(float));
  quantize_group<V>(padded, values + i, groups[i / kGroupColumns]);
}

template <class V>
void normalize_rms(const float* x, const float* weight, float eps, float offset, size_t n, float* y) {
  typename V::F squares = V::zero();
  each_vector<V>(n, [&](size_t i, size_t width) {
    const typename V::F value = V::load_some(x + i, width);
    squares = V::fma(value, value, squares);
  });
  const typename V::F factor = V::set(1.0f / std::sqrt(V::sum(squares) / static_cast<float>(n) + eps));
  const typename V::F shift = V::set(offset);
  each_vector<V>(n, [&](size_t i, size_t width) {
    const typename V::F value = V::mul(V::load_some(x + i, width), factor);
    V::store_some(y + i, width, weight != nullptr ? V::mul(value, V::add(V::load_some(weight + i, width), shift)) : value);
  });
}

template <class V>
void normalize_layer(const float* x, const float* weight, const float* bias, float eps, size_t n, float* y) {
  typename V::F total = V::zero();
  each_vector<V>(n, [&](size_t i, size_t width) { total = V::add(total, V::load_some(x + i, width)); });
  const float mean = V::sum(total) / static_cast<float>(n);
  const typename V::F center = V::set(mean);
  typename V::F squares = V::zero();
  size_t whole = n / V::kLanes * V::kLanes;
  for (size_t i = 0; i < whole; i += V::kLanes) {
    const typename V::F value = V::sub(V::load(x + i), center);
    squares = V::fma(value, value, squares);
  }
  float variance = V::sum(squares);
  for (size_t i = whole; i < n; ++i) variance += (x[i] - mean) * (x[i] - mean);
  const typename V::F factor = V::set(1.0f / std::sqrt(variance / static_cast<float>(n) + eps));
  each_vector<V>(n, [&](size_t i, size_t width) {
    typename V::F value = V::mul(V::sub(V::load_some(x + i, width), center), factor);
    if (weight != nullptr) value = V::mul(value, V::load_some(weight + i, width));
    if (bias != nullptr) value = V::add(value, V::load_some(bias + i, width));
    V::store_some(y + i, width, value);
  });
}

template <class V>
void rotate_split(float* x, const float* cos, const float* sin, size_t half) {
  each_vector<V>(half, [&](size_t i, size_t width) {
    const typename V::F a = V::load_some(x + i, width), b = V::load_some(x + half + i, width);
    const typename V::F c = V::load_some(cos + i, width), s = V::load_some(sin + i, width);
    V::store_some(x + i, width, V::sub(V::mul(a, c), V::mul(b, s)));
    V::store_some(x + half + i, width, V::add(V::mul(b, c), V::mul(a, s)));
  });
}

inline void rotate_pairs(float* x, const float* cos, const float* sin, size_t half) {
  for (size_t i = 0; i < half; ++i) {
    const float a = x[2 * i], b = x[2 * i + 1];
    x[2 * i] = a * cos[i] - b * sin[i];
    x[2 * i + 1] = b * cos[i] + a * sin[i];
  }
}

}  // namespace
}  // namespace pteron::kernels::cpu
