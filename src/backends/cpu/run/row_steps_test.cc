// Steps that work row by row, each in a plan of its own.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "backends/cpu/run/plan_for_test.h"

namespace pteron::cpu_backend {
namespace {

constexpr uint32_t kRows = 7, kWidth = 37;

// y = step(x), both handed over, the expected values of a row made by `expected`.
void check_map(const MapStep& map, const std::function<double(double)>& expected, double tolerance) {
  PlanBuilder b(kRows);
  const int32_t in = b.handed(kWidth, false), out = b.handed(kWidth, true);
  MapStep step = map;
  step.in = in, step.out = out;
  b.plan.steps = {step};
  Weights weights(b.plan);
  const auto x = random_floats(kRows * kWidth, 4, 3.0f);
  const auto y = run_on_threads(b.plan, weights, 1, [&](PlanRun& run) { run.fill(0, x); });
  for (size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i], expected(x[i]), tolerance * (1 + std::abs(expected(x[i])))) << i << " of " << x[i];
}

TEST(RowSteps, Maps) {
  const auto activation = [](Activation a) { return MapStep{MapKind::activation, a, 1, 0, 0}; };
  check_map(activation(Activation::silu), [](double x) { return x / (1 + std::exp(-x)); }, 1e-5);
  check_map(activation(Activation::relu), [](double x) { return x > 0 ? x : 0; }, 0);
  check_map(activation(Activation::gelu_erf), [](double x) { return x * 0.5 * (1 + std::erf(x * std::sqrt(0.5))); }, 1e-5);
  check_map(activation(Activation::gelu_tanh), [](double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }, 1e-5);
  check_map(activation(Activation::none), [](double x) { return x; }, 0);
  check_map({MapKind::softcap, Activation::none, 2.5f, 0, 0}, [](double x) { return 2.5 * std::tanh(x / 2.5); }, 1e-5);
  check_map({MapKind::scale, Activation::none, 0.75f, 0, 0}, [](double x) { return x * 0.75; }, 1e-7);
  check_map({MapKind::copy, Activation::none, 1, 0, 0}, [](double x) { return x; }, 0);
}

TEST(RowSteps, SumsAndProducts) {
  for (const bool add : {true, false}) {
    PlanBuilder b(kRows);
    const int32_t a = b.handed(kWidth, false), c = b.handed(kWidth, false), out = b.handed(kWidth, true);
    b.plan.steps = {CombineStep{add ? CombineKind::add : CombineKind::multiply, 0.5f, a, c, out}};
    Weights weights(b.plan);
    const auto x = random_floats(kRows * kWidth, 1), y = random_floats(kRows * kWidth, 2);
    const auto z = run_on_threads(b.plan, weights, 2, [&](PlanRun& run) { run.fill(0, x), run.fill(1, y); });
    for (size_t i = 0; i < z.size(); ++i) ASSERT_NEAR(z[i], add ? x[i] + 0.5 * y[i] : double{x[i]} * y[i], 1e-6) << i;
  }
}

// The double-precision norm of x[0 .. n).
std::vector<double> normed(const Norm& norm, const float* x, size_t n, const float* weight, const float* bias) {
  double mean = 0, squares = 0;
  if (norm.kind == NormKind::layer) {
    for (size_t i = 0; i < n; ++i) mean += x[i] / static_cast<double>(n);
  }
  for (size_t i = 0; i < n; ++i) squares += (x[i] - mean) * (x[i] - mean);
  std::vector<double> out(n);
  for (size_t i = 0; i < n; ++i) {
    out[i] = (x[i] - mean) / std::sqrt(squares / static_cast<double>(n) + norm.eps) * (weight != nullptr ? weight[i] + norm.offset : 1.0) + (bias != nullptr ? bias[i] : 0);
  }
  return out;
}

// Norms of a row of 3 stretches of 12, with one weight for all stretches or one for each; added or stored.
TEST(RowSteps, NormsByStretch) {
  constexpr uint32_t kStretch = 12, kAll = 36;
  for (const NormKind kind : {NormKind::rms, NormKind::layer}) {
    for (const uint32_t weight_rows : {1u, 3u}) {
      for (const bool accumulate : {false, true}) {
        PlanBuilder b(kRows);
        const int32_t weight = b.plain(weight_rows, kStretch), bias = kind == NormKind::layer ? b.plain(weight_rows, kStretch) : kAbsent;
        const int32_t in = b.handed(kAll, false), out = b.handed(kAll, true);
        const Norm norm{kind, weight, bias, 1e-5f, kind == NormKind::rms ? 1.0f : 0.0f, kStretch};
        b.plan.steps = {NormStep{norm, in, out, accumulate}};
        Weights weights(b.plan);
        const auto x = random_floats(kRows * kAll, 1), before = random_floats(kRows * kAll, 2);
        const auto y = run_on_threads(b.plan, weights, 1, [&](PlanRun& run) { run.fill(0, x), run.fill(1, before); });
        const auto w = values_of(b.plan.tensors[0], weights);
        const auto c = bias == kAbsent ? std::vector<float>() : values_of(b.plan.tensors[1], weights);
        for (size_t stretch = 0; stretch < kRows * 3; ++stretch) {
          const size_t of = weight_rows == 1 ? 0 : stretch % 3 * kStretch;
          const auto expected = normed(norm, &x[stretch * kStretch], kStretch, &w[of], c.empty() ? nullptr : &c[of]);
          for (size_t i = 0; i < kStretch; ++i) {
            const size_t at = stretch * kStretch + i;
            ASSERT_NEAR(y[at], expected[i] + (accumulate ? before[at] : 0.0f), 2e-5) << at;
          }
        }
      }
    }
  }
}

TEST(RowSteps, RotationsInPairsAndInHalves) {
  constexpr uint32_t kHeads = 3, kDim = 12, kHalf = 5;
  for (const bool interleaved : {false, true}) {
    PlanBuilder b(kRows);
    const int32_t frequencies = b.plain(1, kHalf), in = b.handed(kHeads * kDim, false), out = b.handed(kHeads * kDim, true);
    const int32_t positions = b.argument(ScalarType::Long, {1, kRows});
    b.plan.ropes = {{frequencies, positions, 1.0f}};
    b.plan.steps = {MapStep{MapKind::copy, Activation::none, 1, in, out}, RopeStep{0, out, kDim, interleaved}};
    Weights weights(b.plan);
    const auto x = random_floats(kRows * kHeads * kDim, 1);
    const auto y = run_on_threads(b.plan, weights, 1, [&](PlanRun& run) {
      run.fill(0, x);
      for (size_t row = 0; row < kRows; ++row) run.data<int64_t>(2)[row] = static_cast<int64_t>(row * row + 3);
    });
    const auto inverse = values_of(b.plan.tensors[0], weights);
    for (size_t head = 0; head < kRows * kHeads; ++head) {
      const size_t row = head / kHeads;
      for (size_t i = 0; i < kHalf; ++i) {
        const size_t first = head * kDim + (interleaved ? 2 * i : i), second = interleaved ? first + 1 : first + kHalf;
        const double angle = static_cast<double>(static_cast<float>(row * row + 3) * inverse[i]);
        ASSERT_NEAR(y[first], x[first] * std::cos(angle) - x[second] * std::sin(angle), 1e-5);
        ASSERT_NEAR(y[second], x[second] * std::cos(angle) + x[first] * std::sin(angle), 1e-5);
      }
      for (size_t i = 2 * kHalf; i < kDim; ++i) ASSERT_EQ(y[head * kDim + i], x[head * kDim + i]) << "behind the pairs";
    }
  }
}

TEST(RowSteps, EmbeddingsAreScaledRowsOfTheirTable) {
  for (const PackedEncoding encoding : {PackedEncoding::int4, PackedEncoding::int6, PackedEncoding::bfloat16, PackedEncoding::float32}) {
    PlanBuilder b(kRows);
    const int32_t table = b.tensor(encoding, 41, kWidth), out = b.handed(kWidth, true), ids = b.argument(ScalarType::Int, {1, kRows});
    b.plan.steps = {EmbedStep{table, ids, out, 3.0f}};
    Weights weights(b.plan);
    const auto y = run_on_threads(b.plan, weights, 0, [&](PlanRun& run) {
      for (size_t row = 0; row < kRows; ++row) run.data<int32_t>(1)[row] = static_cast<int32_t>(row * 6 + 4);
    });
    const auto rows = values_of(b.plan.tensors[0], weights);
    for (size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], 3.0f * rows[(i / kWidth * 6 + 4) * kWidth + i % kWidth]) << i;
  }
}

