// Joining and splitting tensors, writing parts, padding and other rearrangements of whole elements.
#include <cstring>
#include <limits>

#include "kernels/portable/cast.h"
#include "kernels/portable/convert.h"
#include "kernels/portable/families.h"
#include "kernels/portable/pointwise.h"
#include "kernels/portable/slice.h"

namespace pteron::portable {
namespace {

using runtime::make_kernel;

// Copies `from` into the view `to`, converting where the dtypes differ.
Status copy_part(KernelContext& context, const Tensor& from, const View& to, const Tensor& out) {
  if (from.dtype() == out.dtype()) {
    copy_view(context, view_of(from), to);
    return {};
  }
  if (!is_real(from.dtype()) || !is_real(out.dtype())) return bad_dtype("tensors", from.dtype());
  Loops<2> loops;
  for (size_t d = 0; d < from.rank(); ++d) loops.add(from.size(d), {to.strides[d], from.stride(d)});
  loops.for_each_run(0, loops.count, [&](const auto& offsets, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      const int64_t at = offsets[1] + i * loops.inner_stride(1), put = offsets[0] + i * loops.inner_stride(0);
      if (is_int_or_bool(from.dtype()) && is_int_or_bool(out.dtype()))
        store_one(out.dtype(), load_one<int64_t>(from.dtype(), from.data(), at), to.data, put);
      else store_one(out.dtype(), load_one<double>(from.dtype(), from.data(), at), to.data, put);
    }
  });
  return {};
}

// Empty tensors of rank 1 take no part in a cat, whatever the other sizes are.
bool skipped(const Tensor& t) { return t.rank() == 1 && t.size(0) == 0; }

Status cat(KernelContext& context, TensorList tensors, int64_t dim, Tensor& out) {
  PTERON_TRY(expect(tensors.size() > 0, "cat of no tensors"));
  const Tensor* first = &tensors[0];
  for (size_t i = 0; i < tensors.size() && skipped(*first); ++i) first = &tensors[i];
  if (first->rank() == 0) return bad("cat of scalars", "tensors");
  PTERON_ASSIGN(const size_t d, wrap_dim(dim, first->rank()));
  Sizes sizes(first->sizes());
  int64_t length = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& t = tensors[i];
    if (skipped(t)) continue;
    if (t.rank() != first->rank()) return bad("cat of different ranks", "tensors", sizes_text(first->sizes()), sizes_text(t.sizes()));
    for (size_t x = 0; x < t.rank(); ++x) {
      if (x != d && t.size(x) != first->size(x))
        return bad("cat of different sizes", "tensors", sizes_text(first->sizes()), sizes_text(t.sizes()));
    }
    length += t.size(d);
  }
  if (length > std::numeric_limits<int32_t>::max()) return bad("cat is too long");
  sizes[d] = static_cast<int32_t>(length);
  PTERON_TRY(out.resize(sizes.span()));
  View to = view_of(out);
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (skipped(tensors[i])) continue;
    to.sizes = Sizes(tensors[i].sizes());
    PTERON_TRY(copy_part(context, tensors[i], to, out));
    to.shift(tensors[i].size(d) * out.stride(d));
  }
  return {};
}

Status stack(KernelContext& context, TensorList tensors, int64_t dim, Tensor& out) {
  PTERON_TRY(expect(tensors.size() > 0, "stack of no tensors"));
  const Tensor& first = tensors[0];
  if (first.rank() == kMaxRank) return bad("result has too many dimensions");
  PTERON_ASSIGN(const size_t d, wrap_dim(dim, first.rank() + 1));
  for (size_t i = 1; i < tensors.size(); ++i) PTERON_TRY(expect_sizes(tensors[i], first.sizes(), "tensors"));
  Sizes sizes(first.sizes());
  sizes.insert(d, static_cast<int64_t>(tensors.size()));
  PTERON_TRY(out.resize(sizes.span()));
  View to = view_of(out);
  to.erase(d);
  for (size_t i = 0; i < tensors.size(); ++i) {
    PTERON_TRY(copy_part(context, tensors[i], to, out));
    to.shift(out.stride(d));
  }
  return {};
}

// Writes length elements of `self` along d, from `start`, to `out`.
Status copy_range(KernelContext& context, const Tensor& self, size_t d, int64_t start, int64_t length, Tensor& out) {
  View view = view_of(self);
  if (length > 0) view.shift(start * self.stride(d));
  view.sizes[d] = static_cast<int32_t>(length);
  return copy_out(context, self, view, out);
}

