#include "format/tensor_shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace pteron::format {
namespace {

using testing::HasSubstr;
using Sizes = std::vector<int32_t>;
using Order = std::vector<uint8_t>;

size_t bytes_of(ScalarType dtype, const Sizes& sizes, const Order& order) {
  auto bytes = checked_nbytes(dtype, sizes, order);
  EXPECT_TRUE(bytes.ok()) << bytes.status().message();
  return bytes.ok() ? *bytes : ~size_t{0};
}

std::string refusal(ScalarType dtype, const Sizes& sizes, const Order& order) {
  return checked_nbytes(dtype, sizes, order).status().message();
}

TEST(TensorShape, CountsBytes) {
  EXPECT_EQ(bytes_of(ScalarType::Float, {}, {}), 4u);
  EXPECT_EQ(bytes_of(ScalarType::Half, {2, 3, 4}, {2, 0, 1}), 48u);
  EXPECT_EQ(bytes_of(ScalarType::ComplexDouble, {3}, {0}), 48u);
  EXPECT_EQ(bytes_of(ScalarType::Byte, {5, 0, 7}, {0, 1, 2}), 0u);
  EXPECT_EQ(bytes_of(ScalarType::Byte, {2147483647, 2147483647}, {0, 1}), size_t{2147483647} * 2147483647);
}

TEST(TensorShape, RefusesWhatIsNoShape) {
  EXPECT_THAT(refusal(static_cast<ScalarType>(30), {1}, {0}), HasSubstr("scalar_type"));
  EXPECT_THAT(refusal(static_cast<ScalarType>(-1), {1}, {0}), HasSubstr("found -1"));
  EXPECT_THAT(refusal(ScalarType::Float, {4, -1}, {0, 1}), HasSubstr("sizes[1]"));
  EXPECT_THAT(refusal(ScalarType::Float, Sizes(17, 1), Order(17, 0)), HasSubstr("at most 16"));
  EXPECT_THAT(refusal(ScalarType::Float, {4, 1}, {0}), HasSubstr("2 entries"));
  EXPECT_THAT(refusal(ScalarType::Float, {4, 1}, {0, 0}), HasSubstr("dim_order[1]"));
  EXPECT_THAT(refusal(ScalarType::Float, {4, 1}, {0, 2}), HasSubstr("permutation"));
  EXPECT_THAT(refusal(ScalarType::Double, {2147483647, 2147483647}, {0, 1}), HasSubstr("2^63"));
  // The zero does not hide that the strides overflow.
  EXPECT_THAT(refusal(ScalarType::Byte, {0, 2147483647, 2147483647, 2147483647}, {0, 1, 2, 3}), HasSubstr("2^63"));
}

TEST(TensorShape, AlignsToElements) {
  EXPECT_EQ(element_alignment(ScalarType::Bool), 1u);
  EXPECT_EQ(element_alignment(ScalarType::BFloat16), 2u);
  EXPECT_EQ(element_alignment(ScalarType::Float), 4u);
  EXPECT_EQ(element_alignment(ScalarType::ComplexDouble), 8u);
}

}  // namespace
}  // namespace pteron::format
