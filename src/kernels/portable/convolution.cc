// Convolutions of one to three spatial dimensions, transposed ones, and their gradients.
#include <algorithm>
#include <cstring>
#include <limits>
#include <tuple>

#include "kernels/portable/convert.h"
#include "kernels/portable/families.h"
#include "kernels/portable/window.h"

namespace pteron::portable {
namespace {

using runtime::make_kernel;

// The operands of a convolution and how they relate. The large side is what windows move over: the input, or the output of a
// transposed convolution. Weights are [small channels, large channels of a group, kernel...] for the small side's order of channels.
struct Convolution {
  const Tensor* weight = nullptr;
  Windows windows;
  size_t dims = 0;
  int64_t groups = 1, in_channels = 0, out_channels = 0;
  bool transposed = false;
  std::array<int64_t, kSpatial> kernel_step{0, 0, 0};
  std::array<int64_t, kSpatial> out_size{1, 1, 1};
};

Result<Convolution> plan_convolution(const Tensor& input, const Tensor& weight, const IntList& stride, const IntList& padding,
                                     const IntList& dilation, bool transposed, const IntList& output_padding, int64_t groups) {
  Convolution conv;
  if (input.rank() < 3 || input.rank() > 2 + kSpatial || weight.rank() != input.rank())
    return bad("convolution of these ranks", "input", "3 to 5", sizes_text(input.sizes()));
  conv.weight = &weight;
  conv.dims = input.rank() - 2;
  conv.groups = groups;
  conv.transposed = transposed;
  conv.in_channels = input.size(1);
  if (groups <= 0 || conv.in_channels % groups != 0 || weight.size(0) % groups != 0)
    return bad("channels do not divide into groups", "groups", sizes_text(weight.sizes()), std::to_string(groups));
  const int64_t weight_inputs = transposed ? weight.size(0) : weight.size(1) * groups;
  if (weight_inputs != conv.in_channels)
    return bad("weight is for other channels", "weight", sizes_text(input.sizes()), sizes_text(weight.sizes()));
  conv.out_channels = transposed ? weight.size(1) * groups : weight.size(0);
  PTERON_TRY(read_windows(stride, conv.dims, 1, "stride", &Window::stride, conv.windows));
  PTERON_TRY(read_windows(padding, conv.dims, 0, "padding", &Window::padding, conv.windows));
  PTERON_TRY(read_windows(dilation, conv.dims, 1, "dilation", &Window::dilation, conv.windows));
  PTERON_TRY(read_windows(output_padding, conv.dims, 0, "output_padding", &Window::output_padding, conv.windows));
  const Image image(input);
  for (size_t d = kSpatial - conv.dims; d < kSpatial; ++d) {
    Window& window = conv.windows.at[d];
    const size_t tensor_dim = 2 + d - (kSpatial - conv.dims);
    window.kernel = weight.size(tensor_dim);
    conv.kernel_step[d] = weight.stride(tensor_dim);
    if (window.kernel == 0) return bad("kernel is empty", "weight", "", sizes_text(weight.sizes()));
    conv.out_size[d] = transposed ? (image.size[d] - 1) * window.stride - 2 * window.padding + window.reach() + window.output_padding
                                  : window.positions(image.size[d]);
    if (conv.out_size[d] < 0 || conv.out_size[d] > std::numeric_limits<int32_t>::max() || (conv.out_size[d] == 0 && image.size[d] > 0))
      return bad("convolution leaves an impossible size", "", "", std::to_string(conv.out_size[d]));
  }
  return conv;
}

constexpr int64_t kRun = 512;

// Where the window of one spatial dimension meets: for output position o and kernel position k, the input position or -1.
int64_t input_position(const Window& w, bool transposed, int64_t o, int64_t k, int64_t in_size) {
  int64_t at = transposed ? o + w.padding - k * w.dilation : o * w.stride - w.padding + k * w.dilation;
  if (transposed) {
    if (at < 0 || at % w.stride != 0) return -1;
    at /= w.stride;
  }
  return at >= 0 && at < in_size ? at : -1;
}

int64_t divide_up(int64_t a, int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }

// Adds weight * input to outputs [from, from + n) of a row, for one kernel column.
template <class T>
void add_column(const Tensor& input, const Image& image, int64_t row, const Window& w, bool transposed, int64_t k, T weight, int64_t from,
                int64_t n, T* sums) {
  T values[kRun];
  const int64_t size = image.size[kSpatial - 1], step = image.step[kSpatial - 1];
  if (!transposed) {
    const int64_t shift = k * w.dilation - w.padding;
    const int64_t first = std::max(from, divide_up(-shift, w.stride)), end = std::min(from + n, divide_up(size - shift, w.stride));
    if (first >= end) return;
    load_run<T>(input.dtype(), input.data(), row + (first * w.stride + shift) * step, w.stride * step, end - first, values);
    for (int64_t i = first; i < end; ++i) sums[i - from] += weight * values[i - first];
    return;
  }
  const int64_t shift = w.padding - k * w.dilation;  // o = i * stride - shift
  const int64_t first = std::max<int64_t>(0, divide_up(from + shift, w.stride)), end = std::min(size, divide_up(from + n + shift, w.stride));
  if (first >= end) return;
  load_run<T>(input.dtype(), input.data(), row + first * step, step, end - first, values);
  for (int64_t i = first; i < end; ++i) sums[i * w.stride - shift - from] += weight * values[i - first];
}

template <class T>
void convolve_row(const Convolution& conv, const Tensor& input, const Image& in, int64_t n, int64_t oc, int64_t od, int64_t oh,
                  int64_t from, int64_t count, T* sums) {
  const auto& [wd, wh, ww] = conv.windows.at;
  const int64_t in_group = conv.in_channels / conv.groups, out_group = conv.out_channels / conv.groups, group = oc / out_group;
  const Tensor& weight = *conv.weight;
  for (int64_t c = 0; c < in_group; ++c) {
    const int64_t ic = group * in_group + c;
    const int64_t w_base =
        conv.transposed ? ic * weight.stride(0) + (oc % out_group) * weight.stride(1) : oc * weight.stride(0) + c * weight.stride(1);
    for (int64_t kd = 0; kd < wd.kernel; ++kd) {
      const int64_t id = input_position(wd, conv.transposed, od, kd, in.size[0]);
      for (int64_t kh = 0; id >= 0 && kh < wh.kernel; ++kh) {
        const int64_t ih = input_position(wh, conv.transposed, oh, kh, in.size[1]);
        if (ih < 0) continue;
        const int64_t row = n * in.batch_step + ic * in.channel_step + id * in.step[0] + ih * in.step[1];
        for (int64_t kw = 0; kw < ww.kernel; ++kw) {
          const T w = load_one<T>(weight.dtype(), weight.data(),
                                  w_base + kd * conv.kernel_step[0] + kh * conv.kernel_step[1] + kw * conv.kernel_step[2]);
          add_column<T>(input, in, row, ww, conv.transposed, kw, w, from, count, sums);
        }
      }
    }
  }
}

template <class T>
void convolve(KernelContext& context, const Convolution& conv, const Tensor& input, const Tensor* bias, Tensor& out) {
  const Image in(input), to(out);
  const int64_t rows = to.batch * to.channels * to.size[0] * to.size[1];
  const size_t grain = out.numel() < 1024 ? static_cast<size_t>(std::max<int64_t>(rows, 1)) : 4;
  context.threads().parallel_for(static_cast<size_t>(rows), grain, [&](size_t begin, size_t end) {
    for (auto row = static_cast<int64_t>(begin); row < static_cast<int64_t>(end); ++row) {
      const int64_t oh = row % to.size[1], od = row / to.size[1] % to.size[0], oc = row / (to.size[1] * to.size[0]) % to.channels;
      const int64_t n = row / (to.size[1] * to.size[0] * to.channels);
      for (int64_t from = 0; from < to.size[2]; from += kRun) {
        const int64_t count = std::min(kRun, to.size[2] - from);
        T sums[kRun];
        std::fill(sums, sums + count, bias != nullptr ? load_one<T>(bias->dtype(), bias->data(), oc) : T(0));
        convolve_row<T>(conv, input, in, n, oc, od, oh, from, count, sums);
        const int64_t at = n * to.batch_step + oc * to.channel_step + od * to.step[0] + oh * to.step[1] + from * to.step[2];
        store_run<T>(out.dtype(), sums, count, out.data(), at, to.step[2]);
      }
    }
  });
}

Status convolution(KernelContext& context, const Tensor& input, const Tensor& weight, const Tensor* bias, IntList stride, IntList padding,
                   IntList dilation, bool transposed, IntList output_padding, int64_t groups, Tensor& out) {
  if (!is_real(input.dtype())) return bad_dtype("input", input.dtype());
  PTERON_TRY(expect_dtype(weight, input.dtype(), "weight"));
  PTERON_TRY(expect_dtype(out, input.dtype(), "out"));
  PTERON_ASSIGN(const Convolution conv, plan_convolution(input, weight, stride, padding, dilation, transposed, output_padding, groups));
  if (bias != nullptr) {
    const int32_t sizes[] = {static_cast<int32_t>(conv.out_channels)};
    PTERON_TRY(expect_sizes(*bias, sizes, "bias"));
    if (!is_real(bias->dtype())) return bad_dtype("bias", bias->dtype());
  }
  Sizes sizes;
  sizes.push(input.size(0));
  sizes.push(conv.out_channels);
  for (size_t d = kSpatial - conv.dims; d < kSpatial; ++d) sizes.push(conv.out_size[d]);
  PTERON_TRY(out.resize(sizes.span()));
  if (input.dtype() == ScalarType::Double) convolve<double>(context, conv, input, bias, out);
  else if (is_int_or_bool(input.dtype())) convolve<int64_t>(context, conv, input, bias, out);
  else convolve<float>(context, conv, input, bias, out);
  return {};
}

void add_to(Tensor& t, int64_t at, double value) { store_one(t.dtype(), load_one<double>(t.dtype(), t.data(), at) + value, t.data(), at); }

// Calls f(input offset, output offset, weight offset) for every product of the convolution.
template <class F>
void for_each_product(const Convolution& conv, const Image& in, const Image& out, F&& f) {
  const Tensor& weight = *conv.weight;
  const int64_t in_group = conv.in_channels / conv.groups, out_group = conv.out_channels / conv.groups;
  const auto& w = conv.windows.at;
  const int64_t positions = out.size[0] * out.size[1] * out.size[2], taps = w[0].kernel * w[1].kernel * w[2].kernel;
  for (int64_t n = 0; n < in.batch; ++n) {
    for (int64_t oc = 0; oc < conv.out_channels; ++oc) {
      for (int64_t c = 0; c < in_group; ++c) {
        const int64_t ic = oc / out_group * in_group + c;
        const int64_t w_base =
            conv.transposed ? ic * weight.stride(0) + (oc % out_group) * weight.stride(1) : oc * weight.stride(0) + c * weight.stride(1);
        for (int64_t p = 0; p < positions * taps; ++p) {
          int64_t position = p / taps, tap = p % taps;
          int64_t from = n * in.batch_step + ic * in.channel_step, to = n * out.batch_step + oc * out.channel_step, at = w_base;
          bool inside = true;
          for (size_t d = kSpatial; d-- > 0;) {
            const int64_t o = position % out.size[d], k = tap % w[d].kernel;
            position /= out.size[d];
            tap /= w[d].kernel;
            const int64_t i = input_position(w[d], conv.transposed, o, k, in.size[d]);
            inside = inside && i >= 0;
            from += i * in.step[d];
            to += o * out.step[d];
            at += k * conv.kernel_step[d];
          }
          if (inside) f(from, to, at);
        }
      }
    }
  }
}

Status convolution_backward(KernelContext&, const Tensor& grad_output, const Tensor& input, const Tensor& weight,
                            std::optional<IntList> bias_sizes, IntList stride, IntList padding, IntList dilation, bool transposed,
                            IntList output_padding, int64_t groups, BoolList output_mask, Tensor& out0, Tensor& out1, Tensor& out2) {
  if (!is_float(input.dtype())) return bad_dtype("input", input.dtype());
  for (const Tensor* t : {&grad_output, &weight}) PTERON_TRY(expect_dtype(*t, input.dtype(), "grad_output"));
  PTERON_TRY(expect(output_mask.size() == 3, "output mask needs three entries"));
  PTERON_ASSIGN(const Convolution conv, plan_convolution(input, weight, stride, padding, dilation, transposed, output_padding, groups));
  Sizes expected;
  expected.push(input.size(0));
  expected.push(conv.out_channels);
  for (size_t d = kSpatial - conv.dims; d < kSpatial; ++d) expected.push(conv.out_size[d]);
  PTERON_TRY(expect_sizes(grad_output, expected.span(), "grad_output"));
  const bool wants_input = output_mask[0] != 0, wants_weight = output_mask[1] != 0, wants_bias = output_mask[2] != 0;
  const int32_t channels[] = {static_cast<int32_t>(conv.out_channels)};
  (void)bias_sizes;  // the bias has one element a channel in any case
  if (wants_input) PTERON_TRY(resize_like(out0, input));
  if (wants_weight) PTERON_TRY(resize_like(out1, weight));
  if (wants_bias) PTERON_TRY(out2.resize(channels));
  for (const auto& [wanted, like, t] :
       {std::tuple{wants_input, &input, &out0}, std::tuple{wants_weight, &weight, &out1}, std::tuple{wants_bias, &input, &out2}}) {
    if (!wanted) continue;
    PTERON_TRY(expect_dtype(*t, input.dtype(), "out"));
    if (t != &out2)
      PTERON_TRY(expect(std::ranges::equal(t->dim_order(), like->dim_order()), "gradient has another dim order than its tensor"));
    if (t->nbytes() > 0) std::memset(t->data(), 0, t->nbytes());
  }
  const Image in(input), out(grad_output);
  for_each_product(conv, in, out, [&](int64_t from, int64_t to, int64_t at) {
    const double gradient = load_one<double>(grad_output.dtype(), grad_output.data(), to);
    if (wants_input) add_to(out0, from, gradient * load_one<double>(weight.dtype(), weight.data(), at));
    if (wants_weight) add_to(out1, at, gradient * load_one<double>(input.dtype(), input.data(), from));
  });
  if (!wants_bias) return {};
  for (int64_t oc = 0; oc < conv.out_channels; ++oc) {
    double sum = 0;
    for (int64_t p = 0; p < out.batch * out.size[0] * out.size[1] * out.size[2]; ++p) {
      int64_t rest = p, at = oc * out.channel_step;
      for (size_t d = kSpatial; d-- > 0;) at += rest % out.size[d] * out.step[d], rest /= out.size[d];
      sum += load_one<double>(grad_output.dtype(), grad_output.data(), at + rest * out.batch_step);
    }
    store_one(out2.dtype(), sum, out2.data(), oc);
  }
  return {};
}

constexpr Kernel kKernels[] = {
    make_kernel<&convolution>("aten::convolution.out"),
    make_kernel<&convolution_backward>("aten::convolution_backward.out"),
};

}  // namespace

std::span<const Kernel> convolution_kernels() { return kKernels; }

}  // namespace pteron::portable