TEST(RowSteps, WritesGoRoundTheCache) {
  constexpr uint32_t kHeads = 2, kDim = 5, kSlots = 11;
  for (const ScalarType cache : {ScalarType::Float, ScalarType::Half, ScalarType::BFloat16}) {
    PlanBuilder b(kRows);
    const int32_t rows = b.handed(kHeads * kDim, false), to = b.argument(cache, {1, kHeads, kSlots, kDim}), positions = b.argument(ScalarType::Long, {1, kRows});
    b.plan.steps = {WriteStep{rows, to, positions, kHeads, kDim, kSlots}};
    Weights weights(b.plan);
    PlanRun run(b.plan, weights, 2);
    const auto x = random_floats(kRows * kHeads * kDim, 1);
    run.fill(0, x);
    for (size_t row = 0; row < kRows; ++row) run.data<int64_t>(2)[row] = static_cast<int64_t>(8 + row);
    ASSERT_TRUE(run.execute().ok());
    for (size_t head = 0; head < kHeads; ++head) {
      for (size_t slot = 0; slot < kSlots; ++slot) {
        const size_t row = (slot + kSlots - 8) % kSlots;
        for (size_t d = 0; d < kDim; ++d) {
          const size_t at = (head * kSlots + slot) * kDim + d;
          const float expected = row < kRows ? x[(row * kHeads + head) * kDim + d] : 0.0f;
          if (cache == ScalarType::Float) ASSERT_EQ(run.data<float>(1)[at], expected);
          else ASSERT_EQ(run.data<uint16_t>(1)[at], cache == ScalarType::Half ? float_to_half(expected) : float_to_bfloat16(expected));
        }
      }
    }
  }
}

