// Elementwise operators: broadcast operands are converted in short runs to one compute type, a plain loop works on the run, and the
// result is converted to the out tensor's type. An operator is thus one loop for each compute type, whatever the dtypes are.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/portable/loops.h"
#include "kernels/portable/shape.h"

namespace pteron::portable {

// An input of an elementwise operator: a tensor, or a number that is the same for all elements.
struct Operand {
  const void* data = nullptr;
  ScalarType dtype = ScalarType::Float;
  const Tensor* tensor = nullptr;  // null for a number

  Operand() = default;
  Operand(const Tensor& from) : data(from.data()), dtype(from.dtype()), tensor(&from) {}  // NOLINT
  Operand(const Scalar& from)                                                             // NOLINT: the scalar must outlive the operand
      : data(from.is_number() ? static_cast<const void*>(&from.d) : &from.i),
        dtype(from.is_number() ? ScalarType::Double : ScalarType::Long) {}
};

// The loops of one operator: n results from n elements of each input. Null where the operator has no such form.
template <class T>
using PointwiseLoop = void (*)(const T* const* in, T* out, int64_t n);
struct PointwiseLoops {
  PointwiseLoop<float> f32 = nullptr;
  PointwiseLoop<double> f64 = nullptr;
  PointwiseLoop<int64_t> i64 = nullptr;
};

// How an operator's result comes about.
struct PointwiseTypes {
  ScalarType common = ScalarType::Float;  // operands are converted to this (and rounded to what it holds)
  bool predicate = false;                 // results are true or false, not values of `common`
};

// Resizes `out` to the broadcast sizes of `in` and fills it. At most 4 inputs.
Status pointwise(KernelContext& context, std::initializer_list<Operand> in, PointwiseTypes types, const PointwiseLoops& loops, Tensor& out);

namespace internal {

template <class Op, class T>
void loop1(const T* const* in, T* out, int64_t n) {
  const T* a = in[0];
  for (int64_t i = 0; i < n; ++i) out[i] = Op::apply(a[i]);
}
template <class Op, class T>
void loop2(const T* const* in, T* out, int64_t n) {
  const T *a = in[0], *b = in[1];
  for (int64_t i = 0; i < n; ++i) out[i] = Op::apply(a[i], b[i]);
}
template <class Op, class T>
void loop3(const T* const* in, T* out, int64_t n) {
  const T *a = in[0], *b = in[1], *c = in[2];
  for (int64_t i = 0; i < n; ++i) out[i] = Op::apply(a[i], b[i], c[i]);
}
template <class Op, class T>
void loop4(const T* const* in, T* out, int64_t n) {
  const T *a = in[0], *b = in[1], *c = in[2], *d = in[3];
  for (int64_t i = 0; i < n; ++i) out[i] = Op::apply(a[i], b[i], c[i], d[i]);
}

template <class Op, class T, size_t kInputs>
constexpr PointwiseLoop<T> loop_of() {
  if constexpr (kInputs == 1) return &loop1<Op, T>;
  else if constexpr (kInputs == 2) return &loop2<Op, T>;
  else if constexpr (kInputs == 3) return &loop3<Op, T>;
  else return &loop4<Op, T>;
}

}  // namespace internal

// The loops of `Op`, whose `apply` is a function of kInputs values of one type.
template <class Op, size_t kInputs>
inline constexpr PointwiseLoops kFloatLoops = {internal::loop_of<Op, float, kInputs>(), internal::loop_of<Op, double, kInputs>(), nullptr};
template <class Op, size_t kInputs>
inline constexpr PointwiseLoops kIntLoops = {nullptr, nullptr, internal::loop_of<Op, int64_t, kInputs>()};
template <class Op, size_t kInputs>
inline constexpr PointwiseLoops kAllLoops = {internal::loop_of<Op, float, kInputs>(), internal::loop_of<Op, double, kInputs>(),
                                             internal::loop_of<Op, int64_t, kInputs>()};

}  // namespace pteron::portable
