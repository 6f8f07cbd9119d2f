// Attention against a plain softmax in double precision: grouped heads, rings, norms, rotations, caps, biases, all cache types.
#include <gtest/gtest.h>

#include <cmath>

#include "backends/cpu/run/plan_for_test.h"

namespace pteron::cpu_backend {
namespace {

struct Shape {
  uint32_t rows, heads, kv_heads, key_dim, value_dim, slots;
  int64_t start;  // position of row 0
  ScalarType cache = ScalarType::Float;
  bool turned = false, capped = false, biased = false;
};

// Arguments: 0 queries, 1 keys, 2 values, 3 out, 4 positions, 5 mask, 6 and 7 caches.
struct Case {
  Shape shape;
  PlanBuilder b;
  int32_t query_norm = kAbsent, key_norm = kAbsent, frequencies = kAbsent, bias = kAbsent;

  explicit Case(const Shape& s) : shape(s), b(s.rows) {
    const int32_t queries = b.handed(s.heads * s.key_dim, false), keys = b.handed(s.kv_heads * s.key_dim, false), values = b.handed(s.kv_heads * s.value_dim, false);
    const int32_t out = b.handed(s.heads * s.value_dim, true);
    const auto n = [](uint32_t x) { return static_cast<int32_t>(x); };
    b.argument(ScalarType::Int, {1, n(s.rows)});
    b.argument(ScalarType::Bool, {1, 1, n(s.rows), n(s.slots)});
    b.argument(s.cache, {1, n(s.kv_heads), n(s.slots), n(s.key_dim)});
    b.argument(s.cache, {1, n(s.kv_heads), n(s.slots), n(s.value_dim)});
    b.plan.masks = {{5, s.slots}};
    AttendStep step;
    step.queries = b.copied(queries), step.keys = b.copied(keys), step.values = values, step.out = out;
    step.key_cache = 6, step.value_cache = 7, step.positions = 4;
    step.heads = s.heads, step.kv_heads = s.kv_heads, step.key_dim = s.key_dim, step.value_dim = s.value_dim, step.slots = s.slots, step.scale = 0.3f;
    if (s.turned) {
      query_norm = b.plain(1, s.key_dim), key_norm = b.plain(s.kv_heads, s.key_dim), frequencies = b.plain(1, s.key_dim / 2 - 1);
      step.query_norm = {NormKind::rms, query_norm, kAbsent, 1e-5f, 1.0f, s.key_dim};
      step.key_norm = {NormKind::rms, key_norm, kAbsent, 1e-5f, 1.0f, s.key_dim};
      b.plan.ropes = {{frequencies, 4, 1.1f}};
      step.query_rope = step.key_rope = 0;
    }
    if (s.capped) step.softcap = 2.0f;
    if (s.biased) step.bias = bias = b.plain(s.heads, s.slots);
    b.plan.steps.push_back(step);
  }

