// Sums, means, products, extrema and variances over dimensions.
#include "kernels/portable/reduce.h"

#include <cmath>
#include <limits>

#include "kernels/portable/families.h"

namespace pteron::portable {

Sizes Reduction::sizes(const Tensor& self, DimMask mask, bool keepdim) {
  Sizes sizes;
  for (size_t d = 0; d < self.rank(); ++d) {
    const bool reduced = (mask >> d & 1) != 0;
    if (!reduced) sizes.push(self.size(d));
    else if (keepdim) sizes.push(1);
  }
  return sizes;
}

Reduction::Reduction(const Tensor& self, DimMask mask, bool keepdim, const Tensor& out) {
  size_t out_dim = 0;
  for (size_t d = 0; d < self.rank(); ++d) {
    const bool reduced = (mask >> d & 1) != 0;
    if (reduced) elements.add(self.size(d), {self.stride(d)});
    else results.add(self.size(d), {out.stride(out_dim), self.stride(d)});
    if (!reduced || keepdim) ++out_dim;
  }
}

namespace {

using runtime::make_kernel;

const IntList* list_of(const std::optional<IntList>& dims) { return dims ? &*dims : nullptr; }

// `out` of the right sizes and the plan for filling it.
Result<Reduction> prepare(const Tensor& self, DimMask mask, bool keepdim, Tensor& out) {
  PTERON_TRY(out.resize(Reduction::sizes(self, mask, keepdim).span()));
  return Reduction(self, mask, keepdim, out);
}

// Fills `out` with finish(accumulator) for an accumulator that was fed all elements as T.
template <class T, class Accumulator, class Finish>
void accumulate(KernelContext& context, const Tensor& self, const Reduction& plan, Tensor& out, Finish&& finish) {
  for_each_result(context, plan, [&](int64_t to, int64_t from) {
    Accumulator accumulator;
    for_each_element_run<T>(self, plan, from, [&](const T* run, int64_t n) { accumulator.feed(run, n); });
    store_one(out.dtype(), finish(accumulator), out.data(), to);
  });
}

struct IntSum {
  uint64_t total = 0;
  void feed(const int64_t* run, int64_t n) {
    for (int64_t i = 0; i < n; ++i) total += static_cast<uint64_t>(run[i]);
  }
};

// A sum is computed in the type of its result: integers are only exact in an integer one.
Status sum_mask(KernelContext& context, const Tensor& self, DimMask mask, bool keepdim, Tensor& out) {
  if (!is_real(self.dtype()) || !is_real(out.dtype())) return bad_dtype("self", self.dtype());
  PTERON_ASSIGN(const Reduction plan, prepare(self, mask, keepdim, out));
  if (is_int_or_bool(out.dtype())) {  // float elements are converted first, as in PyTorch
    accumulate<int64_t, IntSum>(context, self, plan, out, [](const IntSum& s) { return static_cast<int64_t>(s.total); });
  } else if (self.dtype() == ScalarType::Double || is_int_or_bool(self.dtype())) {
    accumulate<double, Sum>(context, self, plan, out, [](const Sum& s) { return s.total(); });
  } else {
    accumulate<float, Sum>(context, self, plan, out, [](const Sum& s) { return s.total(); });
  }
  return {};
}

Status sum(KernelContext& context, const Tensor& self, std::optional<IntList> dims, bool keepdim, std::optional<int64_t>, Tensor& out) {
  PTERON_ASSIGN(const DimMask mask, dim_mask(list_of(dims), self.rank()));
  return sum_mask(context, self, mask, keepdim, out);
}

Status mean_mask(KernelContext& context, const Tensor& self, DimMask mask, bool keepdim, Tensor& out) {
  if (!is_real(self.dtype())) return bad_dtype("self", self.dtype());
  if (!is_float(out.dtype())) return bad_dtype("out", out.dtype());
  PTERON_ASSIGN(const Reduction plan, prepare(self, mask, keepdim, out));
  const auto count = static_cast<double>(plan.elements.count);
  const auto finish = [count](const Sum& s) { return s.total() / count; };
  if (is_float(self.dtype()) && self.dtype() != ScalarType::Double) accumulate<float, Sum>(context, self, plan, out, finish);
  else accumulate<double, Sum>(context, self, plan, out, finish);
  return {};
}

Status mean(KernelContext& context, const Tensor& self, std::optional<IntList> dims, bool keepdim, std::optional<int64_t>, Tensor& out) {
  PTERON_ASSIGN(const DimMask mask, dim_mask(list_of(dims), self.rank()));
  return mean_mask(context, self, mask, keepdim, out);
}

Status mean_all(KernelContext& context, const Tensor& self, std::optional<int64_t>, Tensor& out) {
  PTERON_ASSIGN(const DimMask mask, dim_mask(nullptr, self.rank()));
  return mean_mask(context, self, mask, false, out);
}

template <class T>
struct Product {
  T total = 1;
  void feed(const T* run, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      if constexpr (std::is_same_v<T, int64_t>) total = static_cast<int64_t>(static_cast<uint64_t>(total) * static_cast<uint64_t>(run[i]));
      else total *= run[i];
    }
  }
};

Status prod_mask(KernelContext& context, const Tensor& self, DimMask mask, bool keepdim, Tensor& out) {
  if (!is_real(self.dtype()) || !is_real(out.dtype())) return bad_dtype("self", self.dtype());
  PTERON_ASSIGN(const Reduction plan, prepare(self, mask, keepdim, out));
  if (is_int_or_bool(out.dtype())) accumulate<int64_t, Product<int64_t>>(context, self, plan, out, [](const auto& p) { return p.total; });
  else if (out.dtype() == ScalarType::Double)
    accumulate<double, Product<double>>(context, self, plan, out, [](const auto& p) { return p.total; });
  else accumulate<float, Product<float>>(context, self, plan, out, [](const auto& p) { return p.total; });
  return {};
}

Status prod_dim(KernelContext& context, const Tensor& self, int64_t dim, bool keepdim, std::optional<int64_t>, Tensor& out) {
  PTERON_ASSIGN(const size_t d, wrap_dim(dim, self.rank()));
  return prod_mask(context, self, self.rank() > 0 ? DimMask{1} << d : 0, keepdim, out);
}

Status prod_all(KernelContext& context, const Tensor& self, std::optional<int64_t>, Tensor& out) {
  PTERON_ASSIGN(const DimMask mask, dim_mask(nullptr, self.rank()));
  return prod_mask(context, self, mask, false, out);
}

// The largest or smallest element; NaN if there is one.
template <class T, bool kLargest>
struct Extremum {
  T best = 0;
  bool empty = true;
  void feed(const T* run, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      const T x = run[i];
      if (empty || (best == best && (x != x || (kLargest ? x > best : x < best)))) best = x;
      empty = false;
    }
  }
};