Status split_copy(KernelContext& context, const Tensor& self, int64_t split_size, int64_t dim, TensorList out) {
  if (self.rank() == 0) return bad("split of a scalar");
  PTERON_ASSIGN(const size_t d, wrap_dim(dim, self.rank()));
  const int64_t size = self.size(d);
  if (split_size < 0 || (split_size == 0 && size != 0))
    return bad("split size is not positive", "split_size", "above 0", std::to_string(split_size));
  const int64_t parts = size == 0 ? 1 : (size - 1) / split_size + 1;
  if (static_cast<int64_t>(out.size()) != parts) return bad("wrong number of outs", "out", std::to_string(parts), std::to_string(out.size()));
  for (int64_t i = 0; i < parts; ++i) {
    PTERON_TRY(copy_range(context, self, d, i * split_size, std::min(split_size, size - i * split_size), out[static_cast<size_t>(i)]));
  }
  return {};
}

Status split_with_sizes_copy(KernelContext& context, const Tensor& self, IntList split_sizes, int64_t dim, TensorList out) {
  if (self.rank() == 0) return bad("split of a scalar");
  PTERON_ASSIGN(const size_t d, wrap_dim(dim, self.rank()));
  if (out.size() != split_sizes.size())
    return bad("wrong number of outs", "out", std::to_string(split_sizes.size()), std::to_string(out.size()));
  int64_t total = 0;
  for (size_t i = 0; i < split_sizes.size(); ++i) {
    if (split_sizes[i] < 0 || split_sizes[i] > self.size(d) - total)
      return bad("split sizes do not add up", "split_sizes", std::to_string(self.size(d)), std::to_string(split_sizes[i]));
    total += split_sizes[i];
  }
  if (total != self.size(d)) return bad("split sizes do not add up", "split_sizes", std::to_string(self.size(d)), std::to_string(total));
  int64_t start = 0;
  for (size_t i = 0; i < split_sizes.size(); ++i) {
    PTERON_TRY(copy_range(context, self, d, start, split_sizes[i], out[i]));
    start += split_sizes[i];
  }
  return {};
}

Status unbind_copy(KernelContext& context, const Tensor& self, int64_t dim, TensorList out) {
  if (self.rank() == 0) return bad("unbind of a scalar");
  PTERON_ASSIGN(const size_t d, wrap_dim(dim, self.rank()));
  if (out.size() != static_cast<size_t>(self.size(d)))
    return bad("wrong number of outs", "out", std::to_string(self.size(d)), std::to_string(out.size()));
  for (size_t i = 0; i < out.size(); ++i) {
    PTERON_ASSIGN(const View view, select_view(self, static_cast<int64_t>(d), static_cast<int64_t>(i)));
    PTERON_TRY(copy_out(context, self, view, out[i]));
  }
  return {};
}

// self, with a part of it replaced by `src`.
template <class MakeView>
Status scatter_part(KernelContext& context, const Tensor& self, const Tensor& src, Tensor& out, MakeView&& make_view) {
  PTERON_TRY(expect_dtype(out, self.dtype(), "out"));
  PTERON_TRY(resize_like(out, self));
  PTERON_TRY(cast_into(context, self, out));
  PTERON_ASSIGN(const View part, make_view(out));
  PTERON_TRY(expect_sizes(src, part.sizes.span(), "src"));
  return copy_part(context, src, part, out);
}

Status select_scatter(KernelContext& context, const Tensor& self, const Tensor& src, int64_t dim, int64_t index, Tensor& out) {
  return scatter_part(context, self, src, out, [&](const Tensor& to) { return select_view(to, dim, index); });
}
Status slice_scatter(KernelContext& context, const Tensor& self, const Tensor& src, int64_t dim, std::optional<int64_t> start,
                     std::optional<int64_t> end, int64_t step, Tensor& out) {
  return scatter_part(context, self, src, out, [&](const Tensor& to) { return slice_view(to, dim, start, end, step); });
}

