// Copies of views: other strides over the same elements.
#include <algorithm>
#include <limits>

#include "base/checked.h"
#include "kernels/portable/families.h"
#include "kernels/portable/slice.h"
#include "kernels/portable/strided.h"

namespace pteron::portable {
namespace {

using runtime::make_kernel;

Status permute_copy(KernelContext& context, const Tensor& self, IntList dims, Tensor& out) {
  PTERON_TRY(expect(dims.size() == self.rank(), "permutation has another rank than its tensor"));
  View view = view_of(self);
  DimMask seen = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    PTERON_ASSIGN(const size_t dim, wrap_dim(dims[i], self.rank()));
    seen |= DimMask{1} << dim;
    view.sizes[i] = self.size(dim);
    view.strides[i] = self.stride(dim);
  }
  PTERON_TRY(expect(seen == (DimMask{1} << self.rank()) - 1, "dims are no permutation"));
  return copy_out(context, self, view, out);
}

void swap_dims(View& view, size_t a, size_t b) {
  std::swap(view.sizes[a], view.sizes[b]);
  std::swap(view.strides[a], view.strides[b]);
}

Status transpose_copy(KernelContext& context, const Tensor& self, int64_t dim0, int64_t dim1, Tensor& out) {
  PTERON_ASSIGN(const size_t a, wrap_dim(dim0, self.rank()));
  PTERON_ASSIGN(const size_t b, wrap_dim(dim1, self.rank()));
  View view = view_of(self);
  if (self.rank() > 0) swap_dims(view, a, b);
  return copy_out(context, self, view, out);
}

Status t_copy(KernelContext& context, const Tensor& self, Tensor& out) {
  PTERON_TRY(expect(self.rank() <= 2, "t of a tensor with more than two dimensions"));
  View view = view_of(self);
  if (self.rank() == 2) swap_dims(view, 0, 1);
  return copy_out(context, self, view, out);
}

Status select_copy(KernelContext& context, const Tensor& self, int64_t dim, int64_t index, Tensor& out) {
  PTERON_ASSIGN(const View view, select_view(self, dim, index));
  return copy_out(context, self, view, out);
}

Status slice_copy(KernelContext& context, const Tensor& self, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end,
                  int64_t step, Tensor& out) {
  PTERON_ASSIGN(const View view, slice_view(self, dim, start, end, step));
  return copy_out(context, self, view, out);
}

Status narrow_copy(KernelContext& context, const Tensor& self, int64_t dim, int64_t start, int64_t length, Tensor& out) {
  if (self.rank() == 0) return bad("narrow of a scalar");
  PTERON_ASSIGN(const size_t d, wrap_dim(dim, self.rank()));
  const int64_t size = self.size(d);
  if (start < 0) start += size;
  if (start < 0 || start > size || length < 0 || length > size - start)
    return bad("narrow is out of range", "start", "0 to " + std::to_string(size), std::to_string(start));
  View view = view_of(self);
  view.shift(start * view.strides[d]);
  view.sizes[d] = static_cast<int32_t>(length);
  return copy_out(context, self, view, out);
}

Status expand_copy(KernelContext& context, const Tensor& self, IntList size, bool, Tensor& out) {
  if (size.size() < self.rank() || size.size() > kMaxRank)
    return bad("expand to fewer dimensions", "size", "at least " + std::to_string(self.rank()), std::to_string(size.size()));
  View view = view_of(self);
  const size_t shift = size.size() - self.rank();
  view.strides = broadcast_strides(self, size.size());
  view.sizes = {};
  for (size_t i = 0; i < size.size(); ++i) {
    int64_t n = size[i];
    const int64_t own = i >= shift ? self.size(i - shift) : 1;
    if (n == -1 && i >= shift) n = own;
    if (n < 0 || n > std::numeric_limits<int32_t>::max() || (own != 1 && n != own))
      return bad("sizes do not expand", "size", std::to_string(own), std::to_string(n));
    view.sizes.push(n);
  }
  return copy_out(context, self, view, out);
}

Status unsqueeze_copy(KernelContext& context, const Tensor& self, int64_t dim, Tensor& out) {
  if (self.rank() == kMaxRank) return bad("result has too many dimensions");
  PTERON_ASSIGN(const size_t d, wrap_dim(dim, self.rank() + 1));
  View view = view_of(self);
  view.insert(d, 1, 0);
  return copy_out(context, self, view, out);
}

Status squeeze_mask(KernelContext& context, const Tensor& self, DimMask mask, Tensor& out) {
  View view = view_of(self);
  for (size_t d = self.rank(); d-- > 0;) {
    if ((mask >> d & 1) != 0 && self.size(d) == 1) view.erase(d);
  }
  return copy_out(context, self, view, out);
}

Status squeeze_copy_dim(KernelContext& context, const Tensor& self, int64_t dim, Tensor& out) {
  PTERON_ASSIGN(const size_t d, wrap_dim(dim, self.rank()));
  return squeeze_mask(context, self, DimMask{1} << d, out);
}

Status squeeze_copy_dims(KernelContext& context, const Tensor& self, IntList dims, Tensor& out) {
  DimMask mask = 0;
  if (!dims.empty()) {
    PTERON_ASSIGN(mask, dim_mask(&dims, self.rank()));
  }
  return squeeze_mask(context, self, mask, out);
}

Status view_copy(KernelContext& context, const Tensor& self, IntList size, Tensor& out) {
  if (size.size() > kMaxRank) return bad("view has too many dimensions");
  PTERON_TRY(expect_dtype(out, self.dtype(), "out"));
  Sizes sizes;
  size_t known = 1, inferred = kMaxRank;
  for (size_t i = 0; i < size.size(); ++i) {
    const int64_t n = size[i];
    sizes.push(0);
    if (n == -1 && inferred == kMaxRank) {
      inferred = i;
      continue;
    }
    if (n < 0 || n > std::numeric_limits<int32_t>::max() || __builtin_mul_overflow(known, static_cast<size_t>(n), &known))
      return bad("impossible size", "size", "", std::to_string(n));
    sizes[i] = static_cast<int32_t>(n);
  }
  if (inferred < kMaxRank) {
    if (known == 0 || self.numel() % known != 0) return bad("size of a view cannot be inferred");
    sizes[inferred] = static_cast<int32_t>(self.numel() / known);
  } else if (known != self.numel()) {
    return bad("view changes the number of elements", "size", std::to_string(self.numel()), std::to_string(known));
  }
  PTERON_TRY(out.resize(sizes.span()));
  copy_reshaped(context, self, out);
  return {};
}

Status diagonal_copy(KernelContext& context, const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2, Tensor& out) {
  if (self.rank() < 2) return bad("diagonal needs two dimensions");
  PTERON_ASSIGN(const size_t a, wrap_dim(dim1, self.rank()));
  PTERON_ASSIGN(const size_t b, wrap_dim(dim2, self.rank()));
  PTERON_TRY(expect(a != b, "diagonal of one dimension"));
  View view = view_of(self);
  const int64_t rows = self.size(a), cols = self.size(b), row_step = self.stride(a), col_step = self.stride(b);
  const int64_t down = offset < 0 ? (offset < -rows ? rows : -offset) : 0, right = offset > 0 ? std::min(offset, cols) : 0;
  const int64_t length = std::max<int64_t>(0, std::min(rows - down, cols - right));
  if (length > 0) view.shift(down * row_step + right * col_step);
  view.erase(std::max(a, b));
  view.erase(std::min(a, b));
  view.insert(view.sizes.rank(), static_cast<int32_t>(length), row_step + col_step);
  return copy_out(context, self, view, out);
}

Status unfold_copy(KernelContext& context, const Tensor& self, int64_t dimension, int64_t size, int64_t step, Tensor& out) {
  if (self.rank() == kMaxRank) return bad("result has too many dimensions");
  PTERON_ASSIGN(const size_t d, wrap_dim(dimension, self.rank()));
  const int64_t own = self.rank() > 0 ? self.size(d) : 1, stride = self.rank() > 0 ? self.stride(d) : 1;
  if (step <= 0 || size < 0 || size > own) return bad("unfold is out of range", "size", "0 to " + std::to_string(own), std::to_string(size));
  View view = view_of(self);
  const int64_t windows = (own - size) / step + 1;
  if (self.rank() > 0) {
    view.sizes[d] = static_cast<int32_t>(windows);
    view.strides[d] = windows > 1 ? stride * step : 0;
  }
  view.insert(view.sizes.rank(), static_cast<int32_t>(size), stride);
  return copy_out(context, self, view, out);
}

Status as_strided_copy(KernelContext& context, const Tensor& self, IntList size, IntList stride, std::optional<int64_t> storage_offset,
                       Tensor& out) {
  PTERON_ASSIGN(const Sizes sizes, sizes_from(size));
  PTERON_TRY(expect(stride.size() == size.size(), "sizes and strides differ in number"));
  View view = view_of(self);
  view.sizes = sizes;
  const auto limit = static_cast<int64_t>(self.numel());
  int64_t last = storage_offset.value_or(0);
  bool empty = false, inside = last >= 0 && last < limit;
  for (size_t i = 0; i < sizes.rank(); ++i) {
    view.strides[i] = stride[i];
    empty = empty || sizes[i] == 0;
    int64_t reach = 0;
    if (stride[i] < 0 || __builtin_mul_overflow(int64_t{sizes[i]} - 1, stride[i], &reach) || __builtin_add_overflow(last, reach, &last))
      inside = empty;
  }
  if (!empty && (!inside || last >= limit))
    return bad("view reaches beyond its tensor", "stride", "below " + std::to_string(limit), std::to_string(last));
  if (!empty) view.shift(storage_offset.value_or(0));
  return copy_out(context, self, view, out);
}

Status flip(KernelContext& context, const Tensor& self, IntList dims, Tensor& out) {
  DimMask mask = 0;
  if (!dims.empty()) {
    PTERON_ASSIGN(mask, dim_mask(&dims, self.rank()));
  }
  View view = view_of(self);
  for (size_t d = 0; d < self.rank(); ++d) {
    if ((mask >> d & 1) == 0 || self.numel() == 0) continue;
    view.shift((self.size(d) - 1) * view.strides[d]);
    view.strides[d] = -view.strides[d];
  }
  return copy_out(context, self, view, out);
}

constexpr Kernel kKernels[] = {
    make_kernel<&permute_copy>("aten::permute_copy.out"),
    make_kernel<&transpose_copy>("aten::transpose_copy.int_out"),
    make_kernel<&t_copy>("aten::t_copy.out"),
    make_kernel<&select_copy>("aten::select_copy.int_out"),
    make_kernel<&slice_copy>("aten::slice_copy.Tensor_out"),
    make_kernel<&narrow_copy>("aten::narrow_copy.out"),
    make_kernel<&expand_copy>("aten::expand_copy.out"),
    make_kernel<&unsqueeze_copy>("aten::unsqueeze_copy.out"),
    make_kernel<&squeeze_copy_dim>("aten::squeeze_copy.dim_out"),
    make_kernel<&squeeze_copy_dims>("aten::squeeze_copy.dims_out"),
    make_kernel<&view_copy>("aten::view_copy.out"),
    make_kernel<&diagonal_copy>("aten::diagonal_copy.out"),
    make_kernel<&unfold_copy>("aten::unfold_copy.out"),
    make_kernel<&as_strided_copy>("aten::as_strided_copy.out"),
    make_kernel<&flip>("aten::flip.out"),
};

}  // namespace