  int64_t position(size_t row) const { return shape.start + static_cast<int64_t>(row); }
  size_t slot(size_t row) const { return static_cast<size_t>(position(row)) % shape.slots; }
  // Rows see everything up to themselves that the ring still has; what the later rows of the call overwrite is gone.
  bool sees(size_t row, size_t at) const {
    const int64_t last = position(shape.rows - 1), slots = shape.slots;
    const int64_t held = last - (last - static_cast<int64_t>(at)) % slots;  // the position that the slot holds after the call
    return static_cast<int64_t>(at) <= last && held <= position(row) && held >= 0;
  }
};

float rounded(float x, ScalarType type) {
  if (type == ScalarType::Half) return half_to_float(float_to_half(x));
  return type == ScalarType::BFloat16 ? bfloat16_to_float(float_to_bfloat16(x)) : x;
}

void turn_head(float* x, size_t dim, const float* norm, const std::vector<float>& frequencies, int64_t position) {
  double squares = 0;
  for (size_t i = 0; i < dim; ++i) squares += static_cast<double>(x[i]) * x[i];
  for (size_t i = 0; i < dim; ++i) x[i] = static_cast<float>(x[i] / std::sqrt(squares / static_cast<double>(dim) + 1e-5) * (1.0 + norm[i]));
  const size_t half = frequencies.size();
  for (size_t i = 0; i < half; ++i) {
    const double angle = static_cast<double>(static_cast<float>(position) * frequencies[i]), c = std::cos(angle) * 1.1, s = std::sin(angle) * 1.1;
    const double a = x[i], b = x[i + half];
    x[i] = static_cast<float>(a * c - b * s);
    x[i + half] = static_cast<float>(b * c + a * s);
  }
}

std::vector<float> reference(const Case& c, Weights& weights, std::vector<float> queries, std::vector<float> keys, const std::vector<float>& values,
                             std::vector<float> key_cache, std::vector<float> value_cache) {
  const Shape& s = c.shape;
  if (s.turned) {
    const auto tensor = [&](int32_t i) { return values_of(c.b.plan.tensors[static_cast<size_t>(i)], weights); };
    const auto query_norm = tensor(c.query_norm), key_norm = tensor(c.key_norm), frequencies = tensor(c.frequencies);
    for (size_t row = 0; row < s.rows; ++row) {
      for (size_t h = 0; h < s.heads; ++h) turn_head(&queries[(row * s.heads + h) * s.key_dim], s.key_dim, query_norm.data(), frequencies, c.position(row));
      for (size_t h = 0; h < s.kv_heads; ++h) turn_head(&keys[(row * s.kv_heads + h) * s.key_dim], s.key_dim, &key_norm[h * s.key_dim], frequencies, c.position(row));
    }
  }
  for (size_t row = 0; row < s.rows; ++row) {
    for (size_t h = 0; h < s.kv_heads; ++h) {
      for (size_t d = 0; d < s.key_dim; ++d) key_cache[(h * s.slots + c.slot(row)) * s.key_dim + d] = rounded(keys[(row * s.kv_heads + h) * s.key_dim + d], s.cache);
      for (size_t d = 0; d < s.value_dim; ++d) value_cache[(h * s.slots + c.slot(row)) * s.value_dim + d] = rounded(values[(row * s.kv_heads + h) * s.value_dim + d], s.cache);
    }
  }
  const auto bias = s.biased ? values_of(c.b.plan.tensors[static_cast<size_t>(c.bias)], weights) : std::vector<float>(size_t{s.heads} * s.slots);
  std::vector<float> out(size_t{s.rows} * s.heads * s.value_dim);
  for (size_t row = 0; row < s.rows; ++row) {
    for (size_t h = 0; h < s.heads; ++h) {
      const size_t kv = h / (s.heads / s.kv_heads);
      std::vector<double> weight(s.slots, 0), mean(s.value_dim, 0);
      double sum = 0;
      for (size_t at = 0; at < s.slots; ++at) {
        if (!c.sees(row, at)) continue;
        double score = 0;
        for (size_t d = 0; d < s.key_dim; ++d) score += static_cast<double>(queries[(row * s.heads + h) * s.key_dim + d]) * key_cache[(kv * s.slots + at) * s.key_dim + d];
        score *= 0.3f;
        if (s.capped) score = 2 * std::tanh(score / 2);
        weight[at] = std::exp(score + bias[h * s.slots + at]);
        sum += weight[at];
      }
      for (size_t at = 0; at < s.slots; ++at) {
        for (size_t d = 0; d < s.value_dim; ++d) mean[d] += weight[at] / sum * value_cache[(kv * s.slots + at) * s.value_dim + d];
      }
      for (size_t d = 0; d < s.value_dim; ++d) out[(row * s.heads + h) * s.value_dim + d] = static_cast<float>(mean[d]);
    }
  }
  return out;
}

void store_cache(PlanRun& run, size_t argument, const std::vector<float>& values, ScalarType type) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (type == ScalarType::Float) run.data<float>(argument)[i] = values[i];
    else run.data<uint16_t>(argument)[i] = type == ScalarType::Half ? float_to_half(values[i]) : float_to_bfloat16(values[i]);
  }
}

