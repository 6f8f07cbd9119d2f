// Where extrema are, sorted selections, running sums, positions of non-zero elements.
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/portable/families.h"
#include "kernels/portable/reduce.h"

namespace pteron::portable {
namespace {

using runtime::make_kernel;
using runtime::Value;

// The first largest or smallest element and its position; a NaN counts as the extremum.
template <class T, bool kLargest>
struct Position {
  T best = 0;
  int64_t at = -1, seen = 0;
  void feed(const T* run, int64_t n) {
    for (int64_t i = 0; i < n; ++i, ++seen) {
      const T x = run[i];
      if (at < 0 || (best == best && (x != x || (kLargest ? x > best : x < best)))) best = x, at = seen;
    }
  }
};

template <class T, bool kLargest, class F>
void find_positions(KernelContext& context, const Tensor& self, const Reduction& plan, F&& store) {
  for_each_result(context, plan, [&](int64_t to, int64_t from) {
    Position<T, kLargest> position;
    for_each_element_run<T>(self, plan, from, [&](const T* run, int64_t n) { position.feed(run, n); });
    store(to, from, position.at);
  });
}

// Calls store(out offset, offset of the first element, position of the extremum) for each result.
template <bool kLargest, class F>
Status for_each_extremum(KernelContext& context, const Tensor& self, const Reduction& plan, F&& store) {
  if (!is_real(self.dtype())) return bad_dtype("self", self.dtype());
  if (plan.results.count > 0 && plan.elements.count == 0) return bad("extremum of no elements");
  if (is_int_or_bool(self.dtype())) find_positions<int64_t, kLargest>(context, self, plan, store);
  else if (self.dtype() == ScalarType::Double) find_positions<double, kLargest>(context, self, plan, store);
  else find_positions<float, kLargest>(context, self, plan, store);
  return {};
}

template <bool kLargest>
Status arg_extremum(KernelContext& context, const Tensor& self, std::optional<int64_t> dim, bool keepdim, Tensor& out) {
  PTERON_TRY(expect_dtype(out, ScalarType::Long, "out"));
  DimMask mask = (DimMask{1} << self.rank()) - 1;
  if (dim) {
    PTERON_ASSIGN(const size_t d, wrap_dim(*dim, self.rank()));
    mask &= DimMask{1} << d;
  }
  PTERON_TRY(out.resize(Reduction::sizes(self, mask, keepdim).span()));
  const Reduction plan(self, mask, keepdim, out);
  return for_each_extremum<kLargest>(context, self, plan, [&](int64_t to, int64_t, int64_t at) { out.data<int64_t>()[to] = at; });
}

template <bool kLargest>
Status extremum_along(KernelContext& context, const Tensor& self, int64_t dim, bool keepdim, Tensor& values, Tensor& indices) {
  PTERON_TRY(expect_dtype(values, self.dtype(), "values"));
  PTERON_TRY(expect_dtype(indices, ScalarType::Long, "indices"));
  PTERON_ASSIGN(const size_t d, wrap_dim(dim, self.rank()));
  const DimMask mask = self.rank() > 0 ? DimMask{1} << d : 0;
  const Sizes sizes = Reduction::sizes(self, mask, keepdim);
  PTERON_TRY(values.resize(sizes.span()));
  PTERON_TRY(indices.resize(sizes.span()));
  PTERON_TRY(expect(std::ranges::equal(values.dim_order(), indices.dim_order()), "outs have different dim orders"));
  const Reduction plan(self, mask, keepdim, values);
  const int64_t step = self.rank() > 0 ? self.stride(d) : 0;
  const size_t bytes = self.element_bytes();
  return for_each_extremum<kLargest>(context, self, plan, [&](int64_t to, int64_t from, int64_t at) {
    indices.data<int64_t>()[to] = at;
    std::memmove(values.data<std::byte>() + static_cast<size_t>(to) * bytes,
                self.data<std::byte>() + static_cast<size_t>(from + at * step) * bytes, bytes);
  });
}

// The k best elements of a row, kept as a heap of positions inside the indices tensor: the worst is at the root.
template <class T>
class TopRow {
 public:
  TopRow(const Tensor& self, int64_t from, int64_t step, bool largest, int64_t* positions, int64_t positions_step)
      : self_(self), from_(from), step_(step), largest_(largest), positions_(positions), positions_step_(positions_step) {}