Status repeat(KernelContext&, const Tensor& self, IntList repeats, Tensor& out) {
  PTERON_ASSIGN(const Sizes times, sizes_from(repeats));
  PTERON_TRY(expect_dtype(out, self.dtype(), "out"));
  if (times.rank() < self.rank())
    return bad("fewer repeats than dimensions", "repeats", std::to_string(self.rank()), std::to_string(times.rank()));
  const size_t shift = times.rank() - self.rank();
  Sizes sizes;
  for (size_t d = 0; d < times.rank(); ++d) {
    const int64_t n = int64_t{times[d]} * (d < shift ? 1 : self.size(d - shift));
    if (n > std::numeric_limits<int32_t>::max()) return bad("result is too long", "repeats");
    sizes.push(n);
  }
  PTERON_TRY(out.resize(sizes.span()));
  // Walk (repeat, element) pairs of every dimension.
  const Strides from = broadcast_strides(self, times.rank());
  const auto bytes = static_cast<int64_t>(self.element_bytes());
  Loops<2> loops;
  for (size_t d = 0; d < times.rank(); ++d) {
    const int64_t own = d < shift ? 1 : self.size(d - shift);
    if (loops.rank + 2 > kMaxRank) return Status::error(Code::unsupported, "repeat of too many dimensions");
    loops.add(times[d], {own * out.stride(d), 0});
    loops.add(own, {out.stride(d), from[d]});
  }
  loops.for_each_run(0, loops.count, [&](const auto& offsets, int64_t n) {
    const int64_t to_step = loops.inner_stride(0) * bytes, from_step = loops.inner_stride(1) * bytes;
    std::byte* to = out.data<std::byte>() + offsets[0] * bytes;
    const std::byte* at = self.data<std::byte>() + offsets[1] * bytes;
    for (int64_t i = 0; i < n; ++i) std::memmove(to + i * to_step, at + i * from_step, self.element_bytes());
  });
  return {};
}

Status roll(KernelContext& context, const Tensor& self, IntList shifts, IntList dims, Tensor& out) {
  PTERON_TRY(expect_dtype(out, self.dtype(), "out"));
  PTERON_TRY(resize_like(out, self));
  if (out.numel() == 0) return {};
  std::array<int64_t, kMaxRank> shift{};
  if (dims.empty()) {  // all elements as one row
    PTERON_TRY(expect(shifts.size() == 1, "roll without dims takes one shift"));
    PTERON_TRY(expect_contiguous({&self, &out}));
    const auto n = static_cast<int64_t>(self.numel());
    const int64_t by = (shifts[0] % n + n) % n;
    const size_t bytes = self.element_bytes();
    std::memmove(out.data<std::byte>() + static_cast<size_t>(by) * bytes, self.data(), static_cast<size_t>(n - by) * bytes);
    std::memmove(out.data(), self.data<std::byte>() + static_cast<size_t>(n - by) * bytes, static_cast<size_t>(by) * bytes);
    return {};
  }
  PTERON_TRY(expect(shifts.size() == dims.size(), "shifts and dims differ in number"));
  for (size_t i = 0; i < dims.size(); ++i) {
    PTERON_ASSIGN(const size_t d, wrap_dim(dims[i], self.rank()));
    if (self.rank() == 0) continue;
    const int64_t n = self.size(d);
    shift[d] = ((shift[d] + shifts[i] % n) % n + n) % n;
  }
  // Each dimension has two parts, which change places: 2^rolled copies.
  const size_t rank = self.rank();
  for (uint32_t combination = 0; combination < (1u << rank); ++combination) {
    View from = view_of(self), to = view_of(out);
    bool empty = false;
    for (size_t d = 0; d < rank; ++d) {
      const bool head = (combination >> d & 1) == 0;
      const int64_t n = head ? self.size(d) - shift[d] : shift[d];
      empty = empty || n == 0;
      from.sizes[d] = to.sizes[d] = static_cast<int32_t>(n);
      (head ? to : from).shift(head ? shift[d] * to.strides[d] : (self.size(d) - shift[d]) * from.strides[d]);
    }
    if (!empty) copy_view(context, from, to, out.dim_order());
  }
  return {};
}

