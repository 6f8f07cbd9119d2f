#include "kernels/portable/strided.h"

#include <cstring>
#include <limits>
#include <numeric>

namespace pteron::portable {
namespace {

struct Sixteen { uint64_t halves[2]; };

template <class T>
void copy_run(std::byte* to, const std::byte* from, int64_t to_step, int64_t from_step, int64_t n) {
  T* out = reinterpret_cast<T*>(to);
  const T* in = reinterpret_cast<const T*>(from);
  if (to_step == 1 && from_step == 1) {
    std::memmove(out, in, static_cast<size_t>(n) * sizeof(T));
  } else if (to_step == 1 && from_step == 0) {
    for (int64_t i = 0; i < n; ++i) out[i] = *in;
  } else {
    for (int64_t i = 0; i < n; ++i) out[i * to_step] = in[i * from_step];
  }
}

template <class T>
void copy_nest(KernelContext& context, const Loops<2>& nest, const View& from, const View& to) {
  const int64_t to_step = nest.inner_stride(0), from_step = nest.inner_stride(1);
  const size_t grain = nest.count < 32768 ? static_cast<size_t>(std::max<int64_t>(nest.count, 1)) : 8192;
  context.threads().parallel_for(static_cast<size_t>(nest.count), grain, [&](size_t begin, size_t end) {
    nest.for_each_run(static_cast<int64_t>(begin), static_cast<int64_t>(end), [&](const auto& offsets, int64_t n) {
      constexpr auto kBytes = static_cast<int64_t>(sizeof(T));
      copy_run<T>(to.data + offsets[0] * kBytes, from.data + offsets[1] * kBytes, to_step, from_step, n);
    });
  });
}

}  // namespace

void View::erase(size_t dim) {
  for (size_t d = dim; d + 1 < sizes.rank(); ++d) strides[d] = strides[d + 1];
  sizes.erase(dim);
}

void View::insert(size_t dim, int32_t size, int64_t stride) {
  for (size_t d = sizes.rank(); d > dim; --d) strides[d] = strides[d - 1];
  strides[dim] = stride;
  sizes.insert(dim, size);
}

View view_of(const Tensor& tensor) {
  View view;
  view.data = static_cast<std::byte*>(const_cast<void*>(tensor.data()));
  view.element_bytes = tensor.element_bytes();
  view.sizes = Sizes(tensor.sizes());
  std::ranges::copy(tensor.strides(), view.strides.begin());
  return view;
}

View view_of(Tensor& tensor) { return view_of(std::as_const(tensor)); }

void copy_view(KernelContext& context, const View& from, const View& to, std::span<const uint8_t> order) {
  Loops<2> nest;
  for (size_t i = 0; i < to.sizes.rank(); ++i) {
    const size_t dim = order.empty() ? i : order[i];
    nest.add(to.sizes[dim], {to.strides[dim], from.strides[dim]});
  }
  if (nest.count == 0) return;
  switch (to.element_bytes) {
    case 1: return copy_nest<uint8_t>(context, nest, from, to);
    case 2: return copy_nest<uint16_t>(context, nest, from, to);
    case 4: return copy_nest<uint32_t>(context, nest, from, to);
    case 8: return copy_nest<uint64_t>(context, nest, from, to);
    default: return copy_nest<Sixteen>(context, nest, from, to);
  }
}

Status copy_out(KernelContext& context, const Tensor& self, const View& view, Tensor& out) {
  PTERON_TRY(expect_dtype(out, self.dtype(), "out"));
  if (view.sizes.rank() > kMaxRank) return bad("result has too many dimensions");
  PTERON_TRY(expect(out.writable() || out.capacity() == 0, "out is a constant"));
  PTERON_TRY(out.resize(view.sizes.span()));
  copy_view(context, view, view_of(out), out.dim_order());
  return {};
}

void copy_reshaped(KernelContext& context, const Tensor& from, Tensor& to) {
  if (from.contiguous() && to.contiguous()) {
    if (from.nbytes() > 0 && from.data() != to.data()) std::memmove(to.data(), from.data(), from.nbytes());
    return;
  }
  // Walk the coarser of the two shapes; each run is contiguous in row-major order, so its elements are a range of the other.
  Loops<1> nest;
  for (size_t d = 0; d < from.rank(); ++d) nest.add(from.size(d), {from.stride(d)});
  Loops<1> target;
  for (size_t d = 0; d < to.rank(); ++d) target.add(to.size(d), {to.stride(d)});
  int64_t done = 0;
  const auto bytes = static_cast<int64_t>(from.element_bytes());
  nest.for_each_run(0, nest.count, [&](const auto& offsets, int64_t n) {
    int64_t at = offsets[0];
    target.for_each_run(done, done + n, [&](const auto& to_offsets, int64_t m) {
      View source, sink;
      source.element_bytes = sink.element_bytes = from.element_bytes();
      source.data = static_cast<std::byte*>(const_cast<void*>(from.data())) + at * bytes;
      sink.data = static_cast<std::byte*>(to.data()) + to_offsets[0] * bytes;
      source.sizes.push(m);
      sink.sizes.push(m);
      source.strides[0] = nest.inner_stride(0);
      sink.strides[0] = target.inner_stride(0);
      copy_view(context, source, sink);
      at += m * nest.inner_stride(0);
    });
    done += n;
  });
}

Result<Sizes> sizes_from(const IntList& dims) {
  if (dims.size() > kMaxRank) return bad("too many dimensions", "size", "at most " + std::to_string(kMaxRank), std::to_string(dims.size()));
  Sizes sizes;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0 || dims[i] > std::numeric_limits<int32_t>::max()) return bad("impossible size", "size", "", std::to_string(dims[i]));
    sizes.push(dims[i]);
  }
  return sizes;
}

}  // namespace pteron::portable
