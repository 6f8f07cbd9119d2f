// Reading and writing at indices that tensors hold: index, index_put, index_select, gather, masked selections.
#include "kernels/portable/index.h"

#include <cstring>

#include "kernels/portable/cast.h"
#include "kernels/portable/families.h"
#include "kernels/portable/strided.h"

namespace pteron::portable {

Status index_error(std::string_view field, int64_t index, int64_t size) {
  return bad("index is out of range", field, "below " + std::to_string(size), std::to_string(index));
}

namespace {

using runtime::make_kernel;
using runtime::Value;

// Advanced indexing of a tensor: which dimensions are indexed, by what, and the sizes of the result.
// Index tensors broadcast to `index_sizes`, which stand in the result where the first indexed dimension stands, or in front of
// everything if a dimension that is not indexed lies between indexed ones.
class Indexing {
 public:
  static Result<Indexing> make(const Tensor& self, const OptionalTensorList& indices);

  const Sizes& result_sizes() const { return result_sizes_; }

  // Calls f(self offset, result offset) for blocks of elements that follow each other in both; the strides of the result are given.
  template <class F>
  Status for_each(const Tensor& self, std::span<const int64_t> result_strides, F&& f) const;

  // Elements of the dimensions that are not indexed, with strides of self (0) and of the result (1).
  Loops<2> kept_loops(const Tensor& self, std::span<const int64_t> result_strides) const;

 private:
  struct Index {
    const Tensor* tensor = nullptr;  // null: the dimension is kept
    size_t mask_dim = 0;             // a mask indexes as many dimensions as it has; this is the one meant here
  };
  std::array<Index, kMaxRank> indices_{};
  size_t rank_ = 0, position_ = 0;   // where the index dimensions stand in the result
  Sizes index_sizes_, result_sizes_;
};

// The n-th true element of a mask, as an index along `dim`; masks are walked once for each result row, in order.
class MaskWalk {
 public:
  explicit MaskWalk(const Tensor* mask) : mask_(mask) {}
  void next() {
    const uint8_t* bytes = mask_->data<uint8_t>();
    do ++at_;
    while (element(bytes, at_) == 0);
  }
  int64_t index(size_t dim) const {
    int64_t rest = at_;
    for (size_t d = mask_->rank(); d-- > dim + 1;) rest /= mask_->size(d);
    return rest % mask_->size(dim);
  }

