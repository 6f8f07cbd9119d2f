// Operators that make tensors of nothing: fills, ranges, random numbers.
#include <atomic>
#include <cmath>
#include <cstring>

#include "kernels/portable/cast.h"
#include "kernels/portable/convert.h"
#include "kernels/portable/families.h"
#include "kernels/portable/strided.h"

namespace pteron::portable {
namespace {

using runtime::make_kernel;

Status fill(const Scalar& value, Tensor& out) {
  if (!is_real(out.dtype())) return bad_dtype("out", out.dtype());
  const auto n = static_cast<int64_t>(out.numel());
  if (n == 0) return {};
  if (value.is_number()) store_one(out.dtype(), value.d, out.data(), 0);
  else store_one(out.dtype(), value.i, out.data(), 0);
  const size_t size = out.element_bytes(), total = out.nbytes();
  for (size_t done = size; done < total; done *= 2) std::memcpy(out.data<std::byte>() + done, out.data(), std::min(done, total - done));
  return {};
}

constexpr Scalar kZero{Scalar::Kind::integer, 0, 0}, kOne{Scalar::Kind::integer, 1, 0};

Status resize_to(const IntList& size, Tensor& out) {
  PTERON_ASSIGN(const Sizes sizes, sizes_from(size));
  return out.resize(sizes.span());
}

Status full(KernelContext&, IntList size, Scalar value, Tensor& out) {
  PTERON_TRY(resize_to(size, out));
  return fill(value, out);
}
Status zeros(KernelContext&, IntList size, Tensor& out) {
  PTERON_TRY(resize_to(size, out));
  return fill(kZero, out);
}
Status ones(KernelContext&, IntList size, Tensor& out) {
  PTERON_TRY(resize_to(size, out));
  return fill(kOne, out);
}
Status full_like(KernelContext&, const Tensor& self, Scalar value, std::optional<int64_t>, Tensor& out) {
  PTERON_TRY(resize_like(out, self));
  return fill(value, out);
}
Status fill_scalar(KernelContext&, const Tensor& self, Scalar value, Tensor& out) {
  PTERON_TRY(resize_like(out, self));
  return fill(value, out);
}
Status fill_tensor(KernelContext& context, const Tensor& self, const Tensor& value, Tensor& out) {
  PTERON_TRY(expect_rank(value, 0, "value"));
  return cast_into(context, value, self, out);
}
Status scalar_tensor(KernelContext&, Scalar s, Tensor& out) {
  PTERON_TRY(out.resize({}));
  return fill(s, out);
}

// Elements are whatever the memory holds.
Status empty(KernelContext&, IntList size, std::optional<int64_t>, Tensor& out) { return resize_to(size, out); }
Status empty_dim_order(KernelContext&, IntList size, std::optional<IntList> dim_order, Tensor& out) {
  if (dim_order) {
    PTERON_TRY(expect(dim_order->size() == out.rank(), "dim order has another rank than out"));
    for (size_t i = 0; i < out.rank(); ++i) PTERON_TRY(expect((*dim_order)[i] == out.dim_order()[i], "dim order differs from that of out"));
  }
  return resize_to(size, out);
}

Status arange_from(Scalar start, Scalar end, Scalar step, Tensor& out) {
  if (!is_real(out.dtype())) return bad_dtype("out", out.dtype());
  const double from = start.as_double(), to = end.as_double(), by = step.as_double();
  if (!std::isfinite(from) || !std::isfinite(to) || !std::isfinite(by) || by == 0 || (to != from && (to > from) != (by > 0))) {
    return bad("range has no end", "step", "", std::to_string(by));
  }
  const bool integers = !start.is_number() && !end.is_number() && !step.is_number();
  const double count = std::ceil((to - from) / by);
  if (count > 0x1p31 - 1) return bad("range is too long", "end", "", std::to_string(count));
  const int32_t sizes[] = {static_cast<int32_t>(count)};
  PTERON_TRY(out.resize(sizes));
  for (int64_t i = 0; i < sizes[0]; ++i) {
    if (integers) store_one(out.dtype(), start.i + i * step.i, out.data(), i);
    else store_one(out.dtype(), from + static_cast<double>(i) * by, out.data(), i);
  }
  return {};
}
Status arange(KernelContext&, Scalar end, Tensor& out) { return arange_from(kZero, end, kOne, out); }
Status arange_start(KernelContext&, Scalar start, Scalar end, Scalar step, Tensor& out) { return arange_from(start, end, step, out); }

// A counter-based generator (SplitMix64): no state but the number of draws so far, shared by all methods of the process.
class Random {
 public:
  explicit Random(size_t draws) : next_(counter().fetch_add(draws, std::memory_order_relaxed)) {}
  double uniform() {  // in [0, 1), multiples of 2^-24 so that float32 keeps it below 1
    uint64_t x = ++next_ * 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return static_cast<double>((x ^ (x >> 31)) >> 40) * 0x1p-24;
  }
  double normal() { return std::sqrt(-2 * std::log(1 - uniform())) * std::cos(6.283185307179586 * uniform()); }

