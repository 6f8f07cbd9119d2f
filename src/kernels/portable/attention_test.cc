#include <gmock/gmock.h>

#include <cmath>

#include "kernels/portable/kernel_call_for_test.h"

namespace pteron::portable::testing {
namespace {

using ::testing::ElementsAre;

TEST(Attention, CausalQueriesSeeOnlyWhatIsBefore) {
  // One head of width 1: equal scores average the visible values.
  Call call("llama::custom_sdpa.out");
  ASSERT_TRUE(call.in(floats({1, 2, 1, 1}, {0, 0}))
                  .in(floats({1, 4, 1, 1}, {1, 1, 1, 1}))
                  .in(floats({1, 4, 1, 1}, {2, 4, 6, 100}))
                  .i(1)
                  .none()
                  .d(0)
                  .b(true)
                  .none()
                  .out({1, 2, 1, 1})
                  .run(2)
                  .ok());
  EXPECT_NEAR(call.result()[0], 3, 1e-6);
  EXPECT_NEAR(call.result()[1], 4, 1e-6);
}

TEST(Attention, PositionsBeyondTheCacheAreErrors) {
  const auto run = [](int64_t start) {
    Call call("llama::update_cache.out");
    return call.in(floats({1, 2, 1, 1}, {1, 2})).inout(floats({1, 3, 1, 1}, {0, 0, 0})).i(start).out({1}).run();
  };
  EXPECT_TRUE(run(1).ok());
  EXPECT_FALSE(run(2).ok());
  EXPECT_FALSE(run(-1).ok());
  EXPECT_FALSE(run(int64_t{1} << 62).ok());
  Call attend("llama::custom_sdpa.out");
  EXPECT_FALSE(attend.in(floats({1, 2, 1, 1}, {0, 0}))
                   .in(floats({1, 2, 1, 1}, {1, 1}))
                   .in(floats({1, 2, 1, 1}, {1, 1}))
                   .i(1)
                   .none()
                   .d(0)
                   .b(true)
                   .none()
                   .out({1, 2, 1, 1})
                   .run()
                   .ok());
}

TEST(Attention, IndicesPlaceRows) {
  Call call("llama::update_cache_with_indices.out");
  ASSERT_TRUE(
      call.in(floats({1, 2, 1, 1}, {1, 2})).inout(floats({1, 3, 1, 1}, {0, 0, 0})).i(0).in(longs({1, 2}, {2, 0})).out({1}).run().ok());
  EXPECT_THAT(call.result(), ElementsAre(2, 0, 1));
  EXPECT_FALSE(Call("llama::update_cache_with_indices.out")
                   .in(floats({1, 1, 1, 1}, {1}))
                   .inout(floats({1, 1, 1, 1}, {0}))
                   .i(0)
                   .in(longs({1, 1}, {1}))
                   .out({1})
                   .run()
                   .ok());
}

TEST(Attention, QuantisedRowsAgreeWithTheirFloats) {
  Call call("llama::custom_quantized_sdpa.out");
  const Array scales = floats({1, 2, 1, 1}, {0.5, 0.5}), zeros = {ScalarType::Char, {1, 2, 1, 1}, {1, 1}};
  const Array q = {ScalarType::Char, {1, 2, 1, 1}, {1, 1}}, k = {ScalarType::Char, {1, 2, 1, 1}, {3, 5}},
              v = {ScalarType::Char, {1, 2, 1, 1}, {3, 5}};
  ASSERT_TRUE(call.in(q)
                  .in(k)
                  .in(v)
                  .i(0)
                  .none()
                  .d(0)
                  .b(false)
                  .none()
                  .in(zeros)
                  .in(scales)
                  .in(zeros)
                  .in(scales)
                  .in(zeros)
                  .in(scales)
                  .b(false)
                  .out({1, 2, 1, 1})
                  .run()
                  .ok());
  EXPECT_NEAR(call.result()[0], 1.5, 1e-6);  // scores are all zero: the average of 1 and 2
}

}  // namespace
}  // namespace pteron::portable::testing
