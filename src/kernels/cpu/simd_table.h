// Makes the table of an instruction set from its vectors `V`, and says once which function is which kernel.
#pragma once

#include "kernels/cpu/simd_attention.h"
#include "kernels/cpu/simd_matmul.h"
#include "kernels/cpu/simd_rows.h"
#include "kernels/cpu/tables.h"

namespace pteron::kernels::cpu {
namespace {

template <class V>
struct Simd {
  static void matmul_float32(const MatmulArgs& args) { matmul_floats<V, PackedEncoding::float32>(args); }
  static void matmul_float16(const MatmulArgs& args) { matmul_floats<V, PackedEncoding::float16>(args); }
  static void matmul_bfloat16(const MatmulArgs& args) { matmul_floats<V, PackedEncoding::bfloat16>(args); }
  static void matmul_int8(const MatmulArgs& args) { matmul_integers<V, PackedEncoding::int8>(args); }
  static void matmul_int4(const MatmulArgs& args) { matmul_integers<V, PackedEncoding::int4>(args); }
  static void matmul_int4_affine(const MatmulArgs& args) { matmul_integers<V, PackedEncoding::int4_affine>(args); }
  static void matmul_int5(const MatmulArgs& args) { matmul_integers<V, PackedEncoding::int5>(args); }
  static void matmul_int5_affine(const MatmulArgs& args) { matmul_integers<V, PackedEncoding::int5_affine>(args); }
  static void matmul_int6(const MatmulArgs& args) { matmul_integers<V, PackedEncoding::int6>(args); }

  static void quantize_row(const float* x, size_t n, int8_t* values, GroupScale* groups) { quantize_floats<V>(x, n, values, groups); }
  static void rms_norm(const float* x, const float* weight, float eps, float offset, size_t n, float* y) {
    normalize_rms<V>(x, weight, eps, offset, n, y);
  }
  static void layer_norm(const float* x, const float* weight, const float* bias, float eps, size_t n, float* y) {
    normalize_layer<V>(x, weight, bias, eps, n, y);
  }
  static void rope_split(float* x, const float* cos, const float* sin, size_t half) { rotate_split<V>(x, cos, sin, half); }
  static void rope_interleaved(float* x, const float* cos, const float* sin, size_t half) { rotate_pairs(x, cos, sin, half); }

  static void silu(const float* x, size_t n, float* y) { map_unary<V, Silu>(x, n, y); }
  static void gelu_tanh(const float* x, size_t n, float* y) { map_unary<V, GeluTanh>(x, n, y); }
  static void gelu_erf(const float* x, size_t n, float* y) { map_unary<V, GeluErf>(x, n, y); }
  static void relu(const float* x, size_t n, float* y) { map_unary<V, Relu>(x, n, y); }
  static void silu_mul(const float* gate, const float* up, size_t n, float* y) { map_gated<V, Silu>(gate, up, n, y); }
  static void gelu_tanh_mul(const float* gate, const float* up, size_t n, float* y) { map_gated<V, GeluTanh>(gate, up, n, y); }
  static void gelu_erf_mul(const float* gate, const float* up, size_t n, float* y) { map_gated<V, GeluErf>(gate, up, n, y); }
  static void relu_mul(const float* gate, const float* up, size_t n, float* y) { map_gated<V, Relu>(gate, up, n, y); }
  static void softcap(const float* x, float cap, size_t n, float* y) {
    const typename V::F limit = V::set(cap), factor = V::set(2.0f / cap);
    each_vector<V>(n, [&](size_t i, size_t width) { V::store_some(y + i, width, soft_cap<V>(V::load_some(x + i, width), limit, factor)); });
  }

  static void add_scaled(const float* a, const float* b, float scale_in, size_t n, float* y) {
    const typename V::F factor = V::set(scale_in);
    each_vector<V>(n, [&](size_t i, size_t width) {
      V::store_some(y + i, width, V::fma(factor, V::load_some(b + i, width), V::load_some(a + i, width)));
    });
  }
  static void multiply(const float* a, const float* b, size_t n, float* y) {
    each_vector<V>(n, [&](size_t i, size_t width) { V::store_some(y + i, width, V::mul(V::load_some(a + i, width), V::load_some(b + i, width))); });
  }
  static void scale(const float* x, float factor_in, size_t n, float* y) {
    const typename V::F factor = V::set(factor_in);
    each_vector<V>(n, [&](size_t i, size_t width) { V::store_some(y + i, width, V::mul(factor, V::load_some(x + i, width))); });
  }

  static void to_float16(const float* x, size_t n, uint16_t* y) { narrow(x, n, y, [](uint16_t* to, typename V::F value) { V::store_float16(to, value); }); }
  static void to_bfloat16(const float* x, size_t n, uint16_t* y) { narrow(x, n, y, [](uint16_t* to, typename V::F value) { V::store_bfloat16(to, value); }); }
  static void from_float16(const uint16_t* x, size_t n, float* y) { widen<Element::float16>(x, n, y); }
  static void from_bfloat16(const uint16_t* x, size_t n, float* y) { widen<Element::bfloat16>(x, n, y); }

  static void attention_float32(const AttentionArgs& args) { attend<V, Element::float32>(args); }
  static void attention_float16(const AttentionArgs& args) { attend<V, Element::float16>(args); }
  static void attention_bfloat16(const AttentionArgs& args) { attend<V, Element::bfloat16>(args); }
  static void attention_join(const AttentionJoinArgs& args) { join_splits<V>(args); }
  static void dot_bytes(size_t rounds, uint64_t* multiplications) { *multiplications = count_products<V>(rounds); }
  static void read_bytes(const std::byte* data, size_t bytes, uint64_t* sum) { *sum = V::read(data, bytes); }

 private:
  template <class Store>
  static PTERON_INLINE void narrow(const float* x, size_t n, uint16_t* y, Store&& store) {
    each_vector<V>(n, [&](size_t i, size_t width) {
      if (width == V::kLanes) return store(y + i, V::load(x + i));
      uint16_t lanes[V::kLanes];
      store(lanes, V::load_some(x + i, width));
      std::memcpy(y + i, lanes, width * sizeof *y);
    });
  }
  template <Element kElement>
  static PTERON_INLINE void widen(const uint16_t* x, size_t n, float* y) {
    each_vector<V>(n, [&](size_t i, size_t width) { V::store_some(y + i, width, load_element_some<V, kElement>(x + i, width)); });
  }
};

template <class V>
constexpr KernelTable make_table(CpuTarget target) {
  return {
      target,
#define PTERON_KERNEL(name, parameters) &Simd<V>::name,
#include "kernels/cpu/kernels.def"
#undef PTERON_KERNEL
  };
}

// What `V` needs beyond the instruction set's own: rows that end inside a vector.
template <class V>
struct Partial {
  template <class T = V>
  static PTERON_INLINE auto load_some(const float* x, size_t width) {
    if (width == T::kLanes) return T::load(x);
    float lanes[T::kLanes] = {};
    for (size_t i = 0; i < width; ++i) lanes[i] = x[i];
    return T::load(lanes);
  }
  template <class F, class T = V>
  static PTERON_INLINE void store_some(float* y, size_t width, F value) {
    if (width == T::kLanes) return T::store(y, value);
    float lanes[T::kLanes];
    T::store(lanes, value);
    for (size_t i = 0; i < width; ++i) y[i] = lanes[i];
  }
};

}  // namespace
}  // namespace pteron::kernels::cpu
