// Complex tensors and Fourier transforms. `abs` and `mul` come here from their real forms.
#include "kernels/portable/complex.h"

#include <cmath>
#include <complex>
#include <cstring>
#include <numbers>

#include "kernels/portable/convert.h"
#include "kernels/portable/families.h"
#include "kernels/portable/loops.h"
#include "kernels/portable/pointwise.h"
#include "kernels/portable/strided.h"

namespace pteron::portable {

std::complex<double> load_complex(const Tensor& t, int64_t offset) {
  switch (t.dtype()) {
    case ScalarType::ComplexFloat: return {t.data<float>()[2 * offset], t.data<float>()[2 * offset + 1]};
    case ScalarType::ComplexDouble: return {t.data<double>()[2 * offset], t.data<double>()[2 * offset + 1]};
    case ScalarType::ComplexHalf: return {half_to_float(t.data<uint16_t>()[2 * offset]), half_to_float(t.data<uint16_t>()[2 * offset + 1])};
    default: return load_one<double>(t.dtype(), t.data(), offset);
  }
}

void store_complex(Tensor& t, int64_t offset, std::complex<double> value) {
  const auto put = [&](ScalarType part) {
    store_one(part, value.real(), t.data(), 2 * offset);
    store_one(part, value.imag(), t.data(), 2 * offset + 1);
  };
  switch (t.dtype()) {
    case ScalarType::ComplexFloat: return put(ScalarType::Float);
    case ScalarType::ComplexDouble: return put(ScalarType::Double);
    case ScalarType::ComplexHalf: return put(ScalarType::Half);
    default: return store_one(t.dtype(), value.real(), t.data(), offset);
  }
}

Status complex_binary(const Tensor& a, const Tensor& b, std::complex<double> (*f)(std::complex<double>, std::complex<double>), Tensor& out) {
  if (!is_complex(out.dtype())) return bad_dtype("out", out.dtype());
  for (const Tensor* t : {&a, &b}) {
    if (!is_complex(t->dtype()) && !is_real(t->dtype())) return bad_dtype("self", t->dtype());
  }
  PTERON_ASSIGN(const Sizes sizes, broadcast_sizes({&a, &b}));
  PTERON_TRY(out.resize(sizes.span()));
  const Strides sa = broadcast_strides(a, sizes.rank()), sb = broadcast_strides(b, sizes.rank());
  Loops<3> loops;
  for (size_t d = 0; d < sizes.rank(); ++d) loops.add(sizes[d], {out.stride(d), sa[d], sb[d]});
  loops.for_each_run(0, loops.count, [&](const auto& o, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      store_complex(out, o[0] + i * loops.inner_stride(0),
                    f(load_complex(a, o[1] + i * loops.inner_stride(1)), load_complex(b, o[2] + i * loops.inner_stride(2))));
    }
  });
  return {};
}