template <class T, bool kLargest>
void extremum_as(KernelContext& context, const Tensor& self, const Reduction& plan, Tensor& out) {
  accumulate<T, Extremum<T, kLargest>>(context, self, plan, out, [](const auto& e) { return e.best; });
}

template <bool kLargest>
Status extremum_mask(KernelContext& context, const Tensor& self, DimMask mask, bool keepdim, Tensor& out) {
  if (!is_real(self.dtype()) || !is_real(out.dtype())) return bad_dtype("self", self.dtype());
  PTERON_ASSIGN(const Reduction plan, prepare(self, mask, keepdim, out));
  if (plan.results.count > 0 && plan.elements.count == 0) return bad("extremum of no elements");
  if (is_int_or_bool(self.dtype())) extremum_as<int64_t, kLargest>(context, self, plan, out);
  else if (self.dtype() == ScalarType::Double) extremum_as<double, kLargest>(context, self, plan, out);
  else extremum_as<float, kLargest>(context, self, plan, out);
  return {};
}

template <bool kLargest>
Status extremum(KernelContext& context, const Tensor& self, IntList dims, bool keepdim, Tensor& out) {
  PTERON_ASSIGN(const DimMask mask, dim_mask(&dims, self.rank()));
  return extremum_mask<kLargest>(context, self, mask, keepdim, out);
}

template <bool kLargest>
Status extremum_all(KernelContext& context, const Tensor& self, Tensor& out) {
  PTERON_ASSIGN(const DimMask mask, dim_mask(nullptr, self.rank()));
  return extremum_mask<kLargest>(context, self, mask, false, out);
}

struct Any {
  bool found = false;
  template <class T>
  void feed(const T* run, int64_t n) {
    for (int64_t i = 0; i < n; ++i) found = found || run[i] != 0;
  }
};

Status any_mask(KernelContext& context, const Tensor& self, DimMask mask, bool keepdim, Tensor& out) {
  if (!is_real(self.dtype()) || (out.dtype() != ScalarType::Bool && out.dtype() != ScalarType::Byte)) return bad_dtype("self", self.dtype());
  PTERON_ASSIGN(const Reduction plan, prepare(self, mask, keepdim, out));
  const auto finish = [](const Any& a) { return int64_t{a.found}; };
  if (is_int_or_bool(self.dtype())) accumulate<int64_t, Any>(context, self, plan, out, finish);
  else accumulate<double, Any>(context, self, plan, out, finish);
  return {};
}

