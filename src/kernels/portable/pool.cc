// Poolings over two spatial dimensions.
#include <algorithm>
#include <cstring>
#include <limits>

#include "kernels/portable/convert.h"
#include "kernels/portable/families.h"
#include "kernels/portable/window.h"

namespace pteron::portable {
namespace {

using runtime::make_kernel;

Status check_image(const Tensor& self, const Tensor& out) {
  if (self.rank() != 3 && self.rank() != 4) return bad("pooling needs [C, H, W] or [N, C, H, W]", "self", "", sizes_text(self.sizes()));
  if (!is_real(self.dtype())) return bad_dtype("self", self.dtype());
  return expect_dtype(out, self.dtype(), "out");
}

Result<Windows> pool_windows(const IntList& kernel, const IntList& stride, const IntList& padding, const IntList* dilation) {
  Windows windows;
  if (kernel.empty()) return bad("kernel is missing", "kernel_size");
  PTERON_TRY(read_windows(kernel, 2, 1, "kernel_size", &Window::kernel, windows));
  for (size_t d = 1; d < kSpatial; ++d) windows.at[d].stride = windows.at[d].kernel;
  PTERON_TRY(read_windows(stride, 2, 1, "stride", &Window::stride, windows));
  PTERON_TRY(read_windows(padding, 2, 0, "padding", &Window::padding, windows));
  if (dilation != nullptr) PTERON_TRY(read_windows(*dilation, 2, 1, "dilation", &Window::dilation, windows));
  for (size_t d = 1; d < kSpatial; ++d) {
    const Window& w = windows.at[d];
    if (w.padding * 2 > w.reach())
      return bad("padding is more than half the kernel", "padding", std::to_string(w.reach() / 2), std::to_string(w.padding));
  }
  return windows;
}

Status resize_pooled(const Tensor& self, int64_t h, int64_t w, Tensor& out) {
  if (h <= 0 || w <= 0 || h > std::numeric_limits<int32_t>::max() || w > std::numeric_limits<int32_t>::max())
    return bad("pooling leaves an impossible size", "", "", std::to_string(h) + "x" + std::to_string(w));
  Sizes sizes(self.sizes());
  sizes[self.rank() - 2] = static_cast<int32_t>(h);
  sizes[self.rank() - 1] = static_cast<int32_t>(w);
  return out.resize(sizes.span());
}

// Calls f(offset of the input plane, out offset, output row, output column) for each output.
template <class F>
void for_each_output(KernelContext& context, const Image& in, const Image& out, F&& f) {
  const auto planes = static_cast<size_t>(out.batch * out.channels);
  context.threads().parallel_for(planes, 1, [&](size_t begin, size_t end) {
    for (auto plane = static_cast<int64_t>(begin); plane < static_cast<int64_t>(end); ++plane) {
      const int64_t n = plane / out.channels, c = plane % out.channels;
      const int64_t from = n * in.batch_step + c * in.channel_step, to = n * out.batch_step + c * out.channel_step;
      for (int64_t h = 0; h < out.size[1]; ++h) {
        for (int64_t w = 0; w < out.size[2]; ++w) f(from, to + h * out.step[1] + w * out.step[2], h, w);
      }
    }
  });
}

// The largest element under a window, NaN if there is one, and its place in the plane.
template <class T>
void pool_max(const Tensor& self, const Image& in, const Windows& windows, int64_t from, int64_t oh, int64_t ow, T& best, int64_t& place) {
  const Window &wh = windows.at[1], &ww = windows.at[2];
  place = -1;
  best = 0;
  for (int64_t kh = 0; kh < wh.kernel; ++kh) {
    const int64_t h = oh * wh.stride - wh.padding + kh * wh.dilation;
    if (h < 0 || h >= in.size[1]) continue;
    for (int64_t kw = 0; kw < ww.kernel; ++kw) {
      const int64_t w = ow * ww.stride - ww.padding + kw * ww.dilation;
      if (w < 0 || w >= in.size[2]) continue;
      const T x = load_one<T>(self.dtype(), self.data(), from + h * in.step[1] + w * in.step[2]);
      if (place < 0 || x > best || x != x) best = x, place = h * in.size[2] + w;
    }
  }
}

Status max_pool2d(KernelContext& context, const Tensor& self, IntList kernel, IntList stride, IntList padding, IntList dilation, bool ceil,
                  Tensor& out, Tensor& indices) {
  PTERON_TRY(check_image(self, out));
  PTERON_TRY(expect_dtype(indices, ScalarType::Long, "indices"));
  PTERON_ASSIGN(const Windows windows, pool_windows(kernel, stride, padding, &dilation));
  const size_t lead = self.rank() - 2;
  const Image in(self, lead);
  const int64_t h = windows.at[1].positions(in.size[1], ceil), w = windows.at[2].positions(in.size[2], ceil);
  PTERON_TRY(resize_pooled(self, h, w, out));
  PTERON_TRY(indices.resize(out.sizes()));
  PTERON_TRY(expect(std::ranges::equal(out.dim_order(), indices.dim_order()), "outs have different dim orders"));
  const bool integers = is_int_or_bool(self.dtype());
  for_each_output(context, in, Image(out, lead), [&](int64_t from, int64_t to, int64_t oh, int64_t ow) {
    int64_t place = -1;
    if (integers) {
      int64_t best;
      pool_max<int64_t>(self, in, windows, from, oh, ow, best, place);
      store_one(out.dtype(), best, out.data(), to);
    } else {
      double best;
      pool_max<double>(self, in, windows, from, oh, ow, best, place);
      store_one(out.dtype(), place < 0 ? -std::numeric_limits<double>::infinity() : best, out.data(), to);
    }
    indices.data<int64_t>()[to] = std::max<int64_t>(place, 0);
  });
  return {};
}

Status max_pool2d_backward(KernelContext&, const Tensor& grad_output, const Tensor& self, IntList kernel, IntList stride, IntList padding,
                           IntList dilation, bool ceil, const Tensor& indices, Tensor& grad_input) {
  PTERON_TRY(check_image(self, grad_input));
  PTERON_TRY(expect_dtype(grad_output, self.dtype(), "grad_output"));
  PTERON_TRY(expect_dtype(indices, ScalarType::Long, "indices"));
  PTERON_TRY(expect_sizes(indices, grad_output.sizes(), "indices"));
  PTERON_TRY(expect(std::ranges::equal(grad_output.dim_order(), indices.dim_order()), "gradient and indices have different dim orders"));
  PTERON_ASSIGN(const Windows windows, pool_windows(kernel, stride, padding, &dilation));
  const size_t lead = self.rank() - 2;
  if (grad_output.rank() != self.rank()) return bad("gradient has another rank than the input");
  const Image in(self, lead), out(grad_output, lead);
  PTERON_TRY(expect(out.batch == in.batch && out.channels == in.channels && out.size[1] == windows.at[1].positions(in.size[1], ceil) &&
                        out.size[2] == windows.at[2].positions(in.size[2], ceil), "gradient has other sizes than the pooling gives"));
  PTERON_TRY(resize_like(grad_input, self));
  if (grad_input.nbytes() > 0) std::memset(grad_input.data(), 0, grad_input.nbytes());
  const Image target(grad_input, lead);
  const int64_t plane = in.size[1] * in.size[2];
  for (int64_t n = 0; n < out.batch; ++n) {
    for (int64_t c = 0; c < out.channels; ++c) {
      for (int64_t p = 0; p < out.size[1] * out.size[2]; ++p) {
        const int64_t from = n * out.batch_step + c * out.channel_step + p / out.size[2] * out.step[1] + p % out.size[2] * out.step[2];
        const int64_t place = indices.data<int64_t>()[from];
        if (place < 0 || place >= plane)
          return bad("index is out of range", "indices", "below " + std::to_string(plane), std::to_string(place));
        const int64_t to =
            n * target.batch_step + c * target.channel_step + place / in.size[2] * target.step[1] + place % in.size[2] * target.step[2];
        store_one(
            grad_input.dtype(),
            load_one<double>(grad_input.dtype(), grad_input.data(), to) + load_one<double>(grad_output.dtype(), grad_output.data(), from),
            grad_input.data(), to);
      }
    }
  }
  return {};
}

// The sum of a rectangle of a plane.
double rectangle(const Tensor& self, const Image& in, int64_t from, int64_t h0, int64_t h1, int64_t w0, int64_t w1) {
  double sum = 0;
  for (int64_t h = h0; h < h1; ++h) {
    for (int64_t w = w0; w < w1; ++w) sum += load_one<double>(self.dtype(), self.data(), from + h * in.step[1] + w * in.step[2]);
  }
  return sum;
}

Status avg_pool2d(KernelContext& context, const Tensor& self, IntList kernel, IntList stride, IntList padding, bool ceil,
                  bool count_include_pad, std::optional<int64_t> divisor_override, Tensor& out) {
  PTERON_TRY(check_image(self, out));
  PTERON_ASSIGN(const Windows windows, pool_windows(kernel, stride, padding, nullptr));
  if (divisor_override && *divisor_override == 0) return bad("divisor is zero", "divisor_override");
  const size_t lead = self.rank() - 2;
  const Image in(self, lead);
  const Window &wh = windows.at[1], &ww = windows.at[2];
  PTERON_TRY(resize_pooled(self, wh.positions(in.size[1], ceil), ww.positions(in.size[2], ceil), out));
  for_each_output(context, in, Image(out, lead), [&](int64_t from, int64_t to, int64_t oh, int64_t ow) {
    const int64_t h = oh * wh.stride - wh.padding, w = ow * ww.stride - ww.padding;
    const int64_t h_end = std::min(h + wh.kernel, in.size[1] + wh.padding), w_end = std::min(w + ww.kernel, in.size[2] + ww.padding);
    const int64_t h0 = std::max<int64_t>(h, 0), w0 = std::max<int64_t>(w, 0), h1 = std::min(h_end, in.size[1]),
                  w1 = std::min(w_end, in.size[2]);
    const int64_t area = divisor_override ? *divisor_override : count_include_pad ? (h_end - h) * (w_end - w) : (h1 - h0) * (w1 - w0);
    const double sum = rectangle(self, in, from, h0, h1, w0, w1);
    store_one(out.dtype(), h0 < h1 && w0 < w1 ? sum / static_cast<double>(area) : 0.0, out.data(), to);
  });
  return {};
}

Status adaptive_avg_pool2d(KernelContext& context, const Tensor& self, IntList output_size, Tensor& out) {
  PTERON_TRY(check_image(self, out));
  PTERON_TRY(expect(output_size.size() == 2, "output size needs two entries"));
  const size_t lead = self.rank() - 2;
  const Image in(self, lead);
  const int64_t rows = output_size[0], cols = output_size[1];
  PTERON_TRY(resize_pooled(self, rows, cols, out));
  PTERON_TRY(expect(in.size[1] > 0 && in.size[2] > 0, "input is empty"));
  for_each_output(context, in, Image(out, lead), [&](int64_t from, int64_t to, int64_t oh, int64_t ow) {
    const int64_t h0 = oh * in.size[1] / rows, h1 = ((oh + 1) * in.size[1] + rows - 1) / rows, w0 = ow * in.size[2] / cols,
                  w1 = ((ow + 1) * in.size[2] + cols - 1) / cols;
    store_one(out.dtype(), rectangle(self, in, from, h0, h1, w0, w1) / static_cast<double>((h1 - h0) * (w1 - w0)), out.data(), to);
  });
  return {};
}

constexpr Kernel kKernels[] = {
    make_kernel<&max_pool2d>("aten::max_pool2d_with_indices.out"),
    make_kernel<&max_pool2d_backward>("aten::max_pool2d_with_indices_backward.grad_input"),
    make_kernel<&avg_pool2d>("aten::avg_pool2d.out"),
    make_kernel<&adaptive_avg_pool2d>("aten::_adaptive_avg_pool2d.out"),
};

}  // namespace

std::span<const Kernel> pool_kernels() { return kKernels; }

}  // namespace pteron::portable