 private:
  uint8_t element(const uint8_t* bytes, int64_t row_major) const {
    int64_t offset = 0;
    for (size_t d = mask_->rank(); d-- > 0;) {
      offset += row_major % mask_->size(d) * mask_->stride(d);
      row_major /= mask_->size(d);
    }
    return bytes[offset];
  }
  const Tensor* mask_;
  int64_t at_ = -1;
};

bool is_mask(const Tensor& t) { return t.dtype() == ScalarType::Bool || t.dtype() == ScalarType::Byte; }

int32_t count_true(const Tensor& mask) {
  int32_t count = 0;
  for (size_t i = 0; i < mask.numel(); ++i) count += mask.data<uint8_t>()[i] != 0 ? 1 : 0;
  return count;
}

Result<Indexing> Indexing::make(const Tensor& self, const OptionalTensorList& indices) {
  Indexing plan;
  size_t last = 0;
  bool any = false, gap = false, masked = false;
  for (size_t i = 0; i < indices.size(); ++i) {
    const Tensor* index = indices[i];
    const size_t spans = index != nullptr && is_mask(*index) ? index->rank() : 1;
    if (plan.rank_ + spans > self.rank() || spans == 0)
      return bad("more indices than dimensions", "indices", std::to_string(self.rank()), "");
    if (index == nullptr) {
      ++plan.rank_;
      continue;
    }
    if (any && plan.rank_ != last + 1) gap = true;
    if (!any) plan.position_ = plan.rank_;
    if (is_mask(*index)) {
      for (size_t d = 0; d < spans; ++d) {
        if (index->size(d) != self.size(plan.rank_ + d))
          return bad("mask has other sizes than its tensor", "indices", sizes_text(self.sizes()), sizes_text(index->sizes()));
        plan.indices_[plan.rank_ + d] = {index, d};
      }
      masked = true;
    } else {
      if (!is_index_type(index->dtype())) return bad_dtype("indices", index->dtype());
      plan.indices_[plan.rank_] = {index, 0};
    }
    any = true;
    plan.rank_ += spans;
    last = plan.rank_ - 1;
    // Broadcast with the index sizes so far.
    Sizes own(index->sizes());
    if (is_mask(*index)) {
      own = {};
      own.push(count_true(*index));
    }
    while (plan.index_sizes_.rank() < own.rank()) plan.index_sizes_.insert(0, 1);
    for (size_t d = 0; d < own.rank(); ++d) {
      int32_t& size = plan.index_sizes_[plan.index_sizes_.rank() - own.rank() + d];
      if (own[d] != 1 && size != 1 && own[d] != size)
        return bad("indices do not broadcast", "indices", sizes_text(plan.index_sizes_.span()), sizes_text(own.span()));
      if (own[d] != 1) size = own[d];
    }
  }
  if (!any) return bad("no index is given", "indices");
  if (masked && plan.index_sizes_.rank() != 1) return Status::error(Code::unsupported, "a mask among indices of several dimensions");
  if (gap) plan.position_ = 0;
  plan.rank_ = self.rank();
  if (self.rank() + plan.index_sizes_.rank() > kMaxRank) return bad("result has too many dimensions");
  size_t kept = 0;
  for (size_t d = 0; d < self.rank(); ++d) {
    if (plan.indices_[d].tensor != nullptr) continue;
    if (kept++ == plan.position_) {
      for (int32_t n : plan.index_sizes_.span()) plan.result_sizes_.push(n);
    }
    plan.result_sizes_.push(self.size(d));
  }
  if (kept <= plan.position_) {
    for (int32_t n : plan.index_sizes_.span()) plan.result_sizes_.push(n);
  }
  return plan;
}

Loops<2> Indexing::kept_loops(const Tensor& self, std::span<const int64_t> result_strides) const {
  Loops<2> loops;
  size_t kept = 0;
  for (size_t d = 0; d < rank_; ++d) {
    if (indices_[d].tensor != nullptr) continue;
    const size_t at = kept < position_ ? kept : kept + index_sizes_.rank();
    loops.add(self.size(d), {self.stride(d), result_strides[at]});
    ++kept;
  }
  return loops;
}

template <class F>
Status Indexing::for_each(const Tensor& self, std::span<const int64_t> result_strides, F&& f) const {
  std::array<Strides, kMaxRank> steps{};  // of each index tensor along the index dimensions
  const Tensor* mask = nullptr;
  int64_t count = 1;
  for (int32_t n : index_sizes_.span()) count *= n;
  for (size_t d = 0; d < rank_; ++d) {
    if (indices_[d].tensor == nullptr) continue;
    if (is_mask(*indices_[d].tensor)) {
      if (mask != nullptr && mask != indices_[d].tensor) return Status::error(Code::unsupported, "several masks among the indices");
      mask = indices_[d].tensor;
    } else {
      steps[d] = broadcast_strides(*indices_[d].tensor, index_sizes_.rank());
    }
  }
  MaskWalk walk(mask);
  const bool one_selected = mask != nullptr && count_true(*mask) == 1;
  int64_t walked = -1;
  for (int64_t i = 0; i < count; ++i) {
    std::array<int64_t, kMaxRank> at{};
    int64_t rest = i, to = 0;
    for (size_t d = index_sizes_.rank(); d-- > 0;) {
      at[d] = rest % index_sizes_[d];
      rest /= index_sizes_[d];
      to += at[d] * result_strides[position_ + d];
    }
    int64_t from = 0;
    for (size_t d = 0; d < rank_; ++d) {
      const Tensor* index = indices_[d].tensor;
      if (index == nullptr) continue;
      int64_t position = 0;
      if (index == mask) {
        const int64_t wanted = one_selected ? 0 : i;
        while (walked < wanted) walk.next(), ++walked;
        position = walk.index(indices_[d].mask_dim);
      } else {
        int64_t offset = 0;
        for (size_t x = 0; x < index_sizes_.rank(); ++x) offset += at[x] * steps[d][x];
        position = index_at(*index, offset);
        if (!wrap_index(position, self.size(d))) return index_error("indices", index_at(*index, offset), self.size(d));
      }
      from += position * self.stride(d);
    }
    f(from, to);
  }
  return {};
}

void copy_elements(std::byte* to, const std::byte* from, int64_t to_step, int64_t from_step, int64_t n, size_t bytes) {
  if (to_step == 1 && from_step == 1) {
    std::memmove(to, from, static_cast<size_t>(n) * bytes);
    return;
  }
  for (int64_t i = 0; i < n; ++i)
    std::memmove(to + i * to_step * static_cast<int64_t>(bytes), from + i * from_step * static_cast<int64_t>(bytes), bytes);
}

Status index(KernelContext&, const Tensor& self, OptionalTensorList indices, Tensor& out) {
  PTERON_TRY(expect_dtype(out, self.dtype(), "out"));
  PTERON_ASSIGN(const Indexing plan, Indexing::make(self, indices));
  PTERON_TRY(out.resize(plan.result_sizes().span()));
  if (out.numel() == 0) return {};
  for (size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] != nullptr) PTERON_TRY(expect_apart(out, *indices[i]));
  }
  const Loops<2> kept = plan.kept_loops(self, out.strides());
  const auto bytes = static_cast<int64_t>(self.element_bytes());
  return plan.for_each(self, out.strides(), [&](int64_t from, int64_t to) {
    kept.for_each_run(0, kept.count, [&](const auto& offsets, int64_t n) {
      copy_elements(out.data<std::byte>() + (to + offsets[1]) * bytes, self.data<std::byte>() + (from + offsets[0]) * bytes,
                    kept.inner_stride(1), kept.inner_stride(0), n, self.element_bytes());
    });
  });
}

