#include "core/dtype.h"

#include <gtest/gtest.h>

#include <cmath>

namespace pteron {
namespace {

TEST(DType, NumbersSizesAndNamesArePinned) {
  EXPECT_EQ(static_cast<int>(ScalarType::Float), 6);
  EXPECT_EQ(static_cast<int>(ScalarType::Bool), 11);
  EXPECT_EQ(static_cast<int>(ScalarType::BFloat16), 15);
  EXPECT_EQ(static_cast<int>(ScalarType::UInt64), 29);
  EXPECT_EQ(element_size(ScalarType::ComplexDouble), 16u);
  EXPECT_EQ(element_size(static_cast<ScalarType>(30)), 0u);
  EXPECT_EQ(element_size(static_cast<ScalarType>(-1)), 0u);
  for (int i = 0; i < 30; ++i) {
    ASSERT_TRUE(is_scalar_type(i));
    EXPECT_EQ(dtype_from_name(dtype_name(static_cast<ScalarType>(i))), static_cast<ScalarType>(i));
  }
  EXPECT_FALSE(is_scalar_type(30));
  EXPECT_FALSE(dtype_from_name("float").has_value());
}

TEST(DType, HalfRoundTripsEveryValue) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const float value = half_to_float(static_cast<uint16_t>(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(half_to_float(float_to_half(value))));
    } else {
      EXPECT_EQ(float_to_half(value), bits);
    }
  }
}

TEST(DType, HalfRoundsToNearestEven) {
  EXPECT_EQ(float_to_half(65519.0f), 0x7bff);
  EXPECT_EQ(float_to_half(65520.0f), 0x7c00);
  EXPECT_EQ(float_to_half(1.0f + 0x1p-11f), 0x3c00);
  EXPECT_EQ(float_to_half(1.0f + 0x3p-11f), 0x3c02);
  EXPECT_EQ(float_to_half(0x1p-25f), 0);
  EXPECT_EQ(float_to_half(0x1.8p-25f), 1);
}

TEST(DType, BFloat16RoundsToNearestEven) {
  EXPECT_EQ(float_to_bfloat16(1.0f), 0x3f80);
  EXPECT_EQ(float_to_bfloat16(1.0f + 0x1p-8f), 0x3f80);
  EXPECT_EQ(float_to_bfloat16(1.0f + 0x3p-8f), 0x3f82);
  EXPECT_TRUE(std::isnan(bfloat16_to_float(float_to_bfloat16(NAN))));
}

}  // namespace
}  // namespace pteron
