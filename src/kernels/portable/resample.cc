// Images at other sizes, or read at given places.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/portable/convert.h"
#include "kernels/portable/families.h"
#include "kernels/portable/window.h"

namespace pteron::portable {
namespace {

using runtime::make_kernel;

Status check_image(const Tensor& self, const Tensor& out) {
  PTERON_TRY(expect_rank(self, 4, "input"));
  if (!is_real(self.dtype()) || self.dtype() == ScalarType::Bool) return bad_dtype("input", self.dtype());
  if (self.size(2) == 0 || self.size(3) == 0) return bad("image is empty", "input", "", sizes_text(self.sizes()));
  return expect_dtype(out, self.dtype(), "out");
}

// Elements of a plane, computed with as floats.
struct Plane {
  const Tensor& image;
  int64_t offset, row_step, col_step, rows, cols;
  float at(int64_t h, int64_t w) const { return load_one<float>(image.dtype(), image.data(), offset + h * row_step + w * col_step); }
};

// Calls f(plane, row, column) for every output and stores what it returns.
template <class F>
void fill(KernelContext& context, const Tensor& self, Tensor& out, F&& f) {
  const auto planes = static_cast<size_t>(out.size(0)) * static_cast<size_t>(out.size(1));
  context.threads().parallel_for(planes, 1, [&](size_t begin, size_t end) {
    for (auto p = static_cast<int64_t>(begin); p < static_cast<int64_t>(end); ++p) {
      const int64_t n = p / out.size(1), c = p % out.size(1);
      const Plane plane{self, n * self.stride(0) + c * self.stride(1), self.stride(2), self.stride(3), self.size(2), self.size(3)};
      for (int64_t h = 0; h < out.size(2); ++h) {
        for (int64_t w = 0; w < out.size(3); ++w) {
          store_one(out.dtype(), static_cast<float>(f(plane, n, h, w)), out.data(),
                    n * out.stride(0) + c * out.stride(1) + h * out.stride(2) + w * out.stride(3));
        }
      }
    }
  });
}

// Output sizes and scales (0: by the sizes) from either of the two ways to give them.
struct Target {
  int64_t size[2] = {0, 0};
  double scale[2] = {0, 0};
};

Result<Target> read_target(const Tensor& self, const std::optional<IntList>& output_size, const std::optional<DoubleList>& scale_factors) {
  Target target;
  if (output_size.has_value() == scale_factors.has_value()) return bad("give either a size or scale factors");
  if (output_size ? output_size->size() != 2 : scale_factors->size() != 2) return bad("resampling needs two sizes or factors");
  for (size_t d = 0; d < 2; ++d) {
    if (output_size) {
      target.size[d] = (*output_size)[d];
    } else {
      target.scale[d] = (*scale_factors)[d];
      const double size = std::floor(self.size(2 + d) * target.scale[d]);
      target.size[d] = size > 0 && size < 0x1p31 ? static_cast<int64_t>(size) : 0;
    }
    if (target.size[d] <= 0 || target.size[d] > std::numeric_limits<int32_t>::max())
      return bad("output size is impossible", "output_size", "above 0", std::to_string(target.size[d]));
  }
  return target;
}

Status resize_image(const Tensor& self, const Target& target, Tensor& out) {
  const int32_t sizes[] = {self.size(0), self.size(1), static_cast<int32_t>(target.size[0]), static_cast<int32_t>(target.size[1])};
  return out.resize(sizes);
}

// Input elements an output element is wide.
float step_of(int64_t in, int64_t out, bool align_corners, double scale) {
  if (align_corners) return out > 1 ? static_cast<float>(in - 1) / static_cast<float>(out - 1) : 0.0f;
  return scale > 0 ? static_cast<float>(1 / scale) : static_cast<float>(in) / static_cast<float>(out);
}

// The two input positions around an output position and the weight of the second.
struct Between {
  int64_t low, high;
  float weight;
};
Between between(int64_t at, float step, bool align_corners, int64_t size) {
  const float source = align_corners ? step * static_cast<float>(at) : std::max(0.0f, step * (static_cast<float>(at) + 0.5f) - 0.5f);
  const int64_t low = std::min(static_cast<int64_t>(source), size - 1);
  return {low, std::min(low + 1, size - 1), std::min(std::max(source - static_cast<float>(low), 0.0f), 1.0f)};
}

Status upsample_bilinear2d(KernelContext& context, const Tensor& self, std::optional<IntList> output_size, bool align_corners,
                           std::optional<DoubleList> scale_factors, Tensor& out) {
  PTERON_TRY(check_image(self, out));
  PTERON_ASSIGN(const Target target, read_target(self, output_size, scale_factors));
  PTERON_TRY(resize_image(self, target, out));
  const float rows = step_of(self.size(2), target.size[0], align_corners, target.scale[0]),
              cols = step_of(self.size(3), target.size[1], align_corners, target.scale[1]);
  fill(context, self, out, [&](const Plane& plane, int64_t, int64_t h, int64_t w) {
    const Between y = between(h, rows, align_corners, plane.rows), x = between(w, cols, align_corners, plane.cols);
    const float top = plane.at(y.low, x.low) * (1 - x.weight) + plane.at(y.low, x.high) * x.weight;
    const float bottom = plane.at(y.high, x.low) * (1 - x.weight) + plane.at(y.high, x.high) * x.weight;
    return top * (1 - y.weight) + bottom * y.weight;
  });
  return {};
}

Status upsample_nearest2d(KernelContext& context, const Tensor& self, std::optional<IntList> output_size,
                          std::optional<DoubleList> scale_factors, Tensor& out) {
  PTERON_TRY(check_image(self, out));
  PTERON_ASSIGN(const Target target, read_target(self, output_size, scale_factors));
  PTERON_TRY(resize_image(self, target, out));
  const float rows = step_of(self.size(2), target.size[0], false, target.scale[0]),
              cols = step_of(self.size(3), target.size[1], false, target.scale[1]);
  const auto nearest = [](int64_t at, float step, int64_t size) {
    return std::min(static_cast<int64_t>(std::floor(static_cast<float>(at) * step)), size - 1);
  };
  fill(context, self, out, [&](const Plane& plane, int64_t, int64_t h, int64_t w) {
    return plane.at(nearest(h, rows, plane.rows), nearest(w, cols, plane.cols));
  });
  return {};
}

// The input range that an anti-aliased output averages with a triangle as wide as the reduction.
struct Tent {
  int64_t first, count;
  float center, inverse;
  Tent(int64_t at, float step, int64_t size) : center(step * (static_cast<float>(at) + 0.5f)), inverse(step >= 1 ? 1 / step : 1.0f) {
    const float support = step >= 1 ? step : 1.0f;
    first = std::max<int64_t>(static_cast<int64_t>(center - support + 0.5f), 0);
    count = std::max<int64_t>(std::min<int64_t>(static_cast<int64_t>(center + support + 0.5f), size) - first, 0);
  }
  float weight(int64_t i) const { return std::max(0.0f, 1 - std::abs((static_cast<float>(first + i) - center + 0.5f) * inverse)); }
  float total() const {
    float sum = 0;
    for (int64_t i = 0; i < count; ++i) sum += weight(i);
    return sum != 0 ? sum : 1.0f;
  }
};

Status upsample_bilinear2d_aa(KernelContext& context, const Tensor& self, IntList output_size, bool align_corners,
                              std::optional<double> scales_h, std::optional<double> scales_w, Tensor& out) {
  PTERON_TRY(check_image(self, out));
  PTERON_ASSIGN(Target target, read_target(self, output_size, std::nullopt));
  PTERON_TRY(resize_image(self, target, out));
  const float rows = step_of(self.size(2), target.size[0], align_corners, scales_h.value_or(0)),
              cols = step_of(self.size(3), target.size[1], align_corners, scales_w.value_or(0));
  PTERON_TRY(expect(rows >= 0 && rows < 0x1p30f && cols >= 0 && cols < 0x1p30f, "scale is out of range"));
  fill(context, self, out, [&](const Plane& plane, int64_t, int64_t h, int64_t w) {
    const Tent y(h, rows, plane.rows), x(w, cols, plane.cols);
    const float x_total = x.total(), y_total = y.total();
    float sum = 0;
    for (int64_t i = 0; i < y.count; ++i) {
      float row = 0;
      for (int64_t j = 0; j < x.count; ++j) row += plane.at(y.first + i, x.first + j) * (x.weight(j) / x_total);
      sum += row * (y.weight(i) / y_total);
    }
    return sum;
  });
  return {};
}

// Reading an image at places in [-1, 1].
enum class Interpolation { bilinear, nearest, bicubic };
enum class Padding { zeros, border, reflection };

struct Sampler {
  Interpolation interpolation;
  Padding padding;
  bool align_corners;