// target[indices] = values, or += values. Every index is checked before anything is written.
Status put(Tensor& target, const OptionalTensorList& indices, const Tensor& values, bool accumulate) {
  PTERON_TRY(expect_dtype(values, target.dtype(), "values"));
  PTERON_ASSIGN(const Indexing plan, Indexing::make(target, indices));
  const Sizes& sizes = plan.result_sizes();
  if (values.rank() > sizes.rank())
    return bad("values do not broadcast to the indexed elements", "values", sizes_text(sizes.span()), sizes_text(values.sizes()));
  for (size_t d = 0; d < values.rank(); ++d) {
    const int32_t size = values.size(d), wanted = sizes[sizes.rank() - values.rank() + d];
    if (size != 1 && size != wanted)
      return bad("values do not broadcast to the indexed elements", "values", sizes_text(sizes.span()), sizes_text(values.sizes()));
  }
  if (accumulate && !is_real(target.dtype())) return bad_dtype("self", target.dtype());
  for (size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] != nullptr) PTERON_TRY(expect_apart(target, *indices[i]));
  }
  const Strides strides = broadcast_strides(values, sizes.rank());
  const Loops<2> kept = plan.kept_loops(target, strides);
  if (kept.count == 0) return {};
  const auto bytes = static_cast<int64_t>(target.element_bytes());
  PTERON_TRY(plan.for_each(target, strides, [](int64_t, int64_t) {}));
  return plan.for_each(target, strides, [&](int64_t to, int64_t from) {
    kept.for_each_run(0, kept.count, [&](const auto& offsets, int64_t n) {
      const int64_t to_at = to + offsets[0], from_at = from + offsets[1], to_step = kept.inner_stride(0), from_step = kept.inner_stride(1);
      if (!accumulate) {
        copy_elements(target.data<std::byte>() + to_at * bytes, values.data<std::byte>() + from_at * bytes, to_step, from_step, n,
                      target.element_bytes());
        return;
      }
      for (int64_t i = 0; i < n; ++i) {
        if (is_float(target.dtype())) {
          const double sum = load_one<double>(target.dtype(), target.data(), to_at + i * to_step) +
                             load_one<double>(values.dtype(), values.data(), from_at + i * from_step);
          store_one(target.dtype(), sum, target.data(), to_at + i * to_step);
        } else {
          const auto a = static_cast<uint64_t>(load_one<int64_t>(target.dtype(), target.data(), to_at + i * to_step));
          const auto b = static_cast<uint64_t>(load_one<int64_t>(values.dtype(), values.data(), from_at + i * from_step));
          store_one(target.dtype(), static_cast<int64_t>(a + b), target.data(), to_at + i * to_step);
        }
      }
    });
  });
}

