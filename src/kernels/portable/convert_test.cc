#include "kernels/portable/convert.h"

#include <gmock/gmock.h>

#include <cmath>
#include <vector>

namespace pteron::portable {
namespace {

using ::testing::ElementsAre;

TEST(Convert, EveryStorageTypeComesBack) {
  const int64_t values[] = {0, 1, 5, 100};
  for (ScalarType type :
       {ScalarType::Byte, ScalarType::Char, ScalarType::Short, ScalarType::Int, ScalarType::Long, ScalarType::Half, ScalarType::Float,
        ScalarType::Double, ScalarType::BFloat16, ScalarType::UInt16, ScalarType::UInt32, ScalarType::UInt64}) {
    alignas(8) std::byte memory[64];
    store_run<int64_t>(type, values, 4, memory, 0);
    int64_t integers[4];
    double doubles[4];
    float floats[4];
    load_run<int64_t>(type, memory, 0, 1, 4, integers);
    load_run<double>(type, memory, 0, 1, 4, doubles);
    load_run<float>(type, memory, 0, 1, 4, floats);
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(integers[i], values[i]) << dtype_name(type);
      EXPECT_EQ(doubles[i], static_cast<double>(values[i])) << dtype_name(type);
      EXPECT_EQ(floats[i], static_cast<float>(values[i])) << dtype_name(type);
    }
  }
}

TEST(Convert, StridesReachForwardBackwardAndNowhere) {
  const float memory[] = {0, 1, 2, 3};
  float out[2];
  load_run<float>(ScalarType::Float, memory, 3, -2, 2, out);
  EXPECT_THAT(out, ElementsAre(3, 1));
  load_run<float>(ScalarType::Float, memory, 2, 0, 2, out);
  EXPECT_THAT(out, ElementsAre(2, 2));
  float target[3] = {};
  store_run<float>(ScalarType::Float, out, 2, target, 0, 2);
  EXPECT_THAT(target, ElementsAre(2, 0, 2));
}

TEST(Convert, BytesOfABoolAreFalseOrTrue) {
  const uint8_t memory[] = {0, 1, 255};
  int64_t out[3];
  load_run<int64_t>(ScalarType::Bool, memory, 0, 1, 3, out);
  EXPECT_THAT(out, ElementsAre(0, 1, 1));
}

TEST(Convert, NumbersWithoutAPlaceInTheTypeAreDefined) {
  const double numbers[] = {NAN, 1e300, -1e300, 300, -1.5};
  for (ScalarType type : {ScalarType::Byte, ScalarType::Char, ScalarType::Int, ScalarType::Long, ScalarType::UInt32, ScalarType::UInt64}) {
    alignas(8) std::byte memory[40];
    store_run<double>(type, numbers, 5, memory, 0);  // a sanitizer would see an undefined conversion
  }
  double wrapped;
  std::byte byte;
  store_run<double>(ScalarType::Byte, numbers + 3, 1, &byte, 0);
  load_run<double>(ScalarType::Byte, &byte, 0, 1, 1, &wrapped);
  EXPECT_EQ(wrapped, 44);
}

TEST(Convert, RoundingKeepsWhatTheTypeHolds) {
  std::vector<float> values = {1.0f, 1.0001f, 70000.0f};
  round_run<float>(ScalarType::Half, values.data(), 3);
  EXPECT_EQ(values[0], 1);
  EXPECT_EQ(values[1], 1);
  EXPECT_TRUE(std::isinf(values[2]));
}

}  // namespace
}  // namespace pteron::portable
