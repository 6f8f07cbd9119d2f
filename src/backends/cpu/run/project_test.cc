// Projections against sums in double precision, over all encodings and odd sizes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "backends/cpu/run/plan_for_test.h"

namespace pteron::cpu_backend {
namespace {

// A number and how far the backend may be from it.
struct Near {
  double value = 0, error = 0;
};

// w.x + bias, where x may have been rounded to 8 bits in groups of 32.
Near product(const float* x, const float* w, size_t n, float bias, bool quantised) {
  Near out{bias, 0};
  for (size_t begin = 0; begin < n; begin += kGroupColumns) {
    const size_t end = std::min(begin + kGroupColumns, n);
    double largest = 0, weights = 0;
    for (size_t k = begin; k < end; ++k) {
      out.value += static_cast<double>(x[k]) * w[k];
      out.error += 1e-6 * std::abs(static_cast<double>(x[k]) * w[k]);
      largest = std::max(largest, std::abs(static_cast<double>(x[k])));
      weights += std::abs(w[k]);
    }
    if (quantised) out.error += weights * largest / 127 * 0.5001;
  }
  out.error += 1e-6 * std::abs(out.value) + 1e-6;
  return out;
}

std::vector<float> rms_normed(const std::vector<float>& x, size_t rows, size_t width, const std::vector<float>& weight, float eps) {
  std::vector<float> out(x.size());
  for (size_t row = 0; row < rows; ++row) {
    double squares = 0;
    for (size_t i = 0; i < width; ++i) squares += static_cast<double>(x[row * width + i]) * x[row * width + i];
    for (size_t i = 0; i < width; ++i) out[row * width + i] = static_cast<float>(x[row * width + i] / std::sqrt(squares / static_cast<double>(width) + eps) * weight[i]);
  }
  return out;
}

bool is_integer(PackedEncoding encoding) { return packed_layout(encoding)->record_columns != 1; }

TEST(Project, EveryEncodingOverOddSizes) {
  for (size_t e = 0; e < kPackedEncodings; ++e) {
    const auto encoding = static_cast<PackedEncoding>(e);
    for (const auto& [rows, cols, outputs] : {std::tuple{1u, 33u, 17u}, {3u, 64u, 1u}, {9u, 100u, 50u}, {17u, 32u, 16u}, {1u, 257u, 301u}}) {
      SCOPED_TRACE(std::string(packed_layout(encoding)->name) + " " + std::to_string(rows) + " x " + std::to_string(cols) + " x " + std::to_string(outputs));
      PlanBuilder b(rows);
      const int32_t w = b.tensor(encoding, outputs, cols), bias = b.plain(1, outputs), in = b.handed(cols, false), out = b.handed(outputs, true);
      b.plan.steps = {ProjectStep{in, {}, {{w, bias, out}}, ProjectMode::store, Activation::none}};
      Weights weights(b.plan);
      const auto x = random_floats(size_t{rows} * cols, 5);
      const auto y = run_on_threads(b.plan, weights, 1, [&](PlanRun& run) { run.fill(0, x); });
      const auto matrix = values_of(b.plan.tensors[0], weights), biases = values_of(b.plan.tensors[1], weights);
      for (size_t m = 0; m < rows; ++m) {
        for (size_t n = 0; n < outputs; ++n) {
          const Near expected = product(&x[m * cols], &matrix[n * cols], cols, biases[n], is_integer(encoding));
          ASSERT_NEAR(y[m * outputs + n], expected.value, expected.error) << m << " " << n;
        }
      }
    }
  }
}

TEST(Project, SeveralMatricesReadOneNormalisedRow) {
  for (const uint32_t rows : {1u, 7u}) {
    constexpr uint32_t kCols = 70, kFirst = 33, kSecond = 20;
    PlanBuilder b(rows);
    const int32_t w1 = b.tensor(PackedEncoding::int4, kFirst, kCols), w2 = b.tensor(PackedEncoding::int8, kSecond, kCols), norm = b.plain(1, kCols);
    const int32_t in = b.handed(kCols, false), out1 = b.handed(kFirst, true), out2 = b.handed(kSecond, true);
    b.plan.steps = {ProjectStep{in, {NormKind::rms, norm, kAbsent, 1e-5f, 0, kCols}, {{w1, kAbsent, out1}, {w2, kAbsent, out2}}, ProjectMode::store, Activation::none}};
    Weights weights(b.plan);
    const auto x = random_floats(size_t{rows} * kCols, 9);
    const auto normed = rms_normed(x, rows, kCols, values_of(b.plan.tensors[2], weights), 1e-5f);
    for (const size_t out : {size_t{1}, size_t{2}}) {
      const TensorRef& tensor = b.plan.tensors[out - 1];
      const auto y = run_on_threads(b.plan, weights, out, [&](PlanRun& run) { run.fill(0, x); });
      const auto matrix = values_of(tensor, weights);
      for (size_t i = 0; i < y.size(); ++i) {
        const Near expected = product(&normed[i / tensor.rows * kCols], &matrix[i % tensor.rows * kCols], kCols, 0, true);
        ASSERT_NEAR(y[i], expected.value, expected.error) << out << " " << i;
      }
    }
  }
}

TEST(Project, ResultsAreAddedToWhatIsThere) {
  constexpr uint32_t kRows = 5, kCols = 40;
  PlanBuilder b(kRows);
  const int32_t w = b.tensor(PackedEncoding::float16, kCols, kCols), in = b.handed(kCols, false), out = b.handed(kCols, true);
  b.plan.steps = {ProjectStep{in, {}, {{w, kAbsent, out}}, ProjectMode::accumulate, Activation::none}};
  Weights weights(b.plan);
  const auto x = random_floats(kRows * kCols, 1), before = random_floats(kRows * kCols, 2);
  const auto y = run_on_threads(b.plan, weights, 1, [&](PlanRun& run) { run.fill(0, x), run.fill(1, before); });
  const auto matrix = values_of(b.plan.tensors[0], weights);
  for (size_t i = 0; i < y.size(); ++i) {
    const Near expected = product(&x[i / kCols * kCols], &matrix[i % kCols * kCols], kCols, before[i], false);
    ASSERT_NEAR(y[i], expected.value, expected.error) << i;
  }
}

double silu(double x) { return x / (1 + std::exp(-x)); }

// gate and up to a quantised buffer, and down from there; or the same with a float buffer between.
TEST(Project, AGatedMlpGoesThroughAQuantisedRow) {
  for (const PackedEncoding down_encoding : {PackedEncoding::int6, PackedEncoding::float32}) {
    for (const uint32_t rows : {1u, 6u}) {
      constexpr uint32_t kHidden = 48, kInner = 75;
      PlanBuilder b(rows);
      const int32_t gate = b.tensor(PackedEncoding::int8, kInner, kHidden), up = b.tensor(PackedEncoding::int4_affine, kInner, kHidden), down = b.tensor(down_encoding, kHidden, kInner);
      const int32_t in = b.handed(kHidden, false), out = b.handed(kHidden, true);
      const int32_t between = b.buffer(kInner, false, is_integer(down_encoding) ? BufferFormat::quantized : BufferFormat::float32);
      b.plan.steps = {ProjectStep{in, {}, {{gate, kAbsent, between}, {up, kAbsent, between}}, ProjectMode::gated, Activation::silu},
                      ProjectStep{between, {}, {{down, kAbsent, out}}, ProjectMode::store, Activation::none}};
      Weights weights(b.plan);
      const auto x = random_floats(size_t{rows} * kHidden, 3);
      const auto y = run_on_threads(b.plan, weights, 1, [&](PlanRun& run) { run.fill(0, x); });
      const auto wg = values_of(b.plan.tensors[0], weights), wu = values_of(b.plan.tensors[1], weights), wd = values_of(b.plan.tensors[2], weights);
      for (size_t m = 0; m < rows; ++m) {
        std::vector<float> inner(kInner);
        std::vector<double> error(kInner);
        for (size_t n = 0; n < kInner; ++n) {
          const Near g = product(&x[m * kHidden], &wg[n * kHidden], kHidden, 0, true), u = product(&x[m * kHidden], &wu[n * kHidden], kHidden, 0, true);
          inner[n] = static_cast<float>(silu(g.value) * u.value);
          error[n] = 1.1 * g.error * std::abs(u.value) + (std::abs(silu(g.value)) + 1.1 * g.error) * u.error + 1e-6;
        }
        for (size_t n = 0; n < kHidden; ++n) {
          Near expected = product(inner.data(), &wd[n * kInner], kInner, 0, is_integer(down_encoding));
          for (size_t k = 0; k < kInner; ++k) expected.error += error[k] * std::abs(wd[n * kInner + k]) * 1.02;
          ASSERT_NEAR(y[m * kHidden + n], expected.value, expected.error) << m << " " << n;
        }
      }
    }
  }
}

TEST(Project, ANanStaysInItsRow) {
  constexpr uint32_t kRows = 4, kCols = 64;
  PlanBuilder b(kRows);
  const int32_t w = b.tensor(PackedEncoding::int4, 20, kCols), in = b.handed(kCols, false), out = b.handed(20, true);
  b.plan.steps = {ProjectStep{in, {}, {{w, kAbsent, out}}, ProjectMode::store, Activation::none}};
  Weights weights(b.plan);
  auto x = random_floats(kRows * kCols, 1);
  x[2 * kCols + 7] = NAN;
  PlanRun run(b.plan, weights, 2);
  run.fill(0, x);
  ASSERT_TRUE(run.execute().ok());
  const auto y = run.floats(1);
  for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i]), i / 20 == 2) << i;
}

}  // namespace
}  // namespace pteron::cpu_backend