Status constant_pad(KernelContext& context, const Tensor& self, IntList pad, Scalar value, Tensor& out) {
  PTERON_TRY(expect_dtype(out, self.dtype(), "out"));
  if (pad.size() % 2 != 0 || pad.size() / 2 > self.rank())
    return bad("wrong number of pads", "pad", "at most " + std::to_string(2 * self.rank()), std::to_string(pad.size()));
  if (!is_real(self.dtype())) return bad_dtype("self", self.dtype());
  Sizes sizes(self.sizes());
  std::array<int64_t, kMaxRank> before{}, after{};
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    const size_t d = self.rank() - 1 - i;
    before[d] = pad[2 * i];
    after[d] = pad[2 * i + 1];
    constexpr int64_t kLimit = std::numeric_limits<int32_t>::max();
    const int64_t n =
        before[d] < -kLimit || before[d] > kLimit || after[d] < -kLimit || after[d] > kLimit ? -1 : self.size(d) + before[d] + after[d];
    if (n < 0 || n > kLimit) return bad("pad leaves an impossible size", "pad", "", std::to_string(n));
    sizes[d] = static_cast<int32_t>(n);
  }
  PTERON_TRY(out.resize(sizes.span()));
  for (int64_t i = 0; i < static_cast<int64_t>(out.numel()); ++i) {
    if (value.is_number()) store_one(out.dtype(), value.d, out.data(), i);
    else store_one(out.dtype(), value.i, out.data(), i);
  }
  View from = view_of(self), to = view_of(out);
  bool empty = false;
  for (size_t d = 0; d < self.rank(); ++d) {  // negative pads cut elements off
    const int64_t cut_front = std::max<int64_t>(-before[d], 0), cut_back = std::max<int64_t>(-after[d], 0),
                  n = self.size(d) - cut_front - cut_back;
    empty = empty || n <= 0;
    if (empty) break;
    from.shift(cut_front * from.strides[d]);
    to.shift(std::max<int64_t>(before[d], 0) * to.strides[d]);
    from.sizes[d] = to.sizes[d] = static_cast<int32_t>(n);
  }
  if (!empty) copy_view(context, from, to, out.dim_order());
  return {};
}

// Rows below the diagonal, 0 above it.
Status tril(KernelContext& context, const Tensor& self, int64_t diagonal, Tensor& out) {
  if (self.rank() < 2) return bad("tril needs two dimensions");
  PTERON_TRY(expect_dtype(out, self.dtype(), "out"));
  PTERON_TRY(resize_like(out, self));
  PTERON_TRY(cast_into(context, self, out));
  const size_t rank = out.rank();
  Loops<1> matrices;
  for (size_t d = 0; d + 2 < rank; ++d) matrices.add(out.size(d), {out.stride(d)});
  const auto bytes = static_cast<int64_t>(out.element_bytes());
  matrices.for_each_run(0, matrices.count, [&](const auto& offsets, int64_t n) {
    for (int64_t m = 0; m < n; ++m) {
      for (int64_t r = 0; r < out.size(rank - 2); ++r) {
        const int64_t from = diagonal >= out.size(rank - 1)
                                 ? out.size(rank - 1)
                                 : std::max<int64_t>(0, r + std::max<int64_t>(diagonal, -out.size(rank - 2)) + 1);
        for (int64_t c = from; c < out.size(rank - 1); ++c) {
          const int64_t at = offsets[0] + m * matrices.inner_stride(0) + r * out.stride(rank - 2) + c * out.stride(rank - 1);
          std::memset(out.data<std::byte>() + at * bytes, 0, out.element_bytes());
        }
      }
    }
  });
  return {};
}

// Space and channels: [.., C r r, H, W] <-> [.., C, H r, W r]. `blocks` is the side with many channels, `wide` the other.
Status shuffle_sizes(const Tensor& self, int64_t factor, bool shuffle, Sizes& sizes) {
  if (self.rank() < 3) return bad("pixel shuffle needs three dimensions");
  const size_t c = self.rank() - 3;
  if (factor <= 0 || factor > 32767) return bad("factor is out of range", "factor", "1 to 32767", std::to_string(factor));
  const int64_t channels = self.size(c), h = self.size(c + 1), w = self.size(c + 2), square = factor * factor;
  if (shuffle ? channels % square != 0 : h % factor != 0 || w % factor != 0)
    return bad("sizes are no multiples of the factor", "factor", sizes_text(self.sizes()), std::to_string(factor));
  const int64_t out_c = shuffle ? channels / square : channels * square, out_h = shuffle ? h * factor : h / factor,
                out_w = shuffle ? w * factor : w / factor;
  constexpr int64_t kLimit = std::numeric_limits<int32_t>::max();
  if (out_c > kLimit || out_h > kLimit || out_w > kLimit) return bad("result is too large");
  sizes = Sizes(self.sizes());
  sizes[c] = static_cast<int32_t>(out_c);
  sizes[c + 1] = static_cast<int32_t>(out_h);
  sizes[c + 2] = static_cast<int32_t>(out_w);
  return {};
}