  void select(int64_t size, int64_t k) {
    if (k == 0) return;
    for (int64_t i = 0; i < k; ++i) at(i) = i;
    for (int64_t i = k / 2; i-- > 0;) sink(i, k);
    for (int64_t i = k; i < size; ++i) {
      if (!before(i, at(0))) continue;
      at(0) = i;
      sink(0, k);
    }
    for (int64_t n = k; n-- > 1;) {  // takes the worst to the end, one after another
      std::swap(at(0), at(n));
      sink(0, n);
    }
  }

 private:
  int64_t& at(int64_t i) { return positions_[i * positions_step_]; }
  // Whether element a comes before element b: NaN counts as the largest, equal elements keep their order.
  bool before(int64_t a, int64_t b) const {
    const T x = load_one<T>(self_.dtype(), self_.data(), from_ + a * step_), y = load_one<T>(self_.dtype(), self_.data(), from_ + b * step_);
    const bool above = (x != x && y == y) || x > y, below = (y != y && x == x) || x < y;
    if (above == below) return a < b;
    return largest_ ? above : below;
  }
  void sink(int64_t i, int64_t n) {
    for (int64_t child; (child = 2 * i + 1) < n; i = child) {
      if (child + 1 < n && before(at(child), at(child + 1))) ++child;
      if (!before(at(i), at(child))) return;
      std::swap(at(i), at(child));
    }
  }

