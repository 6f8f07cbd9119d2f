#include "backends/cpu/compile/quantize.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/dtype.h"

namespace pteron::cpu_backend {
namespace {

constexpr size_t kN = kGroupColumns;

float as_half(float x) { return half_to_float(float_to_half(std::clamp(x, -65504.0f, 65504.0f))); }

struct Fit {
  float scale = 0, gain = 0;  // the gain is what the fit takes off the square sum of x
};

// The least-squares scale of x for the integers that `inverse` rounds to. Rounds by adding and taking away 1.5 * 2^23, which compilers
// vectorise (to nearest even, like lrintf).
Fit fit(const float* x, float inverse, float lowest, float highest) {
  constexpr float kRound = 12582912.0f;
  float xq = 0, qq = 0;
  for (size_t i = 0; i < kN; ++i) {
    float q = (x[i] * inverse + kRound) - kRound;
    q = q < lowest ? lowest : q > highest ? highest : q;
    xq += x[i] * q;
    qq += q * q;
  }
  return qq > 0 ? Fit{xq / qq, xq * xq / qq} : Fit{};
}

struct AffineFit {
  float scale = 0, offset = 0, error = std::numeric_limits<float>::infinity();
};

// The weighted squared error of x on the grid of a scale and an offset; the integers' sums on the way.
struct AffineSums {
  float error = 0, q = 0, qq = 0, xq = 0;
};
AffineSums sums(const float* x, const float* weight, float scale, float offset) {
  constexpr float kRound = 12582912.0f;
  const float inverse = scale != 0 ? 1 / scale : 0;
  AffineSums out;
  for (size_t i = 0; i < kN; ++i) {
    float q = ((x[i] - offset) * inverse + kRound) - kRound;
    q = q < 0 ? 0 : q > 15 ? 15 : q;
    const float lost = x[i] - (scale * q + offset);
    out.error += weight[i] * lost * lost;
    out.q += weight[i] * q;
    out.qq += weight[i] * q * q;
    out.xq += weight[i] * x[i] * q;
  }
  return out;
}

// The grid from `low` to `high`, and what least squares makes of it: whichever loses less once both numbers are float16.
AffineFit fit_affine(const float* x, const float* weight, float low, float high) {
  const float scale = as_half((high - low) / 15), offset = as_half(low);
  const AffineSums first = sums(x, weight, scale, offset);
  AffineFit best{scale, offset, first.error};
  float all = 0, mean = 0;
  for (size_t i = 0; i < kN; ++i) {
    all += weight[i];
    mean += weight[i] * x[i];
  }
  const float determinant = all * first.qq - first.q * first.q;
  if (determinant <= 1e-6f * all * first.qq) return best;
  const float refined = as_half((all * first.xq - first.q * mean) / determinant), moved = as_half((mean - refined * first.q) / all);
  if (const float error = sums(x, weight, refined, moved).error; error < best.error) best = {refined, moved, error};
  return best;
}

}  // namespace

void quantize_group(const float* x, int bits, GroupValues& out) {
  const int zero = 1 << (bits - 1);
  const auto lowest = static_cast<float>(-zero), highest = static_cast<float>(zero - 1);
  float largest = 0, squares = 0;
  for (size_t i = 0; i < kN; ++i) {
    squares += x[i] * x[i];
    if (std::abs(x[i]) > std::abs(largest)) largest = x[i];
  }
  out.offset = 0;
  out.scales[0] = out.scales[1] = 0;
  std::fill(out.integers, out.integers + kN, static_cast<uint8_t>(zero));
  if (std::abs(largest) < 1e-30f || !std::isfinite(squares)) return;
  Fit best;
  // The largest value lands on the lowest integer (which reaches one further than the highest), or is clipped by up to a fifth.
  const int steps = bits == 4 ? 9 : 2;
  for (int step = -steps; step <= steps; ++step) {
    const float target = lowest + static_cast<float>(step) * (bits == 4 ? 0.2f : 0.5f);
    const Fit candidate = fit(x, target / largest, lowest, highest);
    if (candidate.gain > best.gain) best = candidate;
  }
  const float scale = as_half(best.scale);
  if (scale == 0) return;
  for (size_t i = 0; i < kN; ++i) {
    const float q = std::clamp(std::nearbyint(x[i] / scale), lowest, highest);
    out.integers[i] = static_cast<uint8_t>(static_cast<int>(q) + zero);
  }
  out.scales[0] = out.scales[1] = scale;
}

void quantize_group_affine(const float* x, GroupValues& out) {
  float weight[kN], squares = 0, low = x[0], high = x[0];
  for (size_t i = 0; i < kN; ++i) {
    squares += x[i] * x[i];
    low = std::min(low, x[i]);
    high = std::max(high, x[i]);
  }
  std::fill(out.integers, out.integers + kN, uint8_t{0});
  out.scales[0] = out.scales[1] = out.offset = 0;
  if (!std::isfinite(squares) || squares < 1e-30f) return;
  for (size_t i = 0; i < kN; ++i) weight[i] = x[i] * x[i] + 0.25f * squares / static_cast<float>(kN);
  AffineFit best;
  for (int bottom = 0; bottom <= 3; ++bottom) {
    for (int top = 0; top <= 3; ++top) {
      const float clip = 0.04f * (high - low);
      const AffineFit candidate = fit_affine(x, weight, low + static_cast<float>(bottom) * clip, high - static_cast<float>(top) * clip);
      if (candidate.error < best.error) best = candidate;
    }
  }
  out.scales[0] = out.scales[1] = best.scale;
  out.offset = best.offset;
  for (size_t i = 0; i < kN; ++i) out.integers[i] = static_cast<uint8_t>(best.scale != 0 ? std::clamp(std::nearbyint((x[i] - best.offset) / best.scale), 0.0f, 15.0f) : 0.0f);
}

}  // namespace pteron::cpu_backend