Status index_put(KernelContext& context, const Tensor& self, OptionalTensorList indices, const Tensor& values, bool accumulate, Tensor& out) {
  PTERON_TRY(expect_dtype(out, self.dtype(), "out"));
  PTERON_TRY(resize_like(out, self));
  PTERON_TRY(cast_into(context, self, out));
  return put(out, indices, values, accumulate);
}

Status index_put_in_place(KernelContext&, Tensor& self, OptionalTensorList indices, const Tensor& values, bool accumulate,
                          ResultSlot result) {
  PTERON_TRY(put(self, indices, values, accumulate));
  *result.value = Value(&self);
  return {};
}

Status index_select(KernelContext& context, const Tensor& self, int64_t dim, const Tensor& indices, Tensor& out) {
  PTERON_TRY(expect_dtype(out, self.dtype(), "out"));
  PTERON_ASSIGN(const size_t d, wrap_dim(dim, self.rank()));
  if (!is_index_type(indices.dtype())) return bad_dtype("index", indices.dtype());
  if (self.rank() == 0 || indices.rank() > 1) return bad("index_select needs a tensor with dimensions and a list of indices");
  Sizes sizes(self.sizes());
  sizes[d] = static_cast<int32_t>(indices.numel());
  PTERON_TRY(out.resize(sizes.span()));
  View from = view_of(self), to = view_of(out);
  from.erase(d);
  to.erase(d);
  const View from_base = from, to_base = to;
  for (int64_t i = 0; i < static_cast<int64_t>(indices.numel()); ++i) {
    int64_t at = index_at(indices, i);
    if (at < 0 || at >= self.size(d)) return index_error("index", at, self.size(d));
    from.data = from_base.data;
    to.data = to_base.data;
    from.shift(at * self.stride(d));
    to.shift(i * out.stride(d));
    copy_view(context, from, to);
  }
  return {};
}

Status gather(KernelContext&, const Tensor& self, int64_t dim, const Tensor& indices, bool, Tensor& out) {
  PTERON_TRY(expect_dtype(out, self.dtype(), "out"));
  PTERON_ASSIGN(const size_t d, wrap_dim(dim, self.rank()));
  if (!is_index_type(indices.dtype())) return bad_dtype("index", indices.dtype());
  PTERON_TRY(resize_like(out, indices));
  if (indices.numel() == 0) return {};
  if (self.rank() != indices.rank() && self.rank() != 0 && indices.rank() != 0)
    return bad("index has another rank than self", "index", sizes_text(self.sizes()), sizes_text(indices.sizes()));
  Loops<3> loops;
  for (size_t x = 0; x < indices.rank(); ++x) {
    const bool along = x == d || self.rank() == 0;
    if (!along && indices.size(x) > self.size(x))
      return bad("index is larger than self", "index", sizes_text(self.sizes()), sizes_text(indices.sizes()));
    loops.add(indices.size(x), {out.stride(x), indices.stride(x), along ? 0 : self.stride(x)});
  }
  const int64_t size = self.rank() == 0 ? 1 : self.size(d), step = self.rank() == 0 ? 0 : self.stride(d);
  const auto bytes = static_cast<int64_t>(self.element_bytes());
  Status status;
  loops.for_each_run(0, loops.count, [&](const auto& offsets, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      const int64_t at = index_at(indices, offsets[1] + i * loops.inner_stride(1));
      if (at < 0 || at >= size) {
        if (status.ok()) status = index_error("index", at, size);
        return;
      }
      std::memmove(out.data<std::byte>() + (offsets[0] + i * loops.inner_stride(0)) * bytes,
                  self.data<std::byte>() + (offsets[2] + i * loops.inner_stride(2) + at * step) * bytes, self.element_bytes());
    }
  });
  return status;
}

