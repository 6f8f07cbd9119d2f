// Quantisation: between floats and small integers, and sums and products of quantised tensors.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/portable/convert.h"
#include "kernels/portable/families.h"
#include "kernels/portable/loops.h"
#include "kernels/portable/shape.h"

namespace pteron::portable {
namespace {

using runtime::make_kernel;

// Value = (q - zero_point) * scale for q in [low, high].
struct Affine {
  float scale = 1;
  int64_t zero_point = 0, low = 0, high = 0;

  // Rounds half to even. NaN becomes the lowest value.
  int64_t quantize(float x) const {
    const float q = std::nearbyint(x * (1.0f / scale));
    if (!(q > static_cast<float>(-0x1p62))) return low;
    if (q > static_cast<float>(0x1p62)) return high;
    return std::clamp(static_cast<int64_t>(q) + zero_point, low, high);
  }
  float dequantize(int64_t q) const { return static_cast<float>(q - zero_point) * scale; }
};

bool is_quantized(ScalarType t) {
  return t == ScalarType::Byte || t == ScalarType::Char || t == ScalarType::Short || t == ScalarType::UInt16 || t == ScalarType::Bits16 ||
         t == ScalarType::Int;
}
// Bits16 holds unsigned numbers.
ScalarType storage(ScalarType t) { return t == ScalarType::Bits16 ? ScalarType::UInt16 : t; }

Status check_range(ScalarType type, int64_t low, int64_t high, std::string_view field) {
  if (!is_quantized(type)) return bad_dtype(field, type);
  const int bits = static_cast<int>(8 * element_size(type));
  const bool is_signed = type == ScalarType::Char || type == ScalarType::Short || type == ScalarType::Int;
  const int64_t least = is_signed ? -(int64_t{1} << (bits - 1)) : 0,
                most = is_signed ? (int64_t{1} << (bits - 1)) - 1 : (int64_t{1} << bits) - 1;
  if (low > high || low < least || high > most)
    return bad("quantisation range does not fit the dtype", field, std::to_string(least) + " to " + std::to_string(most),
               std::to_string(low) + " to " + std::to_string(high));
  return {};
}

Status check_zero_point(int64_t zero_point) {
  return zero_point >= std::numeric_limits<int32_t>::min() && zero_point <= std::numeric_limits<int32_t>::max()
             ? Status()
             : bad("zero point is out of range", "zero_point", "", std::to_string(zero_point));
}

Status check_dtype_argument(int64_t dtype, ScalarType found, std::string_view field) {
  return dtype == static_cast<int64_t>(found)
             ? Status()
             : bad("dtype is not that of the tensor", field, std::string(dtype_name(found)), std::to_string(dtype));
}

// The parameters of each element: one for all, one for each index of a dimension, or one for each row of the last dimension.
struct Parameters {
  const Tensor* scales = nullptr;       // null: `all` holds for every element
  const Tensor* zero_points = nullptr;  // may be null
  Affine all;

