#include "models/alibi.h"

#include <cmath>

#include "core/dtype.h"

namespace pteron::models {
namespace {

float round_bfloat16(float value) { return bfloat16_to_float(float_to_bfloat16(value)); }

// Slopes are powers of a base that depends on the number of heads; beyond a power of two the odd powers of the next finer base follow.
std::vector<float> slopes(int64_t heads) {
  int64_t power = 1;
  while (power * 2 <= heads) power *= 2;
  const double base = std::exp2(-std::exp2(-(std::log2(static_cast<double>(power)) - 3)));
  const double finer = std::exp2(-std::exp2(-(std::log2(static_cast<double>(2 * power)) - 3)));
  std::vector<float> out;
  for (int64_t i = 1; i <= power; ++i) out.push_back(static_cast<float>(std::pow(base, static_cast<double>(i))));
  for (int64_t i = 0; power + i < heads; ++i) out.push_back(static_cast<float>(std::pow(finer, static_cast<double>(1 + 2 * i))));
  return out;
}

}  // namespace

std::vector<float> alibi_table(int64_t heads, int64_t positions, double scale) {
  std::vector<float> out;
  out.reserve(static_cast<size_t>(heads * positions));
  for (float slope : slopes(heads)) {
    const float rounded = round_bfloat16(slope);
    for (int64_t p = 0; p < positions; ++p) {
      out.push_back(round_bfloat16(rounded * round_bfloat16(static_cast<float>(p))) * static_cast<float>(scale));
    }
  }
  return out;
}

}  // namespace pteron::models
