// Comparisons, logical and bitwise operators, where, masked_fill.
#include "kernels/portable/families.h"
#include "kernels/portable/pointwise.h"

namespace pteron::portable {
namespace {

using runtime::make_kernel;

#define PTERON_BINARY_OP(Name, expression)          \
  struct Name {                                     \
    template <class T>                              \
    static T apply(T a, T b) {                      \
      return static_cast<T>(expression);            \
    }                                               \
  };
PTERON_BINARY_OP(Eq, a == b)
PTERON_BINARY_OP(Ne, a != b)
PTERON_BINARY_OP(Ge, a >= b)
PTERON_BINARY_OP(Gt, a > b)
PTERON_BINARY_OP(Le, a <= b)
PTERON_BINARY_OP(Lt, a < b)
PTERON_BINARY_OP(LogicalAnd, a != 0 && b != 0)
PTERON_BINARY_OP(LogicalOr, a != 0 || b != 0)
PTERON_BINARY_OP(LogicalXor, (a != 0) != (b != 0))
PTERON_BINARY_OP(BitAnd, a & b)
PTERON_BINARY_OP(BitOr, a | b)
PTERON_BINARY_OP(BitXor, a ^ b)
#undef PTERON_BINARY_OP

// Shifts by the width of the type or more give what all bits shifted out give.
struct ShiftLeft {
  static int64_t apply(int64_t a, int64_t b, int64_t width) {
    return b < 0 || b >= width ? 0 : static_cast<int64_t>(static_cast<uint64_t>(a) << b);
  }
};
struct ShiftRight {
  static int64_t apply(int64_t a, int64_t b, int64_t width) { return b < 0 || b >= width ? (a < 0 ? -1 : 0) : a >> b; }
};

template <class Op>
Status compare(KernelContext& context, const Tensor& self, const Tensor& other, Tensor& out) {
  return pointwise(context, {self, other}, {promote(self, other), true}, kAllLoops<Op, 2>, out);
}
template <class Op>
Status compare_number(KernelContext& context, const Tensor& self, Scalar other, Tensor& out) {
  return pointwise(context, {self, other}, {promote(self, other), true}, kAllLoops<Op, 2>, out);
}
template <class Op>
Status bitwise(KernelContext& context, const Tensor& self, const Tensor& other, Tensor& out) {
  return pointwise(context, {self, other}, {promote(self, other)}, kIntLoops<Op, 2>, out);
}
template <class Op>
Status bitwise_number(KernelContext& context, const Tensor& self, Scalar other, Tensor& out) {
  return pointwise(context, {self, other}, {promote(self, other)}, kIntLoops<Op, 2>, out);
}

Scalar width_of(ScalarType type) { return {Scalar::Kind::integer, static_cast<int64_t>(8 * element_size(type)), 0}; }

template <class Op>
Status shift(KernelContext& context, const Tensor& self, const Tensor& other, Tensor& out) {
  const ScalarType common = promote(self, other);
  const Scalar width = width_of(common);
  return pointwise(context, {self, other, width}, {common}, kIntLoops<Op, 3>, out);
}
template <class Op>
Status shift_number(KernelContext& context, const Tensor& self, Scalar other, Tensor& out) {
  const ScalarType common = promote(self, other);
  const Scalar width = width_of(common);
  return pointwise(context, {self, other, width}, {common}, kIntLoops<Op, 3>, out);
}

struct Where {
  template <class T>
  static T apply(T condition, T a, T b) { return condition != 0 ? a : b; }
};

Status where(KernelContext& context, const Tensor& condition, const Tensor& self, const Tensor& other, Tensor& out) {
  if (condition.dtype() != ScalarType::Bool && condition.dtype() != ScalarType::Byte) return bad_dtype("condition", condition.dtype());
  return pointwise(context, {condition, self, other}, {promote(self, other)}, kAllLoops<Where, 3>, out);
}

struct MaskedFill {
  template <class T>
  static T apply(T self, T mask, T value) { return mask != 0 ? value : self; }
};

Status masked_fill(KernelContext& context, const Tensor& self, const Tensor& mask, Scalar value, Tensor& out) {
  PTERON_TRY(expect_dtype(mask, ScalarType::Bool, "mask"));
  return pointwise(context, {self, mask, value}, {self.dtype()}, kAllLoops<MaskedFill, 3>, out);
}

constexpr Kernel kKernels[] = {
    make_kernel<&compare<Eq>>("aten::eq.Tensor_out"),
    make_kernel<&compare<Ne>>("aten::ne.Tensor_out"),
    make_kernel<&compare<Ge>>("aten::ge.Tensor_out"),
    make_kernel<&compare<Gt>>("aten::gt.Tensor_out"),
    make_kernel<&compare<Le>>("aten::le.Tensor_out"),
    make_kernel<&compare<Lt>>("aten::lt.Tensor_out"),
    make_kernel<&compare_number<Eq>>("aten::eq.Scalar_out"),
    make_kernel<&compare_number<Ne>>("aten::ne.Scalar_out"),
    make_kernel<&compare_number<Ge>>("aten::ge.Scalar_out"),
    make_kernel<&compare_number<Gt>>("aten::gt.Scalar_out"),
    make_kernel<&compare_number<Le>>("aten::le.Scalar_out"),
    make_kernel<&compare_number<Lt>>("aten::lt.Scalar_out"),
    make_kernel<&compare<LogicalAnd>>("aten::logical_and.out"),
    make_kernel<&compare<LogicalOr>>("aten::logical_or.out"),
    make_kernel<&compare<LogicalXor>>("aten::logical_xor.out"),
    make_kernel<&bitwise<BitAnd>>("aten::bitwise_and.Tensor_out"),
    make_kernel<&bitwise<BitOr>>("aten::bitwise_or.Tensor_out"),
    make_kernel<&bitwise<BitXor>>("aten::bitwise_xor.Tensor_out"),
    make_kernel<&bitwise_number<BitAnd>>("aten::bitwise_and.Scalar_out"),
    make_kernel<&bitwise_number<BitOr>>("aten::bitwise_or.Scalar_out"),
    make_kernel<&bitwise_number<BitXor>>("aten::bitwise_xor.Scalar_out"),
    make_kernel<&shift<ShiftLeft>>("aten::bitwise_left_shift.Tensor_out"),
    make_kernel<&shift<ShiftRight>>("aten::bitwise_right_shift.Tensor_out"),
    make_kernel<&shift_number<ShiftLeft>>("aten::bitwise_left_shift.Tensor_Scalar_out"),
    make_kernel<&shift_number<ShiftRight>>("aten::bitwise_right_shift.Tensor_Scalar_out"),
    make_kernel<&where>("aten::where.self_out"),
    make_kernel<&masked_fill>("aten::masked_fill.Scalar_out"),
};

}  // namespace

std::span<const Kernel> logic_kernels() { return kKernels; }

}  // namespace pteron::portable