Status any_all(KernelContext& context, const Tensor& self, Tensor& out) {
  PTERON_ASSIGN(const DimMask mask, dim_mask(nullptr, self.rank()));
  return any_mask(context, self, mask, false, out);
}

Status any_dim(KernelContext& context, const Tensor& self, int64_t dim, bool keepdim, Tensor& out) {
  PTERON_ASSIGN(const size_t d, wrap_dim(dim, self.rank()));
  return any_mask(context, self, self.rank() > 0 ? DimMask{1} << d : 0, keepdim, out);
}

Status any_dims(KernelContext& context, const Tensor& self, std::optional<IntList> dims, bool keepdim, Tensor& out) {
  if (dims && dims->empty()) return any_mask(context, self, 0, keepdim, out);  // unlike elsewhere, an empty list reduces nothing
  PTERON_ASSIGN(const DimMask mask, dim_mask(list_of(dims), self.rank()));
  return any_mask(context, self, mask, keepdim, out);
}

// Variance in two passes; fewer degrees of freedom than one give NaN (or infinity).
Status variance(KernelContext& context, const Tensor& self, DimMask mask, double correction, bool keepdim, Tensor& out, Tensor* mean_out) {
  for (const Tensor* t : {&self, static_cast<const Tensor*>(&out)}) {
    if (!is_float(t->dtype())) return bad_dtype("self", t->dtype());
  }
  PTERON_ASSIGN(const Reduction plan, prepare(self, mask, keepdim, out));
  if (mean_out != nullptr) PTERON_TRY(mean_mask(context, self, mask, keepdim, *mean_out));
  const auto count = static_cast<double>(plan.elements.count);
  for_each_result(context, plan, [&](int64_t to, int64_t from) {
    Sum sum;
    for_each_element_run<double>(self, plan, from, [&](const double* run, int64_t n) { sum.feed(run, n); });
    const double mean = sum.total() / count;
    double squares = 0;
    for_each_element_run<double>(self, plan, from, [&](const double* run, int64_t n) {
      for (int64_t i = 0; i < n; ++i) squares += (run[i] - mean) * (run[i] - mean);
    });
    store_one(out.dtype(), squares / std::max(count - correction, 0.0), out.data(), to);
  });
  return {};
}

Status var_correction(KernelContext& context, const Tensor& self, std::optional<IntList> dims, std::optional<Scalar> correction,
                      bool keepdim, Tensor& out) {
  PTERON_ASSIGN(const DimMask mask, dim_mask(list_of(dims), self.rank()));
  return variance(context, self, mask, correction ? correction->as_double() : 1.0, keepdim, out, nullptr);
}

Status var_mean(KernelContext& context, const Tensor& self, std::optional<IntList> dims, std::optional<Scalar> correction, bool keepdim,
                Tensor& out0, Tensor& out1) {
  PTERON_ASSIGN(const DimMask mask, dim_mask(list_of(dims), self.rank()));
  return variance(context, self, mask, correction ? correction->as_double() : 1.0, keepdim, out0, &out1);
}

Status var(KernelContext& context, const Tensor& self, std::optional<IntList> dims, bool unbiased, bool keepdim, Tensor& out) {
  PTERON_ASSIGN(const DimMask mask, dim_mask(list_of(dims), self.rank()));
  return variance(context, self, mask, unbiased ? 1.0 : 0.0, keepdim, out, nullptr);
}

constexpr Kernel kKernels[] = {
    make_kernel<&sum>("aten::sum.IntList_out"),
    make_kernel<&mean>("aten::mean.out"),
    make_kernel<&mean_all>("aten::mean.dtype_out"),
    make_kernel<&prod_dim>("aten::prod.int_out"),
    make_kernel<&prod_all>("aten::prod.out"),
    make_kernel<&extremum<true>>("aten::amax.out"),
    make_kernel<&extremum<false>>("aten::amin.out"),
    make_kernel<&extremum_all<true>>("aten::max.unary_out"),
    make_kernel<&extremum_all<false>>("aten::min.unary_out"),
    make_kernel<&any_all>("aten::any.all_out"),
    make_kernel<&any_dim>("aten::any.out"),
    make_kernel<&any_dims>("aten::any.dims_out"),
    make_kernel<&var>("aten::var.out"),
    make_kernel<&var_correction>("aten::var.correction_out"),
    make_kernel<&var_mean>("aten::var_mean.correction_out"),
};

}  // namespace

std::span<const Kernel> reduce_kernels() { return kKernels; }

}  // namespace pteron::portable
