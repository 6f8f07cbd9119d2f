// Elementwise arithmetic of two tensors, or of a tensor and a number.
#include <cmath>
#include <limits>

#include "kernels/portable/complex.h"
#include "kernels/portable/families.h"
#include "kernels/portable/pointwise.h"

namespace pteron::portable {
namespace {

using runtime::make_kernel;

uint64_t bits(int64_t x) { return static_cast<uint64_t>(x); }

struct AddScaled {  // a + alpha * b
  template <class T>
  static T apply(T a, T b, T alpha) { return a + alpha * b; }
  static int64_t apply(int64_t a, int64_t b, int64_t alpha) { return static_cast<int64_t>(bits(a) + bits(alpha) * bits(b)); }
};
struct SubScaled {
  template <class T>
  static T apply(T a, T b, T alpha) { return a - alpha * b; }
  static int64_t apply(int64_t a, int64_t b, int64_t alpha) { return static_cast<int64_t>(bits(a) - bits(alpha) * bits(b)); }
};
struct ReverseSubScaled {
  template <class T>
  static T apply(T a, T b, T alpha) { return SubScaled::apply(b, a, alpha); }
};
struct Add {
  template <class T>
  static T apply(T a, T b) { return a + b; }
  static int64_t apply(int64_t a, int64_t b) { return static_cast<int64_t>(bits(a) + bits(b)); }
};
struct Sub {
  template <class T>
  static T apply(T a, T b) { return a - b; }
  static int64_t apply(int64_t a, int64_t b) { return static_cast<int64_t>(bits(a) - bits(b)); }
};
struct Mul {
  template <class T>
  static T apply(T a, T b) { return a * b; }
  static int64_t apply(int64_t a, int64_t b) { return static_cast<int64_t>(bits(a) * bits(b)); }
};
struct Div {
  template <class T>
  static T apply(T a, T b) { return a / b; }
};

// Integer quotients wrap at the smallest number by minus one. Zero divisors are refused before these run.
int64_t quotient(int64_t a, int64_t b) { return b == -1 ? static_cast<int64_t>(0 - bits(a)) : b == 0 ? 0 : a / b; }
int64_t rest(int64_t a, int64_t b) { return b == -1 || b == 0 ? 0 : a % b; }

struct DivTrunc {
  template <class T>
  static T apply(T a, T b) { return std::trunc(a / b); }
  static int64_t apply(int64_t a, int64_t b) { return quotient(a, b); }
};
struct DivFloor {
  // Python's: exact where a / b rounds up to a whole number that is too large.
  template <class T>
  static T apply(T a, T b) {
    if (b == 0) return a / b;
    const T remainder = std::fmod(a, b);
    T result = (a - remainder) / b;
    if (remainder != 0 && (b < 0) != (remainder < 0)) result -= T(1);
    if (result == 0) return std::copysign(T(0), a / b);
    const T floored = std::floor(result);
    return result - floored > T(0.5) ? floored + T(1) : floored;
  }
  static int64_t apply(int64_t a, int64_t b) { return rest(a, b) != 0 && (a < 0) != (b < 0) ? quotient(a, b) - 1 : quotient(a, b); }
};
struct Fmod {
  template <class T>
  static T apply(T a, T b) { return std::fmod(a, b); }
  static int64_t apply(int64_t a, int64_t b) { return rest(a, b); }
};
struct Remainder {  // has the divisor's sign
  template <class T>
  static T apply(T a, T b) {
    const T r = std::fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
  }
  static int64_t apply(int64_t a, int64_t b) {
    const int64_t r = rest(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
  }
};
struct Atan2 {
  template <class T>
  static T apply(T a, T b) { return std::atan2(a, b); }
};
struct Maximum {
  template <class T>
  static T apply(T a, T b) { return a != a ? a : b != b ? b : a > b ? a : b; }
};
struct Minimum {
  template <class T>
  static T apply(T a, T b) { return a != a ? a : b != b ? b : a < b ? a : b; }
};
struct Pow {
  static float apply(float a, float b) { return b == 2 ? a * a : std::pow(a, b); }
  static double apply(double a, double b) { return b == 2 ? a * a : std::pow(a, b); }
  static int64_t apply(int64_t a, int64_t b) {
    if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 == 0 ? 1 : -1) : 0;
    uint64_t result = 1, base = bits(a);
    for (; b > 0; b >>= 1, base *= base) {
      if ((b & 1) != 0) result *= base;
    }
    return static_cast<int64_t>(result);
  }
};

bool is_one(const Scalar& alpha) { return alpha.as_double() == 1; }

// A float factor on integers would be lost in the conversion.
Status check_alpha(const Scalar& alpha, ScalarType common) {
  return expect(!alpha.is_number() || !is_int_or_bool(common), "alpha must be an integer for integer tensors");
}

template <class Plain, class Scaled>
Status add_like(KernelContext& context, const Tensor& self, const Tensor& other, Scalar alpha, Tensor& out) {
  const ScalarType common = promote(self, other);
  if (is_one(alpha)) return pointwise(context, {self, other}, {common}, kAllLoops<Plain, 2>, out);
  PTERON_TRY(check_alpha(alpha, common));
  return pointwise(context, {self, other, alpha}, {common}, kAllLoops<Scaled, 3>, out);
}

template <class Scaled>
Status add_number(KernelContext& context, const Tensor& self, Scalar other, Scalar alpha, Tensor& out) {
  const ScalarType common = promote(self, other);
  PTERON_TRY(check_alpha(alpha, common));
  return pointwise(context, {self, other, alpha}, {common}, kAllLoops<Scaled, 3>, out);
}

template <class Op>
Status binary(KernelContext& context, const Tensor& self, const Tensor& other, Tensor& out) {
  return pointwise(context, {self, other}, {promote(self, other)}, kAllLoops<Op, 2>, out);
}
template <class Op>
Status with_number(KernelContext& context, const Tensor& self, Scalar other, Tensor& out) {
  return pointwise(context, {self, other}, {promote(self, other)}, kAllLoops<Op, 2>, out);
}
// Products also take complex tensors.
Status mul(KernelContext& context, const Tensor& self, const Tensor& other, Tensor& out) {
  if (!is_complex(self.dtype()) && !is_complex(other.dtype())) return binary<Mul>(context, self, other, out);
  return complex_binary(self, other, [](std::complex<double> a, std::complex<double> b) { return a * b; }, out);
}

template <class Op>
Status binary_in_float(KernelContext& context, const Tensor& self, const Tensor& other, Tensor& out) {
  return pointwise(context, {self, other}, {to_float(promote(self, other))}, kFloatLoops<Op, 2>, out);
}

// Integer division by zero is an error, as in PyTorch.
Status check_divisor(const Tensor& self, const Tensor& divisor) {
  if (!is_int_or_bool(promote(self, divisor)) || !is_int_or_bool(divisor.dtype())) return {};
  const auto* bytes = divisor.data<unsigned char>();
  const size_t size = divisor.element_bytes();
  for (size_t i = 0; i < divisor.numel(); ++i) {
    bool zero = true;
    for (size_t b = 0; b < size; ++b) zero = zero && bytes[i * size + b] == 0;
    if (zero && self.numel() > 0) return bad("integer division by zero");
  }
  return {};
}
Status check_divisor(const Tensor& self, const Scalar& divisor) {
  return expect(!is_int_or_bool(promote(self, divisor)) || divisor.as_double() != 0, "integer division by zero");
}

template <class Op>
Status divide(KernelContext& context, const Tensor& self, const Tensor& other, Tensor& out) {
  PTERON_TRY(check_divisor(self, other));
  return binary<Op>(context, self, other, out);
}
template <class Op>
Status divide_by_number(KernelContext& context, const Tensor& self, Scalar other, Tensor& out) {
  PTERON_TRY(check_divisor(self, other));
  return with_number<Op>(context, self, other, out);
}

Status div_mode(KernelContext& context, const Tensor& self, const Tensor& other, std::optional<std::string_view> mode, Tensor& out) {
  if (!mode) return binary_in_float<Div>(context, self, other, out);
  if (*mode == "floor") return divide<DivFloor>(context, self, other, out);
  if (*mode == "trunc") return divide<DivTrunc>(context, self, other, out);
  return bad("unknown rounding mode", "rounding_mode", "floor or trunc", std::string(*mode));
}

Status div_number(KernelContext& context, const Tensor& self, Scalar other, Tensor& out) {
  return pointwise(context, {self, other}, {to_float(promote(self, other))}, kFloatLoops<Div, 2>, out);
}

Status div_number_mode(KernelContext& context, const Tensor& self, Scalar other, std::optional<std::string_view> mode, Tensor& out) {
  if (!mode) return div_number(context, self, other, out);
  if (*mode == "floor") return divide_by_number<DivFloor>(context, self, other, out);
  if (*mode == "trunc") return divide_by_number<DivTrunc>(context, self, other, out);
  return bad("unknown rounding mode", "rounding_mode", "floor or trunc", std::string(*mode));
}

Status pow_scalar_tensor(KernelContext& context, Scalar self, const Tensor& exponent, Tensor& out) {
  return pointwise(context, {self, exponent}, {promote(exponent, self)}, kAllLoops<Pow, 2>, out);
}

constexpr Kernel kKernels[] = {
    make_kernel<&add_like<Add, AddScaled>>("aten::add.out"),
    make_kernel<&add_like<Sub, SubScaled>>("aten::sub.out"),
    make_kernel<&add_number<AddScaled>>("aten::add.Scalar_out"),
    make_kernel<&add_number<SubScaled>>("aten::sub.Scalar_out"),
    make_kernel<&add_number<ReverseSubScaled>>("aten::rsub.Scalar_out"),
    make_kernel<&mul>("aten::mul.out"),
    make_kernel<&with_number<Mul>>("aten::mul.Scalar_out"),
    make_kernel<&binary_in_float<Div>>("aten::div.out"),
    make_kernel<&div_number>("aten::div.Scalar_out"),
    make_kernel<&div_mode>("aten::div.out_mode"),
    make_kernel<&div_number_mode>("aten::div.Scalar_mode_out"),
    make_kernel<&divide<DivFloor>>("aten::floor_divide.out"),
    make_kernel<&divide<Fmod>>("aten::fmod.Tensor_out"),
    make_kernel<&divide_by_number<Fmod>>("aten::fmod.Scalar_out"),
    make_kernel<&divide<Remainder>>("aten::remainder.Tensor_out"),
    make_kernel<&divide_by_number<Remainder>>("aten::remainder.Scalar_out"),
    make_kernel<&binary_in_float<Atan2>>("aten::atan2.out"),
    make_kernel<&binary<Maximum>>("aten::maximum.out"),
    make_kernel<&binary<Minimum>>("aten::minimum.out"),
    make_kernel<&binary<Pow>>("aten::pow.Tensor_Tensor_out"),
    make_kernel<&with_number<Pow>>("aten::pow.Tensor_Scalar_out"),
    make_kernel<&pow_scalar_tensor>("aten::pow.Scalar_out"),
};

}  // namespace

std::span<const Kernel> binary_kernels() { return kKernels; }

}  // namespace pteron::portable