TEST(RowSteps, ARowIsSelected) {
  PlanBuilder b(kRows);
  const int32_t in = b.handed(kWidth, false), out = b.handed(kWidth, true, true), row = b.argument(ScalarType::Long, {1});
  b.plan.steps = {SelectStep{in, row, out}};
  Weights weights(b.plan);
  const auto x = random_floats(kRows * kWidth, 1);
  const auto y = run_on_threads(b.plan, weights, 1, [&](PlanRun& run) { run.fill(0, x), run.data<int64_t>(2)[0] = 4; });
  EXPECT_EQ(y, std::vector<float>(x.begin() + 4 * kWidth, x.begin() + 5 * kWidth));
  PlanRun outside(b.plan, weights, 1);
  outside.data<int64_t>(2)[0] = kRows;
  EXPECT_EQ(outside.execute().detail().field, "row");
}

TEST(RowSteps, ConversionsRoundToTheArgumentsType) {
  for (const ScalarType type : {ScalarType::Float, ScalarType::Half, ScalarType::BFloat16}) {
    PlanBuilder b(kRows);
    const int32_t from = b.argument(type, {kRows, kWidth}), to = b.argument(type, {kRows, kWidth}, true), between = b.buffer(kWidth);
    b.plan.steps = {ConvertStep{from, between, false}, MapStep{MapKind::scale, Activation::none, 1.5f, between, b.buffer(kWidth)}, ConvertStep{to, 1, true}};
    Weights weights(b.plan);
    PlanRun run(b.plan, weights, 3);
    const auto x = random_floats(kRows * kWidth, 1);
    for (size_t i = 0; i < x.size(); ++i) {
      if (type == ScalarType::Float) run.data<float>(0)[i] = x[i];
      else run.data<uint16_t>(0)[i] = type == ScalarType::Half ? float_to_half(x[i]) : float_to_bfloat16(x[i]);
    }
    ASSERT_TRUE(run.execute().ok());
    for (size_t i = 0; i < x.size(); ++i) {
      if (type == ScalarType::Float) ASSERT_EQ(run.data<float>(1)[i], 1.5f * x[i]);
      else if (type == ScalarType::Half) ASSERT_EQ(run.data<uint16_t>(1)[i], float_to_half(1.5f * half_to_float(float_to_half(x[i]))));
      else ASSERT_EQ(run.data<uint16_t>(1)[i], float_to_bfloat16(1.5f * bfloat16_to_float(float_to_bfloat16(x[i]))));
    }
  }
}

}  // namespace
}  // namespace pteron::cpu_backend
