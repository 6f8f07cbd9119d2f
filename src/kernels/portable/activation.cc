// Activations and clamps: elementwise operators with parameters.
#include <cmath>
#include <limits>
#include <numbers>

#include "kernels/portable/convert.h"
#include "kernels/portable/families.h"
#include "kernels/portable/isa.h"
#include "kernels/portable/pointwise.h"

namespace pteron::portable {
namespace {

using runtime::make_kernel;

struct GeluErf {
  template <class T>
  static T apply(T x) { return x * T(0.5) * (T(1) + std::erf(x * T(std::numbers::sqrt2 / 2))); }
};
struct GeluTanh {
  template <class T>
  static T apply(T x) { return x * T(0.5) * (T(1) + std::tanh(argument(x))); }
  template <class T>
  static T argument(T x) { return T(0.79788456080286535588) * (x + T(0.044715) * x * x * x); }
};

void gelu_tanh_f32(const float* const* in, float* out, int64_t n) {
  const float* x = in[0];
  constexpr int64_t kBlock = 256;
  float t[kBlock];
  for (int64_t at = 0; at < n; at += kBlock) {
    const int64_t count = n - at < kBlock ? n - at : kBlock;
    for (int64_t i = 0; i < count; ++i) t[i] = GeluTanh::argument(x[at + i]);
    isa().tanh(t, t, static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) out[at + i] = x[at + i] * 0.5f * (1.0f + t[i]);
  }
}
constexpr PointwiseLoops kGeluTanhLoops = {&gelu_tanh_f32, kFloatLoops<GeluTanh, 1>.f64, nullptr};

Status gelu(KernelContext& context, const Tensor& self, std::string_view approximate, Tensor& out) {
  if (!is_float(self.dtype())) return bad_dtype("self", self.dtype());
  if (approximate == "none") return pointwise(context, {self}, {self.dtype()}, kFloatLoops<GeluErf, 1>, out);
  if (approximate == "tanh") return pointwise(context, {self}, {self.dtype()}, kGeluTanhLoops, out);
  return bad("unknown approximation", "approximate", "none or tanh", std::string(approximate));
}

struct Elu {
  template <class T>
  static T apply(T x, T alpha, T scale, T input_scale) { return x <= 0 ? std::expm1(x * input_scale) * (alpha * scale) : x * scale; }
};

Status elu(KernelContext& context, const Tensor& self, Scalar alpha, Scalar scale, Scalar input_scale, Tensor& out) {
  if (!is_float(self.dtype())) return bad_dtype("self", self.dtype());
  return pointwise(context, {self, alpha, scale, input_scale}, {self.dtype()}, kFloatLoops<Elu, 4>, out);
}

struct LeakyRelu {
  template <class T>
  static T apply(T x, T slope) { return x > 0 ? x : x * slope; }
};

Status leaky_relu(KernelContext& context, const Tensor& self, Scalar slope, Tensor& out) {
  if (!is_float(self.dtype())) return bad_dtype("self", self.dtype());
  return pointwise(context, {self, slope}, {self.dtype()}, kFloatLoops<LeakyRelu, 2>, out);
}

// A NaN in the value or in a bound stays; a lower bound above the upper one yields the upper one.
struct AtLeast {
  template <class T>
  static T apply(T x, T low) { return x != x ? x : low != low ? low : x < low ? low : x; }
};
struct AtMost {
  template <class T>
  static T apply(T x, T high) { return x != x ? x : high != high ? high : x > high ? high : x; }
};
struct Between {
  template <class T>
  static T apply(T x, T low, T high) { return AtMost::apply(AtLeast::apply(x, low), high); }
};

Status hardtanh(KernelContext& context, const Tensor& self, Scalar low, Scalar high, Tensor& out) {
  return pointwise(context, {self, low, high}, {self.dtype()}, kAllLoops<Between, 3>, out);
}

Status clamp(KernelContext& context, const Tensor& self, std::optional<Scalar> low, std::optional<Scalar> high, Tensor& out) {
  ScalarType common = self.dtype();
  for (const auto& bound : {low, high}) {
    if (bound && bound->is_number() && is_int_or_bool(common)) common = ScalarType::Float;
    if (bound && !bound->is_bool() && common == ScalarType::Bool) common = ScalarType::Long;
  }
  if (low && high) return pointwise(context, {self, *low, *high}, {common}, kAllLoops<Between, 3>, out);
  if (low) return pointwise(context, {self, *low}, {common}, kAllLoops<AtLeast, 2>, out);
  if (high) return pointwise(context, {self, *high}, {common}, kAllLoops<AtMost, 2>, out);
  return bad("clamp has no bound");
}

Status clamp_tensor(KernelContext& context, const Tensor& self, const Tensor* low, const Tensor* high, Tensor& out) {
  ScalarType common = self.dtype();
  for (const Tensor* bound : {low, high}) {
    if (bound != nullptr) common = promote(common, bound->dtype());
  }
  if (low != nullptr && high != nullptr) return pointwise(context, {self, *low, *high}, {common}, kAllLoops<Between, 3>, out);
  if (low != nullptr) return pointwise(context, {self, *low}, {common}, kAllLoops<AtLeast, 2>, out);
  if (high != nullptr) return pointwise(context, {self, *high}, {common}, kAllLoops<AtMost, 2>, out);
  return bad("clamp has no bound");
}

struct Logit {
  template <class T>
  static T apply(T x) { return std::log(x / (T(1) - x)); }
};
struct LogitClamped {
  template <class T>
  static T apply(T x, T eps) { return Logit::apply(x < eps ? eps : x > T(1) - eps ? T(1) - eps : x); }
};

Status logit(KernelContext& context, const Tensor& self, std::optional<double> eps, Tensor& out) {
  const ScalarType common = to_float(self.dtype());
  if (!eps) return pointwise(context, {self}, {common}, kFloatLoops<Logit, 1>, out);
  const Scalar bound{Scalar::Kind::number, 0, *eps};
  return pointwise(context, {self, bound}, {common}, kFloatLoops<LogitClamped, 2>, out);
}

// The first half of `dim` times the sigmoid of the second.
Status glu(KernelContext& context, const Tensor& self, int64_t dim, Tensor& out) {
  if (!is_float(self.dtype())) return bad_dtype("self", self.dtype());
  PTERON_TRY(expect_dtype(out, self.dtype(), "out"));
  if (self.rank() == 0) return bad("glu of a scalar");
  PTERON_ASSIGN(const size_t d, wrap_dim(dim, self.rank()));
  if (self.size(d) % 2 != 0) return bad("glu of an odd size", "dim", "", sizes_text(self.sizes()));
  Sizes sizes(self.sizes());
  sizes[d] /= 2;
  PTERON_TRY(out.resize(sizes.span()));
  Loops<2> loops;
  for (size_t x = 0; x < out.rank(); ++x) loops.add(out.size(x), {out.stride(x), self.stride(x)});
  const int64_t half = sizes[d] * self.stride(d);
  const size_t grain = out.numel() < 16384 ? std::max<size_t>(out.numel(), 1) : 4096;
  context.threads().parallel_for(out.numel(), grain, [&](size_t begin, size_t end) {
    constexpr int64_t kRun = 256;
    double a[kRun], b[kRun];
    loops.for_each_run(static_cast<int64_t>(begin), static_cast<int64_t>(end), [&](const auto& offsets, int64_t length) {
      for (int64_t at = 0; at < length; at += kRun) {
        const int64_t n = std::min(kRun, length - at), step = loops.inner_stride(1), from = offsets[1] + at * step;
        load_run<double>(self.dtype(), self.data(), from, step, n, a);
        load_run<double>(self.dtype(), self.data(), from + half, step, n, b);
        for (int64_t i = 0; i < n; ++i) a[i] *= 1 / (1 + std::exp(-b[i]));
        store_run<double>(out.dtype(), a, n, out.data(), offsets[0] + at * loops.inner_stride(0), loops.inner_stride(0));
      }
    });
  });
  return {};
}

constexpr Kernel kKernels[] = {
    make_kernel<&gelu>("aten::gelu.out"),
    make_kernel<&glu>("aten::glu.out"),
    make_kernel<&elu>("aten::elu.out"),
    make_kernel<&leaky_relu>("aten::leaky_relu.out"),
    make_kernel<&hardtanh>("aten::hardtanh.out"),
    make_kernel<&clamp>("aten::clamp.out"),
    make_kernel<&clamp_tensor>("aten::clamp.Tensor_out"),
    make_kernel<&logit>("aten::logit.out"),
};

}  // namespace

std::span<const Kernel> activation_kernels() { return kKernels; }

}  // namespace pteron::portable