// Elements of `self` where the mask, both broadcast, is true.
Status masked_select(KernelContext&, const Tensor& self, const Tensor& mask, Tensor& out) {
  PTERON_TRY(expect_dtype(out, self.dtype(), "out"));
  PTERON_TRY(expect_dtype(mask, ScalarType::Bool, "mask"));
  PTERON_ASSIGN(const Sizes sizes, broadcast_sizes({&self, &mask}));
  const Strides from = broadcast_strides(self, sizes.rank()), where = broadcast_strides(mask, sizes.rank());
  Loops<2> loops;
  for (size_t d = 0; d < sizes.rank(); ++d) loops.add(sizes[d], {from[d], where[d]});
  int64_t count = 0;
  const auto visit = [&](auto&& f) {
    loops.for_each_run(0, loops.count, [&](const auto& offsets, int64_t n) {
      for (int64_t i = 0; i < n; ++i) {
        if (mask.data<uint8_t>()[offsets[1] + i * loops.inner_stride(1)] != 0) f(offsets[0] + i * loops.inner_stride(0));
      }
    });
  };
  visit([&](int64_t) { ++count; });
  if (count > INT32_MAX) return bad("result is too long");
  const int32_t result[] = {static_cast<int32_t>(count)};
  PTERON_TRY(out.resize(result));
  PTERON_TRY(expect_apart(out, mask));
  const auto bytes = static_cast<int64_t>(self.element_bytes());
  int64_t at = 0;
  visit([&](int64_t offset) {
    std::memmove(out.data<std::byte>() + at++ * bytes, self.data<std::byte>() + offset * bytes, self.element_bytes());
  });
  return {};
}

// self, with the elements where the mask is true replaced by those of `source` in order.
Status masked_scatter(KernelContext& context, const Tensor& self, const Tensor& mask, const Tensor& source, Tensor& out) {
  PTERON_TRY(expect_dtype(out, self.dtype(), "out"));
  PTERON_TRY(expect_dtype(source, self.dtype(), "source"));
  PTERON_TRY(expect_dtype(mask, ScalarType::Bool, "mask"));
  PTERON_ASSIGN(const Sizes sizes, broadcast_sizes({&self, &mask}));
  PTERON_TRY(out.resize(sizes.span()));
  PTERON_TRY(cast_into(context, self, out));
  PTERON_TRY(expect_contiguous({&source}));
  const Strides where = broadcast_strides(mask, sizes.rank());
  Loops<2> loops;
  for (size_t d = 0; d < sizes.rank(); ++d) loops.add(sizes[d], {out.stride(d), where[d]});
  const auto bytes = static_cast<int64_t>(self.element_bytes());
  int64_t taken = 0;
  bool short_source = false;
  loops.for_each_run(0, loops.count, [&](const auto& offsets, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      if (mask.data<uint8_t>()[offsets[1] + i * loops.inner_stride(1)] == 0) continue;
      if (taken == static_cast<int64_t>(source.numel())) {
        short_source = true;
        return;
      }
      std::memmove(out.data<std::byte>() + (offsets[0] + i * loops.inner_stride(0)) * bytes, source.data<std::byte>() + taken++ * bytes,
                  self.element_bytes());
    }
  });
  return expect(!short_source, "source has fewer elements than the mask selects");
}

constexpr Kernel kKernels[] = {
    make_kernel<&index>("aten::index.Tensor_out"),
    make_kernel<&index_put>("aten::index_put.out"),
    make_kernel<&index_put_in_place>("aten::index_put_"),
    make_kernel<&index_select>("aten::index_select.out"),
    make_kernel<&gather>("aten::gather.out"),
    make_kernel<&masked_select>("aten::masked_select.out"),
    make_kernel<&masked_scatter>("aten::masked_scatter.out"),
};

}  // namespace

std::span<const Kernel> index_kernels() { return kKernels; }

}  // namespace pteron::portable