  float position(float x, int64_t size) const {
    const auto n = static_cast<float>(size);
    return align_corners ? (x + 1) / 2 * (n - 1) : ((x + 1) * n - 1) / 2;
  }
  static float clip(float x, int64_t size) { return std::min(static_cast<float>(size - 1), std::max(x, 0.0f)); }
  float padded(float x, int64_t size) const {
    if (padding == Padding::zeros) return x;
    if (padding == Padding::border) return clip(x, size);
    const float low = align_corners ? 0.0f : -0.5f, span = align_corners ? static_cast<float>(size - 1) : static_cast<float>(size);
    if (span <= 0) return 0.0f;
    const float distance = std::abs(x - low), rest = std::fmod(distance, span), flips = std::floor(distance / span);
    return clip(std::fmod(flips, 2.0f) == 0 ? rest + low : span - rest + low, size);
  }
  // The element at a whole position, 0 outside.
  static float element(const Plane& plane, float y, float x) {
    const bool inside = y >= 0 && x >= 0 && y < static_cast<float>(plane.rows) && x < static_cast<float>(plane.cols);
    return inside ? plane.at(static_cast<int64_t>(y), static_cast<int64_t>(x)) : 0.0f;
  }

  float sample(const Plane& plane, float y, float x) const {
    if (interpolation == Interpolation::bicubic) return cubic(plane, position(y, plane.rows), position(x, plane.cols));
    y = padded(position(y, plane.rows), plane.rows);
    x = padded(position(x, plane.cols), plane.cols);
    if (interpolation == Interpolation::nearest) return element(plane, std::nearbyint(y), std::nearbyint(x));
    const float y0 = std::floor(y), x0 = std::floor(x), dy = y - y0, dx = x - x0;
    return element(plane, y0, x0) * (1 - dy) * (1 - dx) + element(plane, y0, x0 + 1) * (1 - dy) * dx +
           element(plane, y0 + 1, x0) * dy * (1 - dx) + element(plane, y0 + 1, x0 + 1) * dy * dx;
  }