  Affine at(int64_t i) const {
    if (scales == nullptr) return all;
    Affine affine = all;
    affine.scale = static_cast<float>(load_one<double>(scales->dtype(), scales->data(), i));
    if (zero_points != nullptr) affine.zero_point = load_one<int64_t>(zero_points->dtype(), zero_points->data(), i);
    return affine;
  }
};

// Applies f(affine, from offset, to offset, elements) over runs of elements with the same parameters. `axis` is the dimension whose index
// chooses them, or none.
template <class F>
void for_each_group(const Tensor& input, const Tensor& out, const Parameters& parameters, std::optional<size_t> axis, F&& f) {
  Loops<2> loops;
  for (size_t d = 0; d < input.rank(); ++d) {
    if (!axis || d != *axis) loops.add(input.size(d), {out.stride(d), input.stride(d)});
  }
  const int64_t groups = axis ? input.size(*axis) : 1;
  for (int64_t g = 0; g < groups; ++g) {
    const Affine affine = parameters.at(g);
    const int64_t from = axis ? g * input.stride(*axis) : 0, to = axis ? g * out.stride(*axis) : 0;
    loops.for_each_run(0, loops.count, [&](const auto& o, int64_t n) {
      for (int64_t i = 0; i < n; ++i) f(affine, from + o[1] + i * loops.inner_stride(1), to + o[0] + i * loops.inner_stride(0));
    });
  }
}

Status quantize(const Tensor& input, const Parameters& parameters, std::optional<size_t> axis, int64_t dtype, Tensor& out) {
  if (!is_float(input.dtype())) return bad_dtype("input", input.dtype());
  PTERON_TRY(check_dtype_argument(dtype, out.dtype(), "dtype"));
  PTERON_TRY(check_range(out.dtype(), parameters.all.low, parameters.all.high, "out"));
  PTERON_TRY(check_zero_point(parameters.all.zero_point));
  PTERON_TRY(resize_like(out, input));
  for_each_group(input, out, parameters, axis, [&](const Affine& affine, int64_t from, int64_t to) {
    store_one(storage(out.dtype()), affine.quantize(load_one<float>(input.dtype(), input.data(), from)), out.data(), to);
  });
  return {};
}

Status dequantize(const Tensor& input, const Parameters& parameters, std::optional<size_t> axis, int64_t dtype,
                  const std::optional<int64_t>& out_dtype, Tensor& out) {
  if (!is_float(out.dtype())) return bad_dtype("out", out.dtype());
  PTERON_TRY(check_dtype_argument(dtype, input.dtype(), "dtype"));
  PTERON_TRY(check_range(input.dtype(), parameters.all.low, parameters.all.high, "input"));
  PTERON_TRY(check_zero_point(parameters.all.zero_point));
  if (out_dtype) PTERON_TRY(check_dtype_argument(*out_dtype, out.dtype(), "out_dtype"));
  PTERON_TRY(resize_like(out, input));
  for_each_group(input, out, parameters, axis, [&](const Affine& affine, int64_t from, int64_t to) {
    store_one(out.dtype(), affine.dequantize(load_one<int64_t>(storage(input.dtype()), input.data(), from)), out.data(), to);
  });
  return {};
}

Affine affine_of(double scale, int64_t zero_point, int64_t low, int64_t high) { return {static_cast<float>(scale), zero_point, low, high}; }

Status quantize_per_tensor(KernelContext&, const Tensor& input, double scale, int64_t zero_point, int64_t low, int64_t high, int64_t dtype,
                           Tensor& out) {
  return quantize(input, {nullptr, nullptr, affine_of(scale, zero_point, low, high)}, std::nullopt, dtype, out);
}
Status dequantize_per_tensor(KernelContext&, const Tensor& input, double scale, int64_t zero_point, int64_t low, int64_t high,
                             int64_t dtype, std::optional<int64_t> out_dtype, Tensor& out) {
  return dequantize(input, {nullptr, nullptr, affine_of(scale, zero_point, low, high)}, std::nullopt, dtype, out_dtype, out);
}

// Scales and zero points in tensors, `count` of each, one after another.
Status check_parameters(const Tensor& scales, const Tensor* zero_points, size_t count) {
  if (scales.dtype() != ScalarType::Double && scales.dtype() != ScalarType::Float) return bad_dtype("scales", scales.dtype());
  if (zero_points != nullptr && zero_points->dtype() != ScalarType::Long && zero_points->dtype() != ScalarType::Int)
    return bad_dtype("zero_points", zero_points->dtype());
  if (scales.numel() != count || (zero_points != nullptr && zero_points->numel() != count))
    return bad("wrong number of scales or zero points", "scales", std::to_string(count), std::to_string(scales.numel()));
  for (size_t i = 0; zero_points != nullptr && i < count; ++i)
    PTERON_TRY(check_zero_point(load_one<int64_t>(zero_points->dtype(), zero_points->data(), static_cast<int64_t>(i))));
  return expect_contiguous({&scales, zero_points});
}

Status quantize_per_tensor_tensor(KernelContext&, const Tensor& input, const Tensor& scale, const Tensor& zero_point, int64_t low,
                                  int64_t high, int64_t dtype, Tensor& out) {
  PTERON_TRY(check_parameters(scale, &zero_point, 1));
  Parameters parameters{&scale, &zero_point, {1, 0, low, high}};
  parameters = {nullptr, nullptr, parameters.at(0)};
  return quantize(input, parameters, std::nullopt, dtype, out);
}
Status dequantize_per_tensor_tensor(KernelContext&, const Tensor& input, const Tensor& scale, const Tensor& zero_point, int64_t low,
                                    int64_t high, int64_t dtype, std::optional<int64_t> out_dtype, Tensor& out) {
  PTERON_TRY(check_parameters(scale, &zero_point, 1));
  Parameters parameters{&scale, &zero_point, {1, 0, low, high}};
  parameters = {nullptr, nullptr, parameters.at(0)};
  return dequantize(input, parameters, std::nullopt, dtype, out_dtype, out);
}

Result<size_t> channel_axis(const Tensor& input, int64_t axis, const Tensor& scales, const Tensor* zero_points) {
  if (input.rank() == 0) return bad("a scalar has no channels");
  PTERON_ASSIGN(const size_t d, wrap_dim(axis, input.rank()));
  PTERON_TRY(check_parameters(scales, zero_points, static_cast<size_t>(input.size(d))));
  return d;
}

Status quantize_per_channel(KernelContext&, const Tensor& input, const Tensor& scales, const Tensor& zero_points, int64_t axis, int64_t low,
                            int64_t high, int64_t dtype, Tensor& out) {
  PTERON_ASSIGN(const size_t d, channel_axis(input, axis, scales, &zero_points));
  return quantize(input, {&scales, &zero_points, {1, 0, low, high}}, d, dtype, out);
}
Status dequantize_per_channel(KernelContext&, const Tensor& input, const Tensor& scales, const Tensor* zero_points, int64_t axis,
                              int64_t low, int64_t high, int64_t dtype, std::optional<int64_t> out_dtype, Tensor& out) {
  PTERON_ASSIGN(const size_t d, channel_axis(input, axis, scales, zero_points));
  return dequantize(input, {&scales, zero_points, {1, 0, low, high}}, d, dtype, out_dtype, out);
}

// A tensor as rows of its last dimension, each with parameters of its own.
struct Rows {
  int64_t count = 1, size = 1;
};
Result<Rows> rows_of(const Tensor& input) {
  if (input.rank() == 0) return bad("a scalar has no rows");
  PTERON_TRY(expect_contiguous({&input}));
  const int64_t size = input.size(input.rank() - 1);
  int64_t count = 1;
  for (size_t d = 0; d + 1 < input.rank(); ++d) count *= input.size(d);
  return Rows{count, size};
}

Status quantize_per_token(KernelContext&, const Tensor& input, const Tensor& scales, const Tensor& zero_points, int64_t low, int64_t high,
                          int64_t dtype, Tensor& out) {
  PTERON_ASSIGN(const Rows rows, rows_of(input));
  if (!is_float(input.dtype())) return bad_dtype("input", input.dtype());
  PTERON_TRY(check_parameters(scales, &zero_points, static_cast<size_t>(rows.count)));
  PTERON_TRY(check_dtype_argument(dtype, out.dtype(), "dtype"));
  PTERON_TRY(check_range(out.dtype(), low, high, "out"));
  PTERON_TRY(resize_like(out, input));
  PTERON_TRY(expect_contiguous({&out}));
  const Parameters parameters{&scales, &zero_points, {1, 0, low, high}};
  for (int64_t r = 0; r < rows.count; ++r) {
    const Affine affine = parameters.at(r);
    for (int64_t i = r * rows.size; i < (r + 1) * rows.size; ++i)
      store_one(storage(out.dtype()), affine.quantize(load_one<float>(input.dtype(), input.data(), i)), out.data(), i);
  }
  return {};
}

Status dequantize_per_token(KernelContext&, const Tensor& input, const Tensor& scales, const Tensor& zero_points, int64_t low, int64_t high,
                            int64_t dtype, int64_t output_dtype, Tensor& out) {
  PTERON_ASSIGN(const Rows rows, rows_of(input));
  if (!is_float(out.dtype())) return bad_dtype("out", out.dtype());
  PTERON_TRY(check_parameters(scales, &zero_points, static_cast<size_t>(rows.count)));
  PTERON_TRY(check_dtype_argument(dtype, input.dtype(), "dtype"));
  PTERON_TRY(check_dtype_argument(output_dtype, out.dtype(), "output_dtype"));
  PTERON_TRY(check_range(input.dtype(), low, high, "input"));
  PTERON_TRY(resize_like(out, input));
  PTERON_TRY(expect_contiguous({&out}));
  const Parameters parameters{&scales, &zero_points, {1, 0, low, high}};
  for (int64_t r = 0; r < rows.count; ++r) {
    const Affine affine = parameters.at(r);
    for (int64_t i = r * rows.size; i < (r + 1) * rows.size; ++i)
      store_one(out.dtype(), affine.dequantize(load_one<int64_t>(storage(input.dtype()), input.data(), i)), out.data(), i);
  }
  return {};
}

// Scale and zero point that map [min, max], widened to hold 0, onto [low, high].
void choose(double min, double max, int64_t low, int64_t high, double& scale, int64_t& zero_point) {
  constexpr double kSmallest = 6.1e-5f;  // smaller scales have no float16 reciprocal
  min = std::min(min, 0.0);
  max = std::max(max, 0.0);
  const double steps = static_cast<double>(high - low);
  scale = (max - min) / steps;
  const auto single = static_cast<float>(scale);
  if (single == 0 || std::isinf(1.0f / single)) scale = 0.1;
  if (scale < kSmallest) {
    const double grow = kSmallest / scale;
    scale = kSmallest;
    min = max == 0 ? -kSmallest * steps : min == 0 ? min : min * grow;
    max = min == 0 ? kSmallest * steps : max == 0 ? max : max * grow;
  }
  const double from_min = static_cast<double>(low) - min / scale, from_max = static_cast<double>(high) - max / scale;
  const double min_error = std::abs(static_cast<double>(low)) - std::abs(min / scale),
               max_error = std::abs(static_cast<double>(high)) - std::abs(max / scale);
  const double initial = min_error < max_error ? from_min : from_max;
  if (!(initial >= static_cast<double>(low))) zero_point = low;
  else if (initial > static_cast<double>(high)) zero_point = high;
  else zero_point = static_cast<int64_t>(std::nearbyint(initial));
}

// The extremes of n elements; NaN counts for nothing.
void extremes(const Tensor& input, int64_t from, int64_t n, double& min, double& max) {
  min = max = n > 0 ? load_one<double>(input.dtype(), input.data(), from) : 0;
  for (int64_t i = from; i < from + n; ++i) {
    const double x = load_one<double>(input.dtype(), input.data(), i);
    min = std::min(min, x);
    max = std::max(max, x);
  }
}

Status check_chosen(const Tensor& input, const Tensor& scale, const Tensor& zero_point) {
  if (!is_float(input.dtype())) return bad_dtype("input", input.dtype());
  PTERON_TRY(expect_dtype(scale, ScalarType::Double, "scale_out"));
  return expect_dtype(zero_point, ScalarType::Long, "zero_point_out");
}

Status choose_qparams(KernelContext&, const Tensor& input, int64_t low, int64_t high, double, int64_t dtype, Tensor& scale_out,
                      Tensor& zero_point_out) {
  PTERON_TRY(check_chosen(input, scale_out, zero_point_out));
  if (dtype < 0 || !is_scalar_type(static_cast<int>(std::min<int64_t>(dtype, 1000))))
    return bad("unknown dtype", "dtype", "", std::to_string(dtype));
  PTERON_TRY(check_range(static_cast<ScalarType>(dtype), low, high, "dtype"));
  PTERON_TRY(expect(low < high, "quantisation range is empty"));
  const int32_t one[] = {1};
  PTERON_TRY(scale_out.resize(one));
  PTERON_TRY(zero_point_out.resize(one));
  double min, max;
  extremes(input, 0, static_cast<int64_t>(input.numel()), min, max);
  choose(min, max, low, high, scale_out.data<double>()[0], zero_point_out.data<int64_t>()[0]);
  return {};
}

Status choose_qparams_per_token(KernelContext&, const Tensor& input, int64_t, Tensor& scale_out, Tensor& zero_point_out) {
  PTERON_TRY(check_chosen(input, scale_out, zero_point_out));
  PTERON_ASSIGN(const Rows rows, rows_of(input));
  Sizes sizes(input.sizes());
  sizes[sizes.rank() - 1] = 1;
  PTERON_TRY(scale_out.resize(sizes.span()));
  PTERON_TRY(zero_point_out.resize(sizes.span()));
  PTERON_TRY(expect_contiguous({&scale_out, &zero_point_out}));
  for (int64_t r = 0; r < rows.count; ++r) {
    double min, max;
    extremes(input, r * rows.size, rows.size, min, max);
    choose(min, max, -128, 127, scale_out.data<double>()[r], zero_point_out.data<int64_t>()[r]);
  }
  return {};
}

Status add(KernelContext&, const Tensor& a, double a_scale, int64_t a_zero, int64_t a_low, int64_t a_high, const Tensor& b, double b_scale,
           int64_t b_zero, int64_t b_low, int64_t b_high, double out_scale, int64_t out_zero, int64_t out_low, int64_t out_high,
           Tensor& out) {
  PTERON_TRY(check_range(a.dtype(), a_low, a_high, "a"));
  PTERON_TRY(check_range(b.dtype(), b_low, b_high, "b"));
  PTERON_TRY(check_range(out.dtype(), out_low, out_high, "out"));
  PTERON_TRY(expect(a.dtype() == b.dtype() && a.dtype() == out.dtype(), "operands have different dtypes"));
  for (int64_t zero : {a_zero, b_zero, out_zero}) PTERON_TRY(check_zero_point(zero));
  PTERON_TRY(expect_sizes(b, a.sizes(), "b"));
  PTERON_TRY(resize_like(out, a));
  PTERON_TRY(expect(std::ranges::equal(a.dim_order(), b.dim_order()) && std::ranges::equal(a.dim_order(), out.dim_order()),
                    "operands have different dim orders"));
  const Affine qa = affine_of(a_scale, a_zero, a_low, a_high), qb = affine_of(b_scale, b_zero, b_low, b_high),
               qo = affine_of(out_scale, out_zero, out_low, out_high);
  const ScalarType type = storage(a.dtype());
  for (int64_t i = 0; i < static_cast<int64_t>(a.numel()); ++i) {
    const float sum = qa.dequantize(load_one<int64_t>(type, a.data(), i)) + qb.dequantize(load_one<int64_t>(type, b.data(), i));
    store_one(type, qo.quantize(sum), out.data(), i);
  }
  return {};
}

Status check_mixed(const Tensor& input, const Tensor& weight, const Tensor& scales, const Tensor* zero_points, const Tensor& out) {
  PTERON_TRY(expect_rank(input, 2, "input"));
  PTERON_TRY(expect_rank(weight, 2, "weight"));
  PTERON_TRY(expect_dtype(weight, ScalarType::Char, "weight"));
  for (const Tensor* t : {&input, &scales, &out}) {
    if (!is_float(t->dtype())) return bad_dtype("input", t->dtype());
  }
  if (zero_points != nullptr) PTERON_TRY(expect_sizes(*zero_points, scales.sizes(), "weight_zero_points"));
  if (zero_points != nullptr && !is_real(zero_points->dtype())) return bad_dtype("weight_zero_points", zero_points->dtype());
  return expect_contiguous({&input, &weight, &scales, zero_points});
}

float weight_at(const Tensor& weight, int64_t at, const Tensor& scales, const Tensor* zero_points, int64_t group) {
  const float zero = zero_points != nullptr ? load_one<float>(zero_points->dtype(), zero_points->data(), group) : 0.0f;
  return (static_cast<float>(weight.data<int8_t>()[at]) - zero) * load_one<float>(scales.dtype(), scales.data(), group);
}

// input [M, K] x weight [K, N], where each of the K rows of the weight has a scale.
Status mixed_mm(KernelContext& context, const Tensor& input, const Tensor& weight, const Tensor& scales, const Tensor* zero_points,
                Tensor& out) {
  PTERON_TRY(check_mixed(input, weight, scales, zero_points, out));
  const int32_t per_row[] = {weight.size(0)}, sizes[] = {input.size(0), weight.size(1)};
  PTERON_TRY(expect_sizes(scales, per_row, "weight_scales"));
  PTERON_TRY(expect(input.size(1) == weight.size(0), "inner sizes of a product differ"));
  PTERON_TRY(out.resize(sizes));
  PTERON_TRY(expect_contiguous({&out}));
  const int64_t n = sizes[1], k = input.size(1);
  context.threads().parallel_for(out.numel(), 256, [&](size_t begin, size_t end) {
    for (auto at = static_cast<int64_t>(begin); at < static_cast<int64_t>(end); ++at) {
      float sum = 0;
      for (int64_t i = 0; i < k; ++i)
        sum += load_one<float>(input.dtype(), input.data(), at / n * k + i) * weight_at(weight, i * n + at % n, scales, zero_points, i);
      store_one(out.dtype(), sum, out.data(), at);
    }
  });
  return {};
}

// input [M, K] x the transpose of weight [N, K], whose rows have one scale, or one for each group of columns.
Status mixed_linear(KernelContext& context, const Tensor& input, const Tensor& weight, const Tensor& scales, const Tensor* zero_points,
                    std::optional<int64_t> dtype, Tensor& out) {
  PTERON_TRY(check_mixed(input, weight, scales, zero_points, out));
  if (dtype) PTERON_TRY(check_dtype_argument(*dtype, out.dtype(), "dtype"));
  const int64_t k = input.size(1), n = weight.size(0), groups = scales.rank() == 2 ? scales.size(1) : 1;
  if (scales.rank() < 1 || scales.rank() > 2 || scales.size(0) != n || groups <= 0 || k % groups != 0)
    return bad("scales do not fit the weight", "weight_scales", sizes_text(weight.sizes()), sizes_text(scales.sizes()));
  PTERON_TRY(expect(weight.size(1) == k, "inner sizes of a product differ"));
  const int32_t sizes[] = {input.size(0), weight.size(0)};
  PTERON_TRY(out.resize(sizes));
  PTERON_TRY(expect_contiguous({&out}));
  const int64_t group = std::max<int64_t>(k / groups, 1);
  context.threads().parallel_for(out.numel(), 256, [&](size_t begin, size_t end) {
    for (auto at = static_cast<int64_t>(begin); at < static_cast<int64_t>(end); ++at) {
      const int64_t row = at % n;
      float sum = 0;
      for (int64_t i = 0; i < k; ++i)
        sum += load_one<float>(input.dtype(), input.data(), at / n * k + i) *
               weight_at(weight, row * k + i, scales, zero_points, row * groups + i / group);
      store_one(out.dtype(), sum, out.data(), at);
    }
  });
  return {};
}

constexpr Kernel kKernels[] = {
    make_kernel<&quantize_per_tensor>("quantized_decomposed::quantize_per_tensor.out"),
    make_kernel<&quantize_per_tensor_tensor>("quantized_decomposed::quantize_per_tensor.Tensor_out"),
    make_kernel<&dequantize_per_tensor>("quantized_decomposed::dequantize_per_tensor.out"),
    make_kernel<&dequantize_per_tensor_tensor>("quantized_decomposed::dequantize_per_tensor.Tensor_out"),
    make_kernel<&quantize_per_channel>("quantized_decomposed::quantize_per_channel.out"),
    make_kernel<&dequantize_per_channel>("quantized_decomposed::dequantize_per_channel.out"),
    make_kernel<&quantize_per_token>("quantized_decomposed::quantize_per_token.out"),
    make_kernel<&dequantize_per_token>("quantized_decomposed::dequantize_per_token.out"),
    make_kernel<&choose_qparams>("quantized_decomposed::choose_qparams.Tensor_out"),
    make_kernel<&choose_qparams_per_token>("quantized_decomposed::choose_qparams_per_token_asymmetric.out"),
    make_kernel<&add>("quantized_decomposed::add.out"),
    make_kernel<&mixed_mm>("quantized_decomposed::mixed_mm.out"),
    make_kernel<&mixed_linear>("quantized_decomposed::mixed_linear.out"),
};

}  // namespace

std::span<const Kernel> quantize_kernels() { return kKernels; }

}  // namespace pteron::portable
