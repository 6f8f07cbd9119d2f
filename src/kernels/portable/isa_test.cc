#include "kernels/portable/isa.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "core/dtype.h"

namespace pteron::portable {
namespace {

// The tables that this machine can run.
std::vector<const Isa*> runnable() {
  std::vector<const Isa*> found;
  for (CpuTarget target : {CpuTarget::scalar, CpuTarget::avx2, CpuTarget::avx512vnni, CpuTarget::neon}) {
    if (cpu_supports(target) && isa_for(target) != nullptr) found.push_back(isa_for(target));
  }
  return found;
}

// Distance in units in the last place of the exact result.
double ulps(float got, double exact) {
  const float nearest = static_cast<float>(exact);
  if (got == nearest) return 0;
  const double unit = std::nextafter(std::abs(nearest), std::numeric_limits<float>::infinity()) - std::abs(nearest);
  return std::abs(got - exact) / unit;
}

TEST(Isa, ElementaryFunctionsStayWithinAFewUnits) {
  std::vector<float> x;
  for (float v = -104; v < 90; v += 0.0371f) x.push_back(v);
  for (float v = 1e-6f; v < 1; v *= 1.3f) x.push_back(v), x.push_back(-v);
  std::vector<float> y(x.size());
  for (const Isa* isa : runnable()) {
    isa->exp(x.data(), y.data(), x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      if (x[i] > -87) {
        EXPECT_LE(ulps(y[i], std::exp(double{x[i]})), 2) << "exp " << x[i];
      }
    }
    isa->tanh(x.data(), y.data(), x.size());
    for (size_t i = 0; i < x.size(); ++i) EXPECT_LE(ulps(y[i], std::tanh(double{x[i]})), 3) << "tanh " << x[i];
    isa->sigmoid(x.data(), y.data(), x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      if (x[i] > -80) {
        EXPECT_LE(ulps(y[i], 1 / (1 + std::exp(-double{x[i]}))), 4) << "sigmoid " << x[i];
      }
    }
  }
}

TEST(Isa, SpecialNumbers) {
  const float inf = std::numeric_limits<float>::infinity();
  const float x[] = {inf, -inf, NAN, 0.0f, 1000.0f, -1000.0f};
  float y[6];
  for (const Isa* isa : runnable()) {
    isa->exp(x, y, 6);
    EXPECT_EQ(y[0], inf);
    EXPECT_EQ(y[1], 0);
    EXPECT_TRUE(std::isnan(y[2]));
    EXPECT_EQ(y[3], 1);
    isa->tanh(x, y, 6);
    EXPECT_EQ(y[0], 1);
    EXPECT_EQ(y[1], -1);
    EXPECT_TRUE(std::isnan(y[2]));
    EXPECT_TRUE(std::isnan(isa->max(x, 6)));
    EXPECT_EQ(isa->max(x + 3, 3), 1000);
  }
}

TEST(Isa, HalvesConvertAsTheReferenceDoes) {
  std::vector<uint16_t> all(65536), back(65536);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  std::vector<float> wide(all.size());
  for (const Isa* isa : runnable()) {
    isa->half_to_float(all.data(), wide.data(), all.size());
    for (size_t i = 0; i < all.size(); ++i) {
      const float expected = half_to_float(all[i]);
      EXPECT_TRUE(wide[i] == expected || (std::isnan(expected) && std::isnan(wide[i]))) << i;
    }
    isa->float_to_half(wide.data(), back.data(), all.size());
    for (size_t i = 0; i < all.size(); ++i) {
      EXPECT_TRUE(back[i] == all[i] || std::isnan(wide[i])) << i;
    }
  }
}

TEST(Isa, ProductsOfAllTargetsAgree) {
  for (const Isa* isa : runnable()) {
    for (int64_t m : {1, 2, 3, 6, 7, 13}) {
      for (int64_t n : {1, 3, 8, 17, 40}) {
        for (int64_t k : {0, 1, 7, 8, 33, 130}) {
          std::vector<float> a(static_cast<size_t>(m * k)), b(static_cast<size_t>(n * k)), dot(static_cast<size_t>(m * n), -1), gemm(dot);
          std::vector<float> transposed(b.size()), bias(static_cast<size_t>(n), 2.0f);
          for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 7) - 3;
          for (int64_t j = 0; j < n; ++j) {
            for (int64_t t = 0; t < k; ++t)
              transposed[static_cast<size_t>(t * n + j)] = b[static_cast<size_t>(j * k + t)] = static_cast<float>((j + 2 * t) % 5) - 2;
          }
          isa->dot_f32({a.data(), k, b.data(), k, bias.data(), dot.data(), n, m, n, k});
          isa->gemm({a.data(), k, transposed.data(), n, gemm.data(), n, m, n, k, false});
          for (int64_t i = 0; i < m; ++i) {
            for (int64_t j = 0; j < n; ++j) {
              float sum = 0;  // exact: small integers
              for (int64_t t = 0; t < k; ++t) sum += a[static_cast<size_t>(i * k + t)] * b[static_cast<size_t>(j * k + t)];
              EXPECT_EQ(gemm[static_cast<size_t>(i * n + j)], sum) << m << "x" << n << "x" << k;
              EXPECT_EQ(dot[static_cast<size_t>(i * n + j)], sum + 2) << m << "x" << n << "x" << k;
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace pteron::portable
