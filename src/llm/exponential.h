// exp for arguments that are not positive, from additions and multiplications alone: equal on every machine, and loops over it vectorise.
#pragma once

#include <bit>
#include <cstdint>

namespace pteron::llm {

// Within 2 units in the last place, down to the smallest numbers that there are.
inline double exp_nonpositive(double x) {
  constexpr double kLog2E = 1.4426950408889634, kLn2High = 6.93147180369123816490e-01, kLn2Low = 1.90821492927058770002e-10;
  constexpr double kRound = 6755399441055744.0;  // 1.5 * 2^52: adding it leaves the nearest integer in the low bits
  const double clamped = x > -746.0 ? x : -746.0;
  const double shifted = clamped * kLog2E + kRound;
  const double n = shifted - kRound;
  const double r = (clamped - n * kLn2High) - n * kLn2Low;  // |r| <= ln(2) / 2
  // Taylor's series: the first term left out is below 2^-58.
  double p = 1.0 / 6227020800.0;
  p = p * r + 1.0 / 479001600.0;
  p = p * r + 1.0 / 39916800.0;
  p = p * r + 1.0 / 3628800.0;
  p = p * r + 1.0 / 362880.0;
  p = p * r + 1.0 / 40320.0;
  p = p * r + 1.0 / 5040.0;
  p = p * r + 1.0 / 720.0;
  p = p * r + 1.0 / 120.0;
  p = p * r + 1.0 / 24.0;
  p = p * r + 1.0 / 6.0;
  p = p * r + 0.5;
  p = p * r + 1.0;
  p = p * r + 1.0;
  // 2^n in two steps, so that the first stays normal.
  const uint64_t exponent = std::bit_cast<uint64_t>(shifted) - std::bit_cast<uint64_t>(kRound) + 1023 + 64;
  const double scaled = p * std::bit_cast<double>(exponent << 52) * 0x1p-64;
  return x >= -746.0 ? scaled : 0.0;
}

}  // namespace pteron::llm
