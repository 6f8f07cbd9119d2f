#include "backends/cpu/compile/quantize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "core/dtype.h"

namespace pteron::cpu_backend {
namespace {

double squared_error(const float* x, const GroupValues& g, int zero) {
  double sum = 0;
  for (size_t i = 0; i < kGroupColumns; ++i) sum += std::pow(x[i] - g.scales[0] * static_cast<float>(g.integers[i] - zero), 2);
  return sum;
}

// Rounding to the grid that the largest magnitude spans.
double plain_error(const float* x, int bits) {
  float largest = 0;
  for (size_t i = 0; i < kGroupColumns; ++i) largest = std::max(largest, std::abs(x[i]));
  const float scale = largest / static_cast<float>((1 << (bits - 1)) - 1);
  double sum = 0;
  for (size_t i = 0; i < kGroupColumns; ++i) sum += std::pow(x[i] - scale * std::nearbyint(x[i] / scale), 2);
  return sum;
}

TEST(Quantize, BeatsRoundingToTheLargestMagnitude) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, 1);
  for (const int bits : {4, 8}) {
    double searched = 0, plain = 0;
    for (int group = 0; group < 500; ++group) {
      float x[kGroupColumns];
      for (float& value : x) value = normal(random);
      GroupValues g;
      quantize_group(x, bits, g);
      searched += squared_error(x, g, 1 << (bits - 1));
      plain += plain_error(x, bits);
    }
    EXPECT_LT(searched, plain * (bits == 4 ? 0.80 : 1.01)) << bits;
  }
}

TEST(Quantize, IntegersStayInRangeAndZerosStayZero) {
  GroupValues g;
  float x[kGroupColumns] = {};
  quantize_group(x, 4, g);
  EXPECT_EQ(g.scales[0], 0.0f);
  x[3] = -2.0f;
  x[9] = 1.75f;
  quantize_group(x, 4, g);
  for (size_t i = 0; i < kGroupColumns; ++i) {
    EXPECT_LT(g.integers[i], 16);
    if (i != 3 && i != 9) {
      EXPECT_EQ(g.integers[i], 8);
    }
  }
  EXPECT_NEAR(g.scales[0] * static_cast<float>(g.integers[3] - 8), -2.0f, 0.1f);
}

TEST(Quantize, OffsetsBeatSymmetryWhereValuesLieToOneSide) {
  std::mt19937 random(2);
  std::normal_distribution<float> normal(0.4f, 1);
  double affine = 0, symmetric = 0;
  for (int group = 0; group < 500; ++group) {
    float x[kGroupColumns];
    for (float& value : x) value = normal(random);
    GroupValues g;
    quantize_group(x, 4, g);
    symmetric += squared_error(x, g, 8);
    quantize_group_affine(x, g);
    for (size_t i = 0; i < kGroupColumns; ++i) {
      ASSERT_LT(g.integers[i], 16);
      affine += std::pow(x[i] - (g.scales[0] * g.integers[i] + g.offset), 2);
    }
  }
  EXPECT_LT(affine, 0.8 * symmetric);
}

TEST(Quantize, AffineNumbersComeOutAsTheyWere) {
  std::mt19937 random(3);
  for (int group = 0; group < 200; ++group) {
    const float scale = half_to_float(float_to_half(static_cast<float>(random() % 1000 + 1) * 1e-4f)), offset = half_to_float(float_to_half(static_cast<float>(random() % 1000) * -1e-3f));
    float x[kGroupColumns];
    for (size_t i = 0; i < kGroupColumns; ++i) x[i] = scale * static_cast<float>(i < 2 ? i * 15 : random() % 16) + offset;
    GroupValues g;
    quantize_group_affine(x, g);
    for (size_t i = 0; i < kGroupColumns; ++i) ASSERT_NEAR(g.scales[0] * g.integers[i] + g.offset, x[i], 1e-3f * scale) << group;
  }
  GroupValues g;
  const float same[kGroupColumns] = {};
  quantize_group_affine(same, g);
  EXPECT_EQ(g.scales[0], 0.0f);
  EXPECT_EQ(g.offset, 0.0f);
}

TEST(Quantize, NumbersThatAreNoneBecomeZero) {
  GroupValues g;
  float x[kGroupColumns] = {1, 2, 3, std::numeric_limits<float>::infinity()};
  quantize_group(x, 8, g);
  EXPECT_EQ(g.scales[0], 0.0f);
  EXPECT_EQ(g.integers[0], 128);
}

}  // namespace
}  // namespace pteron::cpu_backend