void check(const Shape& s) {
  SCOPED_TRACE(std::to_string(s.rows) + " rows, " + std::to_string(s.heads) + "/" + std::to_string(s.kv_heads) + " heads of " + std::to_string(s.key_dim) + ", " +
               std::to_string(s.slots) + " slots from " + std::to_string(s.start));
  const Case c(s);
  Weights weights(c.b.plan);
  const auto queries = random_floats(size_t{s.rows} * s.heads * s.key_dim, 1), keys = random_floats(size_t{s.rows} * s.kv_heads * s.key_dim, 2),
             values = random_floats(size_t{s.rows} * s.kv_heads * s.value_dim, 3);
  auto key_cache = random_floats(size_t{s.kv_heads} * s.slots * s.key_dim, 4), value_cache = random_floats(size_t{s.kv_heads} * s.slots * s.value_dim, 5);
  for (float& x : key_cache) x = rounded(x, s.cache);
  for (float& x : value_cache) x = rounded(x, s.cache);
  const auto got = run_on_threads(c.b.plan, weights, 3, [&](PlanRun& run) {
    run.fill(0, queries), run.fill(1, keys), run.fill(2, values);
    for (size_t row = 0; row < s.rows; ++row) {
      run.data<int32_t>(4)[row] = static_cast<int32_t>(c.position(row));
      for (size_t at = 0; at < s.slots; ++at) run.data<uint8_t>(5)[row * s.slots + at] = c.sees(row, at);
    }
    store_cache(run, 6, key_cache, s.cache), store_cache(run, 7, value_cache, s.cache);
  });
  const auto expected = reference(c, weights, queries, keys, values, key_cache, value_cache);
  ASSERT_EQ(got.size(), expected.size());
  // Keys may round to the neighbouring 16-bit value where the norm differs in its last bit.
  const float tolerance = s.cache == ScalarType::Float ? 2e-5f : s.cache == ScalarType::Half ? 2e-4f : 2e-3f;
  for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected[i], tolerance * (1 + std::abs(expected[i]))) << i;
}

TEST(Attend, GroupedHeadsOverOddSizes) {
  for (const uint32_t rows : {1u, 2u, 13u}) {
    check({rows, 4, 2, 8, 8, 40, 20});
    check({rows, 3, 3, 20, 12, 33, 0});
    check({rows, 9, 3, 64, 64, 300, 280});
    check({rows, 8, 1, 6, 10, 17, 4});
  }
}

TEST(Attend, CachesOfAllTypesWithNormsAndRotations) {
  for (const ScalarType cache : {ScalarType::Float, ScalarType::Half, ScalarType::BFloat16}) {
    for (const uint32_t rows : {1u, 5u}) check({rows, 4, 2, 24, 16, 50, 30, cache, true});
  }
}

TEST(Attend, CapsAndBiases) {
  for (const uint32_t rows : {1u, 7u}) {
    check({rows, 4, 2, 16, 16, 150, 140, ScalarType::Float, false, true});
    check({rows, 4, 4, 16, 16, 150, 140, ScalarType::Float, false, false, true});
    check({rows, 6, 2, 16, 16, 40, 10, ScalarType::Half, true, true, true});
  }
}

TEST(Attend, RingsThatHaveWrapped) {
  for (const uint32_t rows : {1u, 6u}) {
    for (const int64_t start : {30, 35, 61, 1000}) check({rows, 4, 2, 16, 16, 36, start});
  }
  check({1, 4, 2, 16, 16, 260, 700});
}

