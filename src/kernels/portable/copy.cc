// Clones, casts and in-place copies.
#include <algorithm>

#include "kernels/portable/cast.h"
#include "kernels/portable/families.h"
#include "kernels/portable/pointwise.h"
#include "kernels/portable/strided.h"

namespace pteron::portable {
namespace {

using runtime::make_kernel;
using runtime::Value;

struct Same {
  template <class T>
  static T apply(T a) { return a; }
};

// The type that holds the values on their way: the direct conversion of each pair, so that nothing is rounded twice.
ScalarType path_type(ScalarType from, ScalarType to) {
  if (from == ScalarType::Double || to == ScalarType::Double) return ScalarType::Double;
  return is_float(from) || is_float(to) ? ScalarType::Float : ScalarType::Long;
}

// `out` has the sizes that `from` broadcasts to. Where those differ, it stands among the operands for its sizes; its elements are not used.
Status convert_into(KernelContext& context, const Tensor& from, Tensor& out) {
  if (from.dtype() != out.dtype()) {
    const PointwiseTypes types{path_type(from.dtype(), out.dtype()), true};
    if (std::ranges::equal(from.sizes(), out.sizes())) return pointwise(context, {from}, types, kAllLoops<Same, 1>, out);
    return pointwise(context, {from, out}, types, kAllLoops<Same, 1>, out);
  }
  View source = view_of(out);
  const View sink = source;
  source.data = static_cast<std::byte*>(const_cast<void*>(from.data()));
  source.strides = broadcast_strides(from, out.rank());
  if (from.data() != out.data()) copy_view(context, source, sink, out.dim_order());
  return {};
}

Status to_same_sizes(KernelContext& context, const Tensor& self, Tensor& out) {
  PTERON_TRY(resize_like(out, self));
  return convert_into(context, self, out);
}

Status copy_same(KernelContext& context, const Tensor& self, Tensor& out) {
  PTERON_TRY(expect_dtype(out, self.dtype(), "out"));
  return to_same_sizes(context, self, out);
}

Status clone(KernelContext& context, const Tensor& self, std::optional<int64_t>, Tensor& out) { return copy_same(context, self, out); }

Status to_copy(KernelContext& context, const Tensor& self, bool, std::optional<int64_t>, Tensor& out) {
  return to_same_sizes(context, self, out);
}

// A given order must be the one that `out` has, and contiguous or channels-last.
Status check_dim_order(const Tensor& self, bool non_blocking, const std::optional<IntList>& dim_order, const Tensor& out) {
  PTERON_TRY(expect(!non_blocking, "non_blocking copies are not supported"));
  const auto order = out.dim_order();
  if (!dim_order) return expect(std::ranges::equal(self.dim_order(), order), "out has another dim order than self");
  if (dim_order->size() != order.size()) return bad("dim order has another rank than out");
  for (size_t i = 0; i < order.size(); ++i) {
    if ((*dim_order)[i] != order[i]) return bad("dim order differs from that of out");
  }
  return {};
}

Status to_dim_order_copy(KernelContext& context, const Tensor& self, bool non_blocking, std::optional<IntList> dim_order, Tensor& out) {
  PTERON_TRY(check_dim_order(self, non_blocking, dim_order, out));
  return to_same_sizes(context, self, out);
}

Status clone_dim_order(KernelContext& context, const Tensor& self, bool non_blocking, std::optional<IntList> dim_order, Tensor& out) {
  PTERON_TRY(check_dim_order(self, non_blocking, dim_order, out));
  return copy_same(context, self, out);
}

Status copy_out_of_place(KernelContext& context, const Tensor& self, const Tensor& src, bool, Tensor& out) {
  PTERON_TRY(expect_dtype(out, self.dtype(), "out"));
  return cast_into(context, src, self, out);
}

Status copy_in_place(KernelContext& context, Tensor& self, const Tensor& src, bool, ResultSlot result) {
  PTERON_TRY(cast_into(context, src, self));
  *result.value = Value(&self);
  return {};
}

Status fallback(KernelContext& context, const Tensor& input, Tensor& output) { return to_same_sizes(context, input, output); }

constexpr Kernel kKernels[] = {
    make_kernel<&copy_same>("aten::alias_copy.out"),
    make_kernel<&copy_same>("aten::detach_copy.out"),
    make_kernel<&copy_same>("aten::lift_fresh_copy.out"),
    make_kernel<&copy_same>("et_copy::_h2d_copy.out"),
    make_kernel<&copy_same>("et_copy::_d2h_copy.out"),
    make_kernel<&clone>("aten::clone.out"),
    make_kernel<&to_copy>("aten::_to_copy.out"),
    make_kernel<&to_dim_order_copy>("dim_order_ops::_to_dim_order_copy.out"),
    make_kernel<&clone_dim_order>("dim_order_ops::_clone_dim_order.out"),
    make_kernel<&copy_out_of_place>("aten::copy.out"),
    make_kernel<&copy_in_place>("aten::copy_"),
    runtime::make_lenient_kernel<&fallback>("llama::fallback.out"),
};

}  // namespace

Status cast_into(KernelContext& context, const Tensor& from, Tensor& out) {
  PTERON_ASSIGN(const Sizes sizes, broadcast_sizes({&from, &out}));
  PTERON_TRY(expect_sizes(out, sizes.span(), "out"));
  return convert_into(context, from, out);
}

Status cast_into(KernelContext& context, const Tensor& from, const Tensor& like, Tensor& out) {
  PTERON_ASSIGN(const Sizes sizes, broadcast_sizes({&from, &like}));
  PTERON_TRY(expect_sizes(like, sizes.span(), "src"));
  PTERON_TRY(resize_like(out, like));
  return cast_into(context, from, out);
}

std::span<const Kernel> copy_kernels() { return kKernels; }

}  // namespace pteron::portable
