#include <gmock/gmock.h>

#include <cmath>
#include <tuple>

#include "kernels/portable/kernel_call_for_test.h"

namespace pteron::portable::testing {
namespace {

using ::testing::ElementsAre;

double pattern(size_t i) { return static_cast<double>(i * 7 % 11) - 5; }

std::vector<double> sequence(size_t n) {
  std::vector<double> values(n);
  for (size_t i = 0; i < n; ++i) values[i] = pattern(i);
  return values;
}

TEST(Matmul, LinearOfEveryWeightTypeAndAwkwardSizes) {
  for (ScalarType weight : {ScalarType::Float, ScalarType::Half, ScalarType::BFloat16}) {
    for (const auto& [m, n, k] : {std::tuple{1, 1, 1}, {1, 37, 133}, {2, 5, 64}, {7, 13, 31}, {33, 29, 65}}) {
      const auto x = sequence(static_cast<size_t>(m * k)), w = sequence(static_cast<size_t>(n * k)), bias = sequence(static_cast<size_t>(n));
      Call call("aten::linear.out");
      ASSERT_TRUE(call.in({weight, {m, k}, x}).in({weight, {n, k}, w}).in({weight, {n}, bias}).out(weight, {m, n}).run(2).ok());
      const auto got = call.result();
      for (int i = 0; i < m; ++i) {
        for (int j = 0; j < n; ++j) {
          double sum = bias[static_cast<size_t>(j)];
          for (int t = 0; t < k; ++t) sum += x[static_cast<size_t>(i * k + t)] * w[static_cast<size_t>(j * k + t)];
          EXPECT_NEAR(got[static_cast<size_t>(i * n + j)], sum, weight == ScalarType::Float ? 1e-3 : std::abs(sum) * 0.01 + 1e-3)
              << m << "x" << n << "x" << k;
        }
      }
    }
  }
}

TEST(Matmul, BmmAgreesWithItsDefinition) {
  // The last ones are products with a few columns, which are computed the other way round.
  for (const auto& [b, m, n, k] : {std::tuple{3, 9, 35, 20}, {2, 64, 1, 3}, {3, 130, 3, 33}, {1, 700, 8, 64}, {5, 65, 8, 512}, {1, 64, 2, 0}}) {
    const auto x = sequence(static_cast<size_t>(b * m * k)), y = sequence(static_cast<size_t>(b * k * n));
    Call call("aten::bmm.out");
    ASSERT_TRUE(call.in(floats({b, m, k}, x)).in(floats({b, k, n}, y)).out({b, m, n}).run(2).ok());
    const auto got = call.result();
    ASSERT_EQ(got.size(), static_cast<size_t>(b * m * n));
    for (size_t i = 0; i < got.size(); ++i) {
      const auto columns = static_cast<size_t>(n), depth = static_cast<size_t>(k), rows = static_cast<size_t>(m);
      const size_t batch = i / (rows * columns), row = i / columns % rows, col = i % columns;
      double sum = 0;
      for (size_t t = 0; t < depth; ++t) sum += x[(batch * rows + row) * depth + t] * y[(batch * depth + t) * columns + col];
      ASSERT_NEAR(got[i], sum, 1e-3) << m << "x" << n << "x" << k << " at " << i;
    }
  }
}

TEST(Matmul, AddmmWithBetaZeroHidesTheAddend) {
  Call call("aten::addmm.out");
  ASSERT_TRUE(call.in(floats({2}, {NAN, NAN})).in(floats({1, 2}, {1, 2})).in(floats({2, 2}, {1, 0, 0, 1})).i(0).i(3).out({1, 2}).run().ok());
  EXPECT_THAT(call.result(), ElementsAre(3, 6));
}

TEST(Matmul, IntegersAndEmptyInnerSizes) {
  Call ints("aten::mm.out");
  ASSERT_TRUE(ints.in(longs({1, 2}, {3, 4})).in(longs({2, 1}, {5, 6})).out(ScalarType::Long, {1, 1}).run().ok());
  EXPECT_THAT(ints.result(), ElementsAre(39));
  Call empty("aten::mm.out");
  ASSERT_TRUE(empty.in(floats({2, 0}, {})).in(floats({0, 1}, {})).out({2, 1}).run().ok());
  EXPECT_THAT(empty.result(), ElementsAre(0, 0));
}

TEST(Matmul, WrongSizesAndTypesAreErrors) {
  EXPECT_FALSE(Call("aten::mm.out").in(floats({1, 2}, {1, 2})).in(floats({3, 1}, {1, 2, 3})).out({1, 1}).run().ok());
  EXPECT_FALSE(Call("aten::linear.out").in(floats({}, {1})).in(floats({1, 1}, {1})).none().out({}).run().ok());
  EXPECT_FALSE(Call("aten::linear.out")
                   .in(floats({1, 2}, {1, 2}))
                   .in(floats({2, 2}, {1, 2, 3, 4}))
                   .in(floats({3}, {1, 2, 3}))
                   .out({1, 2})
                   .run()
                   .ok());
  EXPECT_FALSE(Call("aten::bmm.out").in(floats({1, 1, 1}, {1})).in(floats({2, 1, 1}, {1, 2})).out({1, 1, 1}).run().ok());
}

}  // namespace
}  // namespace pteron::portable::testing
