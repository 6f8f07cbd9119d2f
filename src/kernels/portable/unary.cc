// Elementwise operators of one tensor.
#include <cmath>
#include <limits>

#include "kernels/portable/families.h"
#include "kernels/portable/isa.h"
#include "kernels/portable/pointwise.h"

namespace pteron::portable {
namespace {

using runtime::make_kernel;

// Results in the input's type; integers have loops of their own.
template <class Op>
Status same_type(KernelContext& context, const Tensor& self, Tensor& out) {
  return pointwise(context, {self}, {self.dtype()}, kAllLoops<Op, 1>, out);
}

// Integers are computed, and given, in float.
template <const PointwiseLoops& kLoops>
Status in_float(KernelContext& context, const Tensor& self, Tensor& out) {
  return pointwise(context, {self}, {to_float(self.dtype())}, kLoops, out);
}

// True or false for each element.
template <class Op>
Status predicate(KernelContext& context, const Tensor& self, Tensor& out) {
  return pointwise(context, {self}, {self.dtype(), true}, kAllLoops<Op, 1>, out);
}

#define PTERON_FLOAT_OP(Name, expression)                   \
  struct Name {                                             \
    template <class T>                                      \
    static T apply(T x) {                                   \
      return static_cast<T>(expression);                    \
    }                                                       \
  };                                                        \
  constexpr PointwiseLoops k##Name##Loops = kFloatLoops<Name, 1>;
PTERON_FLOAT_OP(Acos, std::acos(x))
PTERON_FLOAT_OP(Acosh, std::acosh(x))
PTERON_FLOAT_OP(Asin, std::asin(x))
PTERON_FLOAT_OP(Asinh, std::asinh(x))
PTERON_FLOAT_OP(Atan, std::atan(x))
PTERON_FLOAT_OP(Atanh, std::atanh(x))
PTERON_FLOAT_OP(Cos, std::cos(x))
PTERON_FLOAT_OP(Cosh, std::cosh(x))
PTERON_FLOAT_OP(Erf, std::erf(x))
PTERON_FLOAT_OP(Expm1, std::expm1(x))
PTERON_FLOAT_OP(Log, std::log(x))
PTERON_FLOAT_OP(Log10, std::log10(x))
PTERON_FLOAT_OP(Log1p, std::log1p(x))
PTERON_FLOAT_OP(Log2, std::log2(x))
PTERON_FLOAT_OP(Reciprocal, 1 / x)
PTERON_FLOAT_OP(Rsqrt, 1 / std::sqrt(x))
PTERON_FLOAT_OP(Sin, std::sin(x))
PTERON_FLOAT_OP(Sinh, std::sinh(x))
PTERON_FLOAT_OP(Sqrt, std::sqrt(x))
PTERON_FLOAT_OP(Tan, std::tan(x))
PTERON_FLOAT_OP(Exp, std::exp(x))
PTERON_FLOAT_OP(Sigmoid, 1 / (1 + std::exp(-x)))
PTERON_FLOAT_OP(Tanh, std::tanh(x))
#undef PTERON_FLOAT_OP

// The three that language models are full of have vector loops for float.
void exp_f32(const float* const* in, float* out, int64_t n) { isa().exp(in[0], out, static_cast<size_t>(n)); }
void sigmoid_f32(const float* const* in, float* out, int64_t n) { isa().sigmoid(in[0], out, static_cast<size_t>(n)); }
void tanh_f32(const float* const* in, float* out, int64_t n) { isa().tanh(in[0], out, static_cast<size_t>(n)); }
constexpr PointwiseLoops kFastExp = {&exp_f32, kExpLoops.f64, nullptr};
constexpr PointwiseLoops kFastSigmoid = {&sigmoid_f32, kSigmoidLoops.f64, nullptr};
constexpr PointwiseLoops kFastTanh = {&tanh_f32, kTanhLoops.f64, nullptr};

struct Abs {
  template <class T>
  static T apply(T x) { return std::abs(x); }
  static int64_t apply(int64_t x) { return static_cast<int64_t>(x < 0 ? 0 - static_cast<uint64_t>(x) : static_cast<uint64_t>(x)); }
};
struct Neg {
  template <class T>
  static T apply(T x) { return -x; }
  static int64_t apply(int64_t x) { return static_cast<int64_t>(0 - static_cast<uint64_t>(x)); }
};
struct Ceil {
  template <class T>
  static T apply(T x) { return std::ceil(x); }
  static int64_t apply(int64_t x) { return x; }
};
struct Floor {
  template <class T>
  static T apply(T x) { return std::floor(x); }
  static int64_t apply(int64_t x) { return x; }
};
struct Trunc {
  template <class T>
  static T apply(T x) { return std::trunc(x); }
  static int64_t apply(int64_t x) { return x; }
};
struct Round {  // halves go to the even neighbour
  template <class T>
  static T apply(T x) { return std::nearbyint(x); }
  static int64_t apply(int64_t x) { return x; }
};
struct Relu {
  template <class T>
  static T apply(T x) { return x < T(0) ? T(0) : x; }  // NaN stays
};
struct Sign {
  static float apply(float x) { return x > 0 ? 1.0f : x < 0 ? -1.0f : 0.0f; }  // 0 for NaN, as PyTorch has it
  static double apply(double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : 0.0; }
  static int64_t apply(int64_t x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }
};
struct IsInf {
  template <class T>
  static T apply(T x) { return T(x == std::numeric_limits<T>::infinity() || x == -std::numeric_limits<T>::infinity()); }
  static int64_t apply(int64_t) { return 0; }
};
struct IsNan {
  template <class T>
  static T apply(T x) { return T(x != x); }
};
struct LogicalNot {
  template <class T>
  static T apply(T x) { return T(x == 0); }
};
struct BitwiseNot {
  static int64_t apply(int64_t x) { return ~x; }
};

Status bitwise_not(KernelContext& context, const Tensor& self, Tensor& out) {
  const PointwiseLoops& loops = self.dtype() == ScalarType::Bool ? kIntLoops<LogicalNot, 1> : kIntLoops<BitwiseNot, 1>;
  return pointwise(context, {self}, {self.dtype()}, loops, out);
}

constexpr Kernel kKernels[] = {
    make_kernel<&in_float<kAcosLoops>>("aten::acos.out"),
    make_kernel<&in_float<kAcoshLoops>>("aten::acosh.out"),
    make_kernel<&in_float<kAsinLoops>>("aten::asin.out"),
    make_kernel<&in_float<kAsinhLoops>>("aten::asinh.out"),
    make_kernel<&in_float<kAtanLoops>>("aten::atan.out"),
    make_kernel<&in_float<kAtanhLoops>>("aten::atanh.out"),
    make_kernel<&same_type<Ceil>>("aten::ceil.out"),
    make_kernel<&in_float<kCosLoops>>("aten::cos.out"),
    make_kernel<&in_float<kCoshLoops>>("aten::cosh.out"),
    make_kernel<&in_float<kErfLoops>>("aten::erf.out"),
    make_kernel<&in_float<kFastExp>>("aten::exp.out"),
    make_kernel<&in_float<kExpm1Loops>>("aten::expm1.out"),
    make_kernel<&same_type<Floor>>("aten::floor.out"),
    make_kernel<&predicate<IsInf>>("aten::isinf.out"),
    make_kernel<&predicate<IsNan>>("aten::isnan.out"),
    make_kernel<&in_float<kLogLoops>>("aten::log.out"),
    make_kernel<&in_float<kLog10Loops>>("aten::log10.out"),
    make_kernel<&in_float<kLog1pLoops>>("aten::log1p.out"),
    make_kernel<&in_float<kLog2Loops>>("aten::log2.out"),
    make_kernel<&predicate<LogicalNot>>("aten::logical_not.out"),
    make_kernel<&bitwise_not>("aten::bitwise_not.out"),
    make_kernel<&same_type<Neg>>("aten::neg.out"),
    make_kernel<&in_float<kReciprocalLoops>>("aten::reciprocal.out"),
    make_kernel<&same_type<Relu>>("aten::relu.out"),
    make_kernel<&same_type<Round>>("aten::round.out"),
    make_kernel<&in_float<kRsqrtLoops>>("aten::rsqrt.out"),
    make_kernel<&in_float<kFastSigmoid>>("aten::sigmoid.out"),
    make_kernel<&same_type<Sign>>("aten::sign.out"),
    make_kernel<&in_float<kSinLoops>>("aten::sin.out"),
    make_kernel<&in_float<kSinhLoops>>("aten::sinh.out"),
    make_kernel<&in_float<kSqrtLoops>>("aten::sqrt.out"),
    make_kernel<&in_float<kTanLoops>>("aten::tan.out"),
    make_kernel<&in_float<kFastTanh>>("aten::tanh.out"),
    make_kernel<&same_type<Trunc>>("aten::trunc.out"),
};

}  // namespace

std::span<const Kernel> unary_kernels() { return kKernels; }

}  // namespace pteron::portable