Result<View> select_view(const Tensor& self, int64_t dim, int64_t index) {
  if (self.rank() == 0) return bad("select from a scalar");
  PTERON_ASSIGN(const size_t d, wrap_dim(dim, self.rank()));
  const int64_t size = self.size(d);
  if (index < -size || index >= size) return bad("index is out of range", "index", "below " + std::to_string(size), std::to_string(index));
  View view = view_of(self);
  if (self.numel() > 0) view.shift((index < 0 ? index + size : index) * view.strides[d]);
  view.erase(d);
  return view;
}

Result<View> slice_view(const Tensor& self, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) {
  if (self.rank() == 0) return bad("slice of a scalar");
  PTERON_ASSIGN(const size_t d, wrap_dim(dim, self.rank()));
  if (step <= 0) return bad("slice step is not positive", "step", "above 0", std::to_string(step));
  const int64_t size = self.size(d);
  const auto clip = [size](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size); };
  const int64_t from = clip(start.value_or(0)), to = std::max(from, clip(end.value_or(std::numeric_limits<int64_t>::max())));
  View view = view_of(self);
  const int64_t length = (to - from) / step + ((to - from) % step != 0 ? 1 : 0);
  if (length > 0 && self.numel() > 0) view.shift(from * view.strides[d]);
  view.sizes[d] = static_cast<int32_t>(length);
  view.strides[d] = length > 1 ? view.strides[d] * step : view.strides[d];
  return view;
}

std::span<const Kernel> view_kernels() { return kKernels; }

}  // namespace pteron::portable