 private:
  static std::atomic<uint64_t>& counter() {
    static constinit std::atomic<uint64_t> count{0};
    return count;
  }
  uint64_t next_;
};

Status rand(KernelContext&, IntList size, Tensor& out) {
  if (!is_float(out.dtype())) return bad_dtype("out", out.dtype());
  PTERON_TRY(resize_to(size, out));
  Random random(out.numel());
  for (size_t i = 0; i < out.numel(); ++i) store_one(out.dtype(), random.uniform(), out.data(), static_cast<int64_t>(i));
  return {};
}
Status randn(KernelContext&, IntList size, Tensor& out) {
  if (!is_float(out.dtype())) return bad_dtype("out", out.dtype());
  PTERON_TRY(resize_to(size, out));
  Random random(2 * out.numel());
  for (size_t i = 0; i < out.numel(); ++i) store_one(out.dtype(), random.normal(), out.data(), static_cast<int64_t>(i));
  return {};
}

// out1 is the mask of what is kept. Without training everything is.
Status native_dropout(KernelContext&, const Tensor& input, double p, std::optional<bool> train, Tensor& out0, Tensor& out1) {
  if (!is_float(input.dtype()) || out0.dtype() != input.dtype()) return bad_dtype("input", input.dtype());
  PTERON_TRY(expect_dtype(out1, ScalarType::Bool, "out1"));
  if (!(p >= 0 && p <= 1)) return bad("probability is out of range", "p", "0 to 1", std::to_string(p));
  PTERON_TRY(resize_like(out0, input));
  PTERON_TRY(resize_like(out1, input));
  PTERON_TRY(expect_contiguous({&input, &out0, &out1}));
  const bool drops = train.value_or(true) && p > 0;
  Random random(input.numel());
  for (int64_t i = 0; i < static_cast<int64_t>(input.numel()); ++i) {
    const bool keep = !drops || random.uniform() >= p;
    const double scale = drops && p < 1 ? 1 / (1 - p) : 1;
    store_one(out0.dtype(), keep ? load_one<double>(input.dtype(), input.data(), i) * scale : 0.0, out0.data(), i);
    store_one(ScalarType::Bool, int64_t{keep}, out1.data(), i);
  }
  return {};
}

constexpr Kernel kKernels[] = {
    make_kernel<&full>("aten::full.out"),
    make_kernel<&zeros>("aten::zeros.out"),
    make_kernel<&ones>("aten::ones.out"),
    make_kernel<&full_like>("aten::full_like.out"),
    make_kernel<&fill_scalar>("aten::fill.Scalar_out"),
    make_kernel<&fill_tensor>("aten::fill.Tensor_out"),
    make_kernel<&scalar_tensor>("aten::scalar_tensor.out"),
    make_kernel<&empty>("aten::empty.out"),
    make_kernel<&empty_dim_order>("dim_order_ops::_empty_dim_order.out"),
    make_kernel<&arange>("aten::arange.out"),
    make_kernel<&arange_start>("aten::arange.start_out"),
    make_kernel<&rand>("aten::rand.out"),
    make_kernel<&randn>("aten::randn.out"),
    make_kernel<&native_dropout>("aten::native_dropout.out"),
};

}  // namespace

std::span<const Kernel> create_kernels() { return kKernels; }

}  // namespace pteron::portable
