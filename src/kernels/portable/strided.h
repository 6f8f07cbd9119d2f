// Copies between strided views: what permuting, slicing, padding and joining come down to.
#pragma once

#include <cstdint>

#include "kernels/portable/loops.h"
#include "kernels/portable/shape.h"

namespace pteron::portable {

// Elements of some memory at given steps. Strides may be zero or negative.
struct View {
  std::byte* data = nullptr;
  size_t element_bytes = 0;
  Sizes sizes;
  Strides strides{};

  void shift(int64_t elements) { data += elements * static_cast<int64_t>(element_bytes); }
  // Removes or adds a dimension.
  void erase(size_t dim);
  void insert(size_t dim, int32_t size, int64_t stride);
};

View view_of(const Tensor& tensor);
View view_of(Tensor& tensor);

// Copies `from` to `to`, which have equal sizes and element bytes and do not overlap. `order` lists the dimensions from the outermost of
// `to` to its innermost; empty means row-major.
void copy_view(KernelContext& context, const View& from, const View& to, std::span<const uint8_t> order = {});

// Makes `out` a copy of the view, in the layout of `out`. The dtypes must agree.
Status copy_out(KernelContext& context, const Tensor& self, const View& view, Tensor& out);

// Copies elements in row-major order between tensors with equal element counts and other sizes.
void copy_reshaped(KernelContext& context, const Tensor& from, Tensor& to);

// `dims` as sizes: each must be non-negative and fit.
Result<Sizes> sizes_from(const IntList& dims);

}  // namespace pteron::portable