namespace {

using runtime::make_kernel;

struct Abs {
  template <class T>
  static T apply(T x) { return std::abs(x); }
  static int64_t apply(int64_t x) { return static_cast<int64_t>(x < 0 ? 0 - static_cast<uint64_t>(x) : static_cast<uint64_t>(x)); }
};

// Calls f(out offset, self offset) for elements that correspond.
template <class F>
void for_each_pair(const Tensor& self, const Tensor& out, F&& f) {
  Loops<2> loops;
  for (size_t d = 0; d < self.rank(); ++d) loops.add(self.size(d), {out.stride(d), self.stride(d)});
  loops.for_each_run(0, loops.count, [&](const auto& o, int64_t n) {
    for (int64_t i = 0; i < n; ++i) f(o[0] + i * loops.inner_stride(0), o[1] + i * loops.inner_stride(1));
  });
}

Status abs(KernelContext& context, const Tensor& self, Tensor& out) {
  if (!is_complex(self.dtype())) return pointwise(context, {self}, {self.dtype()}, kAllLoops<Abs, 1>, out);
  if (!is_float(out.dtype())) return bad_dtype("out", out.dtype());
  PTERON_TRY(resize_like(out, self));
  for_each_pair(self, out, [&](int64_t to, int64_t from) { store_one(out.dtype(), std::abs(load_complex(self, from)), out.data(), to); });
  return {};
}

Status conj(KernelContext&, const Tensor& self, Tensor& out) {
  PTERON_TRY(expect_dtype(out, self.dtype(), "out"));
  if (!is_complex(self.dtype()) && !is_real(self.dtype())) return bad_dtype("self", self.dtype());
  PTERON_TRY(resize_like(out, self));
  const size_t bytes = self.element_bytes();
  for_each_pair(self, out, [&](int64_t to, int64_t from) {
    if (is_complex(self.dtype())) store_complex(out, to, std::conj(load_complex(self, from)));
    else
      std::memmove(out.data<std::byte>() + static_cast<size_t>(to) * bytes, self.data<std::byte>() + static_cast<size_t>(from) * bytes,
                  bytes);
  });
  return {};
}

ScalarType part_type(ScalarType complex) {
  return complex == ScalarType::ComplexDouble ? ScalarType::Double
         : complex == ScalarType::ComplexHalf ? ScalarType::Half
                                              : ScalarType::Float;
}

Status view_as_real_copy(KernelContext& context, const Tensor& self, Tensor& out) {
  if (!is_complex(self.dtype())) return bad_dtype("self", self.dtype());
  PTERON_TRY(expect_dtype(out, part_type(self.dtype()), "out"));
  if (self.rank() == kMaxRank) return bad("result has too many dimensions");
  View from = view_of(self);
  from.element_bytes = out.element_bytes();
  for (size_t d = 0; d < self.rank(); ++d) from.strides[d] *= 2;
  from.insert(self.rank(), 2, 1);
  PTERON_TRY(out.resize(from.sizes.span()));
  copy_view(context, from, view_of(out), out.dim_order());
  return {};
}

// Factor of a transform over n elements: none, 1/sqrt(n) or 1/n.
Result<double> normalization(int64_t mode, int64_t n) {
  if (mode < 0 || mode > 2) return bad("unknown normalization", "normalization", "0 to 2", std::to_string(mode));
  const auto count = static_cast<double>(n);
  return mode == 0 ? 1.0 : mode == 1 ? 1 / std::sqrt(count) : 1 / count;
}

std::complex<double> root(int64_t power, int64_t n) {  // e^(2 pi i power / n)
  const double angle = 2 * std::numbers::pi * static_cast<double>(power % n) / static_cast<double>(n);
  return {std::cos(angle), std::sin(angle)};
}

// One dimension; rows are transformed by the definition, which is exact and needs no memory.
Status check_dims(const Tensor& self, const IntList& dims, size_t& dim) {
  if (dims.size() != 1) return Status::error(Code::unsupported, "Fourier transform over several dimensions");
  PTERON_ASSIGN(dim, wrap_dim(dims[0], self.rank()));
  return self.rank() > 0 && self.size(dim) > 0 ? Status() : bad("Fourier transform of no elements");
}

// Rows of two tensors along `dim`: f(out offset, self offset).
template <class F>
void for_each_row(KernelContext& context, const Tensor& self, const Tensor& out, size_t dim, F&& f) {
  Loops<2> loops;
  for (size_t d = 0; d < self.rank(); ++d) {
    if (d != dim) loops.add(self.size(d), {out.stride(d), self.stride(d)});
  }
  context.threads().parallel_for(static_cast<size_t>(loops.count), 1, [&](size_t begin, size_t end) {
    loops.for_each_run(static_cast<int64_t>(begin), static_cast<int64_t>(end), [&](const auto& o, int64_t n) {
      for (int64_t i = 0; i < n; ++i) f(o[0] + i * loops.inner_stride(0), o[1] + i * loops.inner_stride(1));
    });
  });
}

Status fft_r2c(KernelContext& context, const Tensor& self, IntList dims, int64_t normalization_mode, bool onesided, Tensor& out) {
  if (!is_float(self.dtype()) || !is_complex(out.dtype())) return bad_dtype("self", self.dtype());
  size_t dim = 0;
  PTERON_TRY(check_dims(self, dims, dim));
  const int64_t n = self.size(dim), results = onesided ? n / 2 + 1 : n;
  PTERON_ASSIGN(const double factor, normalization(normalization_mode, n));
  Sizes sizes(self.sizes());
  sizes[dim] = static_cast<int32_t>(results);
  PTERON_TRY(out.resize(sizes.span()));
  for_each_row(context, self, out, dim, [&](int64_t to, int64_t from) {
    for (int64_t k = 0; k < results; ++k) {
      std::complex<double> sum = 0;
      for (int64_t i = 0; i < n; ++i)
        sum += load_one<double>(self.dtype(), self.data(), from + i * self.stride(dim)) * std::conj(root(i * k, n));
      store_complex(out, to + k * out.stride(dim), sum * factor);
    }
  });
  return {};
}

Status fft_c2r(KernelContext& context, const Tensor& self, IntList dims, int64_t normalization_mode, int64_t last_dim_size, Tensor& out) {
  if (!is_complex(self.dtype()) || !is_float(out.dtype())) return bad_dtype("self", self.dtype());
  size_t dim = 0;
  PTERON_TRY(check_dims(self, dims, dim));
  const int64_t n = last_dim_size, given = self.size(dim);
  if (n < 1 || n > INT32_MAX || n / 2 + 1 > given)
    return bad("size of the result does not fit the input", "last_dim_size", "", std::to_string(n));
  PTERON_ASSIGN(const double factor, normalization(normalization_mode, n));
  Sizes sizes(self.sizes());
  sizes[dim] = static_cast<int32_t>(n);
  PTERON_TRY(out.resize(sizes.span()));
  for_each_row(context, self, out, dim, [&](int64_t to, int64_t from) {
    for (int64_t i = 0; i < n; ++i) {
      double sum = load_complex(self, from).real();
      for (int64_t k = 1; k <= n / 2; ++k) {  // the missing half is the conjugate of this one
        const double term = (load_complex(self, from + k * self.stride(dim)) * root(i * k, n)).real();
        sum += 2 * k == n ? term : 2 * term;
      }
      store_one(out.dtype(), sum * factor, out.data(), to + i * out.stride(dim));
    }
  });
  return {};
}

constexpr Kernel kKernels[] = {
    make_kernel<&abs>("aten::abs.out"),
    make_kernel<&conj>("aten::_conj_physical.out"),
    make_kernel<&view_as_real_copy>("aten::view_as_real_copy.out"),
    make_kernel<&fft_r2c>("aten::_fft_r2c.out"),
    make_kernel<&fft_c2r>("aten::_fft_c2r.out"),
};

}  // namespace

std::span<const Kernel> complex_kernels() { return kKernels; }

}  // namespace pteron::portable