// The rows of one call, each alone after those before it: the same bits, whichever of the ways to read the cache was taken.
void check_alone(const Shape& s) {
  SCOPED_TRACE(std::to_string(s.rows) + " rows of " + std::to_string(s.heads) + " heads from " + std::to_string(s.start));
  const Case together(s);
  Weights weights(together.b.plan);
  const size_t query_width = size_t{s.heads} * s.key_dim, key_width = size_t{s.kv_heads} * s.key_dim, value_width = size_t{s.kv_heads} * s.value_dim, out_width = size_t{s.heads} * s.value_dim;
  const auto queries = random_floats(s.rows * query_width, 1), keys = random_floats(s.rows * key_width, 2), values = random_floats(s.rows * value_width, 3);
  auto key_cache = random_floats(s.slots * key_width, 4), value_cache = random_floats(s.slots * value_width, 5);
  const auto fill = [&](PlanRun& run, const Case& c, size_t first) {
    const auto part = [&](const std::vector<float>& all, size_t width) { return std::vector<float>(all.begin() + static_cast<std::ptrdiff_t>(first * width), all.begin() + static_cast<std::ptrdiff_t>((first + c.shape.rows) * width)); };
    run.fill(0, part(queries, query_width)), run.fill(1, part(keys, key_width)), run.fill(2, part(values, value_width));
    for (size_t row = 0; row < c.shape.rows; ++row) {
      run.data<int32_t>(4)[row] = static_cast<int32_t>(c.position(row));
      for (size_t at = 0; at < s.slots; ++at) run.data<uint8_t>(5)[row * s.slots + at] = c.sees(row, at);
    }
  };
  PlanRun all(together.b.plan, weights, 2);
  fill(all, together, 0);
  store_cache(all, 6, key_cache, s.cache), store_cache(all, 7, value_cache, s.cache);
  ASSERT_TRUE(all.execute().ok());
  Shape one = s;
  one.rows = 1;
  std::vector<uint8_t> caches[2];
  for (uint32_t row = 0; row < s.rows; ++row) {
    one.start = s.start + row;
    const Case alone(one);
    PlanRun run(alone.b.plan, weights, 2);
    fill(run, Case(one), row);
    for (const size_t cache : {size_t{0}, size_t{1}}) {
      const size_t bytes = s.slots * (cache == 0 ? key_width : value_width) * element_size(s.cache);
      if (row == 0) store_cache(run, 6 + cache, cache == 0 ? key_cache : value_cache, s.cache);
      else std::memcpy(run.data<uint8_t>(6 + cache), caches[cache].data(), bytes);
    }
    ASSERT_TRUE(run.execute().ok());
    for (const size_t cache : {size_t{0}, size_t{1}}) {
      const size_t bytes = s.slots * (cache == 0 ? key_width : value_width) * element_size(s.cache);
      caches[cache].assign(run.data<uint8_t>(6 + cache), run.data<uint8_t>(6 + cache) + bytes);
    }
    ASSERT_EQ(std::memcmp(run.data<float>(3), all.data<float>(3) + row * out_width, out_width * sizeof(float)), 0) << "row " << row;
  }
}

TEST(Attend, ARowIsTheSameAloneAndAmongOthers) {
  for (const uint32_t rows : {2u, 5u, 8u, 40u}) {
    check_alone({rows, 9, 3, 64, 64, 300, 150, ScalarType::Half});
    check_alone({rows, 4, 2, 24, 20, 200, 0, ScalarType::Float, true});
    check_alone({rows, 5, 1, 12, 7, 130, 60, ScalarType::BFloat16, true, true});
    check_alone({rows, 8, 8, 16, 16, 150, 100, ScalarType::Half, false, false, true});
  }
}

TEST(Attend, ManyRowsThatAreCutIntoBlocks) { check({170, 2, 1, 8, 8, 200, 20}); }

TEST(Attend, HiddenSlotsAreNotRead) {
  const Shape s{1, 2, 1, 8, 8, 64, 10};
  const Case c(s);
  Weights weights(c.b.plan);
  PlanRun run(c.b.plan, weights, 2);
  run.data<int32_t>(4)[0] = 10;
  for (size_t at = 0; at < s.slots; ++at) run.data<uint8_t>(5)[at] = c.sees(0, at);
  for (const size_t cache : {size_t{6}, size_t{7}}) {
    for (size_t i = 11 * 8; i < size_t{64} * 8; ++i) run.data<float>(cache)[i] = NAN;
  }
  run.fill(0, random_floats(16, 1)), run.fill(1, random_floats(8, 2)), run.fill(2, random_floats(8, 3));
  ASSERT_TRUE(run.execute().ok());
  for (const float x : run.floats(3)) EXPECT_TRUE(std::isfinite(x));
}

}  // namespace
}  // namespace pteron::cpu_backend