  // Keys' cubic with a = -0.75: the weight at distance d.
  static float keys(float d) {
    constexpr float a = -0.75f;
    return d <= 1 ? ((a + 2) * d - (a + 3)) * d * d + 1 : ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
  }
  float cubic(const Plane& plane, float y, float x) const {
    const float y0 = std::floor(y), x0 = std::floor(x), dy = y - y0, dx = x - x0;
    float sum = 0;
    for (int i = -1; i <= 2; ++i) {
      float row = 0;
      for (int j = -1; j <= 2; ++j) {
        const float at_y = padded(y0 + static_cast<float>(i), plane.rows), at_x = padded(x0 + static_cast<float>(j), plane.cols);
        row += element(plane, at_y, at_x) * keys(std::abs(dx - static_cast<float>(j)));
      }
      sum += row * keys(std::abs(dy - static_cast<float>(i)));
    }
    return sum;
  }
};

Status grid_sampler_2d(KernelContext& context, const Tensor& self, const Tensor& grid, int64_t interpolation, int64_t padding,
                       bool align_corners, Tensor& out) {
  PTERON_TRY(check_image(self, out));
  PTERON_TRY(expect_rank(grid, 4, "grid"));
  PTERON_TRY(expect_dtype(grid, self.dtype(), "grid"));
  if (!is_float(self.dtype())) return bad_dtype("input", self.dtype());
  PTERON_TRY(expect(grid.size(0) == self.size(0) && grid.size(3) == 2, "grid has the wrong sizes"));
  PTERON_TRY(expect(interpolation >= 0 && interpolation <= 2, "unknown interpolation mode"));
  PTERON_TRY(expect(padding >= 0 && padding <= 2, "unknown padding mode"));
  const int32_t sizes[] = {self.size(0), self.size(1), grid.size(1), grid.size(2)};
  PTERON_TRY(out.resize(sizes));
  const Sampler sampler{static_cast<Interpolation>(interpolation), static_cast<Padding>(padding), align_corners};
  fill(context, self, out, [&](const Plane& plane, int64_t n, int64_t h, int64_t w) {
    const int64_t at = n * grid.stride(0) + h * grid.stride(1) + w * grid.stride(2);
    const float x = load_one<float>(grid.dtype(), grid.data(), at), y = load_one<float>(grid.dtype(), grid.data(), at + grid.stride(3));
    return sampler.sample(plane, y, x);
  });
  return {};
}

constexpr Kernel kKernels[] = {
    make_kernel<&upsample_bilinear2d>("aten::upsample_bilinear2d.vec_out"),
    make_kernel<&upsample_bilinear2d_aa>("aten::_upsample_bilinear2d_aa.out"),
    make_kernel<&upsample_nearest2d>("aten::upsample_nearest2d.vec_out"),
    make_kernel<&grid_sampler_2d>("aten::grid_sampler_2d.out"),
};

}  // namespace

std::span<const Kernel> resample_kernels() { return kKernels; }

}  // namespace pteron::portable