  const Tensor& self_;
  int64_t from_, step_;
  bool largest_;
  int64_t* positions_;
  int64_t positions_step_;
};

Status topk(KernelContext& context, const Tensor& self, int64_t k, int64_t dim, bool largest, bool, Tensor& values, Tensor& indices) {
  PTERON_TRY(expect_dtype(values, self.dtype(), "values"));
  PTERON_TRY(expect_dtype(indices, ScalarType::Long, "indices"));
  if (!is_real(self.dtype())) return bad_dtype("self", self.dtype());
  PTERON_ASSIGN(const size_t d, wrap_dim(dim, self.rank()));
  const bool scalar = self.rank() == 0;
  const int64_t size = scalar ? 1 : self.size(d), step = scalar ? 0 : self.stride(d);
  if (k < 0 || k > size) return bad("k is out of range", "k", "0 to " + std::to_string(size), std::to_string(k));
  Sizes sizes(self.sizes());
  if (!scalar) sizes[d] = static_cast<int32_t>(k);
  PTERON_TRY(values.resize(sizes.span()));
  PTERON_TRY(indices.resize(sizes.span()));
  PTERON_TRY(expect(std::ranges::equal(values.dim_order(), indices.dim_order()), "outs have different dim orders"));
  PTERON_TRY(expect_apart(indices, self));
  PTERON_TRY(expect_apart(values, indices));
  const Reduction plan(self, scalar ? 0 : DimMask{1} << d, true, values);
  const int64_t out_step = scalar ? 0 : values.stride(d);
  const size_t bytes = self.element_bytes();
  for_each_result(context, plan, [&](int64_t to, int64_t from) {
    int64_t* positions = indices.data<int64_t>() + to;
    if (is_float(self.dtype())) TopRow<double>(self, from, step, largest, positions, out_step).select(size, k);
    else TopRow<int64_t>(self, from, step, largest, positions, out_step).select(size, k);
    for (int64_t i = 0; i < k; ++i) {
      std::memmove(values.data<std::byte>() + static_cast<size_t>(to + i * out_step) * bytes,
                  self.data<std::byte>() + static_cast<size_t>(from + positions[i * out_step] * step) * bytes, bytes);
    }
  });
  return {};
}

template <class T>
void running_sum(const Tensor& self, int64_t from, int64_t step, int64_t size, Tensor& out, int64_t to, int64_t out_step) {
  T sum = 0;
  for (int64_t i = 0; i < size; ++i) {
    const T x = load_one<T>(self.dtype(), self.data(), from + i * step);
    if constexpr (std::is_same_v<T, int64_t>) sum = static_cast<int64_t>(static_cast<uint64_t>(sum) + static_cast<uint64_t>(x));
    else sum += x;
    store_one(out.dtype(), sum, out.data(), to + i * out_step);
  }
}

Status cumsum(KernelContext& context, const Tensor& self, int64_t dim, std::optional<int64_t> dtype, Tensor& out) {
  if (!is_real(self.dtype()) || !is_real(out.dtype())) return bad_dtype("self", self.dtype());
  if (dtype && *dtype != static_cast<int64_t>(out.dtype()))
    return bad("dtype is not that of out", "dtype", std::string(dtype_name(out.dtype())), std::to_string(*dtype));
  PTERON_ASSIGN(const size_t d, wrap_dim(dim, self.rank()));
  PTERON_TRY(resize_like(out, self));
  const bool scalar = self.rank() == 0;
  const int64_t size = scalar ? 1 : self.size(d), step = scalar ? 1 : self.stride(d), out_step = scalar ? 1 : out.stride(d);
  const Reduction plan(self, scalar ? 0 : DimMask{1} << d, true, out);
  for_each_result(context, plan, [&](int64_t to, int64_t from) {
    if (is_int_or_bool(out.dtype())) running_sum<int64_t>(self, from, step, size, out, to, out_step);
    else running_sum<double>(self, from, step, size, out, to, out_step);
  });
  return {};
}

// Calls f(row-major position) for each element that is not zero.
template <class F>
void for_each_nonzero(const Tensor& self, F&& f) {
  Loops<1> loops;
  for (size_t d = 0; d < self.rank(); ++d) loops.add(self.size(d), {self.stride(d)});
  int64_t position = 0;
  const bool floating = is_float(self.dtype());
  loops.for_each_run(0, loops.count, [&](const auto& offsets, int64_t n) {
    for (int64_t i = 0; i < n; ++i, ++position) {
      const int64_t at = offsets[0] + i * loops.inner_stride(0);
      if (floating ? load_one<double>(self.dtype(), self.data(), at) != 0 : load_one<int64_t>(self.dtype(), self.data(), at) != 0)
        f(position);
    }
  });
}

Status nonzero(KernelContext&, const Tensor& self, Tensor& out) {
  PTERON_TRY(expect_dtype(out, ScalarType::Long, "out"));
  if (!is_real(self.dtype())) return bad_dtype("self", self.dtype());
  int64_t count = 0;
  for_each_nonzero(self, [&](int64_t) { ++count; });
  if (count > std::numeric_limits<int32_t>::max()) return bad("result is too long");
  const int32_t sizes[] = {static_cast<int32_t>(count), static_cast<int32_t>(self.rank())};
  PTERON_TRY(out.resize(sizes));
  PTERON_TRY(expect_apart(out, self));
  int64_t row = 0;
  for_each_nonzero(self, [&](int64_t position) {
    for (size_t d = self.rank(); d-- > 0;) {
      out.data<int64_t>()[row * out.stride(0) + static_cast<int64_t>(d) * out.stride(1)] = position % self.size(d);
      position /= self.size(d);
    }
    ++row;
  });
  return {};
}

// 0 repeated repeats[0] times, 1 repeated repeats[1] times, ...
Status repeat_interleave(KernelContext&, const Tensor& repeats, std::optional<int64_t> output_size, Tensor& out) {
  PTERON_TRY(expect_rank(repeats, 1, "repeats"));
  if (repeats.dtype() != ScalarType::Int && repeats.dtype() != ScalarType::Long) return bad_dtype("repeats", repeats.dtype());
  PTERON_TRY(expect_dtype(out, repeats.dtype(), "out"));
  int64_t total = 0;
  for (int64_t i = 0; i < repeats.size(0); ++i) {
    const int64_t n = load_one<int64_t>(repeats.dtype(), repeats.data(), i);
    if (n < 0 || n > std::numeric_limits<int32_t>::max() - total)
      return bad("repeat count is out of range", "repeats", "", std::to_string(n));
    total += n;
  }
  if (output_size && *output_size != total)
    return bad("output size is not the sum of the repeats", "output_size", std::to_string(total), std::to_string(*output_size));
  const int32_t sizes[] = {static_cast<int32_t>(total)};
  PTERON_TRY(out.resize(sizes));
  PTERON_TRY(expect_apart(out, repeats));
  int64_t at = 0;
  for (int64_t i = 0; i < repeats.size(0); ++i) {
    for (int64_t n = load_one<int64_t>(repeats.dtype(), repeats.data(), i); n > 0; --n) store_one(out.dtype(), i, out.data(), at++);
  }
  return {};
}

Result<bool> all_close(const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan) {
  PTERON_TRY(expect_dtype(other, self.dtype(), "other"));
  PTERON_TRY(expect_sizes(other, self.sizes(), "other"));
  PTERON_TRY(expect(std::ranges::equal(self.dim_order(), other.dim_order()), "tensors have different dim orders"));
  if (!is_real(self.dtype())) return bad_dtype("self", self.dtype());
  for (int64_t i = 0; i < static_cast<int64_t>(self.numel()); ++i) {
    const double a = load_one<double>(self.dtype(), self.data(), i), b = load_one<double>(other.dtype(), other.data(), i);
    if (a == b || (equal_nan && a != a && b != b)) continue;
    if (!std::isfinite(a) || !std::isfinite(b) || !(std::abs(a - b) <= atol + std::abs(rtol * b))) return false;
  }
  return true;
}

Status allclose_out(KernelContext&, const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan, bool, Tensor& out) {
  PTERON_TRY(expect_dtype(out, ScalarType::Bool, "out"));
  PTERON_ASSIGN(const bool close, all_close(self, other, rtol, atol, equal_nan));
  if (out.numel() != 1) return bad("out is no single element", "out", "1", sizes_text(out.sizes()));
  out.data<uint8_t>()[0] = close;
  return {};
}

// Without an out tensor the slot keeps its tensor if it has one, and becomes a bool otherwise.
Status allclose(KernelContext&, const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan, bool, ResultSlot result) {
  PTERON_ASSIGN(const bool close, all_close(self, other, rtol, atol, equal_nan));
  Value& value = *result.value;
  if (value.is(Value::Kind::tensor) && value.tensor().dtype() == ScalarType::Bool && value.tensor().numel() == 1 &&
      value.tensor().data() != nullptr) {
    value.tensor().data<uint8_t>()[0] = close;
  } else {
    value = Value(close);
  }
  return {};
}

constexpr Kernel kKernels[] = {
    make_kernel<&arg_extremum<true>>("aten::argmax.out"),
    make_kernel<&arg_extremum<false>>("aten::argmin.out"),
    make_kernel<&extremum_along<true>>("aten::max.dim_max"),
    make_kernel<&extremum_along<false>>("aten::min.dim_min"),
    make_kernel<&topk>("aten::topk.values"),
    make_kernel<&cumsum>("aten::cumsum.out"),
    make_kernel<&nonzero>("aten::nonzero.out"),
    make_kernel<&repeat_interleave>("aten::repeat_interleave.Tensor_out"),
    make_kernel<&allclose_out>("aten::allclose.out"),
    make_kernel<&allclose>("aten::allclose.Tensor"),
};

}  // namespace

std::span<const Kernel> order_kernels() { return kKernels; }

}  // namespace pteron::portable
