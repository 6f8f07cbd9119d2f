#include "backends/cpu/compile/quantize.h"

#include <algorithm>
#include <cmath>

#include "core/dtype.h"

namespace pteron::cpu_backend {
namespace {

constexpr size_t kN = kGroupColumns;

float as_half(float x) { return half_to_float(float_to_half(std::clamp(x, -65504.0f, 65504.0f))); }

struct Fit {
  float scale = 0, gain = 0;  // the gain is what the fit takes off the weighted square sum of x
};

// The least-squares scale of x for the integers that `inverse` rounds to. Rounds by adding and taking away 1.5 * 2^23, which compilers
// vectorise (to nearest even, like lrintf).
Fit fit(const float* x, const float* weight, float inverse, float lowest, float highest) {
  constexpr float kRound = 12582912.0f;
  float xq = 0, qq = 0;
  for (size_t i = 0; i < kN; ++i) {
    float q = (x[i] * inverse + kRound) - kRound;
    q = q < lowest ? lowest : q > highest ? highest : q;
    xq += weight[i] * x[i] * q;
    qq += weight[i] * q * q;
  }
  return qq > 0 ? Fit{xq / qq, xq * xq / qq} : Fit{};
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
  float weight[kN];
  for (size_t i = 0; i < kN; ++i) weight[i] = x[i] * x[i] + 0.25f * squares / static_cast<float>(kN);
  Fit best;
  // The largest value lands on the lowest integer (which reaches one further than the highest), or is clipped by up to a fifth.
  const int steps = bits == 4 ? 9 : 2;
  for (int step = -steps; step <= steps; ++step) {
    const float target = lowest + static_cast<float>(step) * (bits == 4 ? 0.2f : 0.5f);
    const Fit candidate = fit(x, weight, target / largest, lowest, highest);
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

}  // namespace pteron::cpu_backend
