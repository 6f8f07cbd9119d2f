// Writing elements to places along one dimension.
#include <cstring>

#include "kernels/portable/cast.h"
#include "kernels/portable/families.h"
#include "kernels/portable/index.h"

namespace pteron::portable {
namespace {

using runtime::make_kernel;

// Makes `out` a copy of `self` and calls put(out offset, src offset) for each element of `index`. `src` may be null.
template <class F>
Status scatter_each(KernelContext& context, const Tensor& self, int64_t dim, const Tensor& index, const Tensor* src, Tensor& out, F&& put) {
  PTERON_TRY(expect_dtype(out, self.dtype(), "out"));
  PTERON_ASSIGN(const size_t d, wrap_dim(dim, self.rank()));
  if (!is_index_type(index.dtype())) return bad_dtype("index", index.dtype());
  PTERON_TRY(resize_like(out, self));
  PTERON_TRY(cast_into(context, self, out));
  if (index.numel() == 0) return {};
  const bool scalars = self.rank() == 0 || index.rank() == 0;
  if (index.rank() != self.rank() && !(scalars && index.numel() == 1 && self.numel() == 1))
    return bad("index has another rank than self", "index", sizes_text(self.sizes()), sizes_text(index.sizes()));
  if (src != nullptr && src->rank() != index.rank() && !(scalars && src->numel() == 1))
    return bad("src has another rank than index", "src", sizes_text(index.sizes()), sizes_text(src->sizes()));
  Loops<3> loops;  // out, index, src
  for (size_t x = 0; x < index.rank() && !scalars; ++x) {
    if (x != d && index.size(x) > self.size(x))
      return bad("index is larger than self", "index", sizes_text(self.sizes()), sizes_text(index.sizes()));
    if (src != nullptr && index.size(x) > src->size(x))
      return bad("index is larger than src", "index", sizes_text(src->sizes()), sizes_text(index.sizes()));
    loops.add(index.size(x), {x == d ? 0 : out.stride(x), index.stride(x), src != nullptr ? src->stride(x) : 0});
  }
  const int64_t size = scalars ? 1 : self.size(d), step = scalars ? 0 : out.stride(d);
  Status status;
  loops.for_each_run(0, loops.count, [&](const auto& offsets, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      const int64_t at = index_at(index, offsets[1] + i * loops.inner_stride(1));
      if (at < 0 || at >= size) {
        if (status.ok()) status = index_error("index", at, size);
        return;
      }
      put(offsets[0] + i * loops.inner_stride(0) + at * step, offsets[2] + i * loops.inner_stride(2));
    }
  });
  return status;
}

Status scatter_src(KernelContext& context, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, Tensor& out) {
  PTERON_TRY(expect_dtype(src, self.dtype(), "src"));
  const size_t bytes = self.element_bytes();
  return scatter_each(context, self, dim, index, &src, out, [&](int64_t to, int64_t from) {
    std::memmove(out.data<std::byte>() + static_cast<size_t>(to) * bytes, src.data<std::byte>() + static_cast<size_t>(from) * bytes, bytes);
  });
}

Status scatter_value(KernelContext& context, const Tensor& self, int64_t dim, const Tensor& index, Scalar value, Tensor& out) {
  if (!is_real(self.dtype())) return bad_dtype("self", self.dtype());
  return scatter_each(context, self, dim, index, nullptr, out, [&](int64_t to, int64_t) {
    if (value.is_number()) store_one(out.dtype(), value.d, out.data(), to);
    else store_one(out.dtype(), value.i, out.data(), to);
  });
}

Status scatter_add(KernelContext& context, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, Tensor& out) {
  PTERON_TRY(expect_dtype(src, self.dtype(), "src"));
  if (!is_real(self.dtype())) return bad_dtype("self", self.dtype());
  return scatter_each(context, self, dim, index, &src, out, [&](int64_t to, int64_t from) {
    if (is_float(self.dtype())) {
      store_one(out.dtype(), load_one<double>(out.dtype(), out.data(), to) + load_one<double>(src.dtype(), src.data(), from), out.data(), to);
    } else {
      const auto a = static_cast<uint64_t>(load_one<int64_t>(out.dtype(), out.data(), to)),
                 b = static_cast<uint64_t>(load_one<int64_t>(src.dtype(), src.data(), from));
      store_one(out.dtype(), static_cast<int64_t>(a + b), out.data(), to);
    }
  });
}

constexpr Kernel kKernels[] = {
    make_kernel<&scatter_src>("aten::scatter.src_out"),
    make_kernel<&scatter_value>("aten::scatter.value_out"),
    make_kernel<&scatter_add>("aten::scatter_add.out"),
};

}  // namespace

std::span<const Kernel> scatter_kernels() { return kKernels; }

}  // namespace pteron::portable