// The elements of either side as [.., C, r, r, H, W].
View shuffle_view(const Tensor& blocks, int32_t factor) {  // the side with C r r channels
  View view = view_of(blocks);
  const size_t c = blocks.rank() - 3;
  const int64_t step = blocks.stride(c);
  view.sizes[c] = blocks.size(c) / (factor * factor);
  view.strides[c] = step * factor * factor;
  view.insert(c + 1, factor, step * factor);
  view.insert(c + 2, factor, step);
  return view;
}
View unshuffle_view(const Tensor& wide, int32_t factor) {  // the side with H r rows
  View view = view_of(wide);
  const size_t h = wide.rank() - 2, w = wide.rank() - 1;
  const int64_t row = wide.stride(h), column = wide.stride(w);
  view.sizes[h] = wide.size(h) / factor;
  view.sizes[w] = wide.size(w) / factor;
  view.strides[h] = row * factor;
  view.strides[w] = column * factor;
  view.insert(h, factor, row);
  view.insert(h + 1, factor, column);
  return view;
}

Status pixel_shuffle(KernelContext& context, const Tensor& self, int64_t factor, Tensor& out) {
  Sizes sizes;
  PTERON_TRY(shuffle_sizes(self, factor, true, sizes));
  PTERON_TRY(expect_dtype(out, self.dtype(), "out"));
  PTERON_TRY(expect(self.rank() + 2 <= kMaxRank, "too many dimensions"));
  PTERON_TRY(out.resize(sizes.span()));
  copy_view(context, shuffle_view(self, static_cast<int32_t>(factor)), unshuffle_view(out, static_cast<int32_t>(factor)));
  return {};
}

Status pixel_unshuffle(KernelContext& context, const Tensor& self, int64_t factor, Tensor& out) {
  Sizes sizes;
  PTERON_TRY(shuffle_sizes(self, factor, false, sizes));
  PTERON_TRY(expect_dtype(out, self.dtype(), "out"));
  PTERON_TRY(expect(self.rank() + 2 <= kMaxRank, "too many dimensions"));
  PTERON_TRY(out.resize(sizes.span()));
  copy_view(context, unshuffle_view(self, static_cast<int32_t>(factor)), shuffle_view(out, static_cast<int32_t>(factor)));
  return {};
}

// Image tiles [C, H, W] -> [tiles, C, t, t], row by row.
Status tile_crop(KernelContext& context, const Tensor& input, int64_t tile, Tensor& out) {
  PTERON_TRY(expect_rank(input, 3, "input"));
  PTERON_TRY(expect_dtype(out, input.dtype(), "out"));
  if (tile <= 0 || tile > std::numeric_limits<int32_t>::max() || input.size(1) % tile != 0 || input.size(2) % tile != 0)
    return bad("image is no multiple of the tile", "tile_size", sizes_text(input.sizes()), std::to_string(tile));
  const auto t = static_cast<int32_t>(tile);
  const int32_t down = input.size(1) / t, across = input.size(2) / t;
  if (int64_t{down} * across > std::numeric_limits<int32_t>::max()) return bad("too many tiles");
  const int32_t sizes[] = {down * across, input.size(0), t, t};
  PTERON_TRY(out.resize(sizes));
  View from = view_of(input), to = view_of(out);
  from.sizes = {};
  for (int32_t n : {down, across, input.size(0), t, t}) from.sizes.push(n);
  const int64_t channel = input.stride(0), row = input.stride(1), column = input.stride(2);
  from.strides = {row * t, column * t, channel, row, column};
  const auto out_strides = out.strides();
  to.sizes = from.sizes;
  to.strides = {out_strides[0] * across, out_strides[0], out_strides[1], out_strides[2], out_strides[3]};
  copy_view(context, from, to);
  return {};
}

constexpr Kernel kKernels[] = {
    make_kernel<&cat>("aten::cat.out"),
    make_kernel<&stack>("aten::stack.out"),
    make_kernel<&split_copy>("aten::split_copy.Tensor_out"),
    make_kernel<&split_with_sizes_copy>("aten::split_with_sizes_copy.out"),
    make_kernel<&unbind_copy>("aten::unbind_copy.int_out"),
    make_kernel<&select_scatter>("aten::select_scatter.out"),
    make_kernel<&slice_scatter>("aten::slice_scatter.out"),
    make_kernel<&repeat>("aten::repeat.out"),
    make_kernel<&roll>("aten::roll.out"),
    make_kernel<&constant_pad>("aten::constant_pad_nd.out"),
    make_kernel<&tril>("aten::tril.out"),
    make_kernel<&pixel_shuffle>("aten::pixel_shuffle.out"),
    make_kernel<&pixel_unshuffle>("aten::pixel_unshuffle.out"),
    runtime::make_lenient_kernel<&tile_crop>("preprocess::tile_crop.out"),
};

}  // namespace

std::span<const Kernel> join_kernels() { return kKernels; }

}  // namespace pteron::portable
