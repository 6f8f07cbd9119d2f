#include "kernels/portable/shape.h"

#include <gmock/gmock.h>

#include <vector>

namespace pteron::portable {
namespace {

using ::testing::ElementsAre;

Tensor tensor(ScalarType type, std::vector<int32_t> sizes) {
  std::vector<uint8_t> order;
  for (size_t d = 0; d < sizes.size(); ++d) order.push_back(static_cast<uint8_t>(d));
  return Tensor(type, sizes, order, false);
}

TEST(Shape, PromotionFollowsPyTorch) {
  using enum ScalarType;
  EXPECT_EQ(promote(Byte, Char), Short);
  EXPECT_EQ(promote(Half, BFloat16), Float);
  EXPECT_EQ(promote(Long, Half), Half);
  EXPECT_EQ(promote(Bool, Byte), Byte);
  EXPECT_EQ(promote(ComplexFloat, Double), ComplexDouble);
  // Tensors of rank 0 and scalars count less than tensors with dimensions, unless they are of a higher kind.
  EXPECT_EQ(promote(tensor(Half, {2}), tensor(Double, {})), Half);
  EXPECT_EQ(promote(tensor(Long, {2}), tensor(Half, {})), Half);
  EXPECT_EQ(promote(tensor(Int, {2}), Scalar{Scalar::Kind::number, 0, 1.5}), Float);
  EXPECT_EQ(promote(tensor(Int, {2}), Scalar{Scalar::Kind::integer, 1, 0}), Int);
  EXPECT_EQ(promote(tensor(Bool, {2}), Scalar{Scalar::Kind::integer, 1, 0}), Long);
}

TEST(Shape, DimensionsWrap) {
  EXPECT_EQ(*wrap_dim(-1, 3), 2u);
  EXPECT_EQ(*wrap_dim(-1, 0), 0u);  // a scalar has one dimension here
  EXPECT_FALSE(wrap_dim(3, 3).ok());
  EXPECT_FALSE(wrap_dim(-4, 3).ok());
  EXPECT_FALSE(wrap_dim(INT64_MIN, 3).ok());
}

TEST(Shape, SizesBroadcast) {
  const Tensor a = tensor(ScalarType::Float, {2, 1}), b = tensor(ScalarType::Float, {3}), c = tensor(ScalarType::Float, {2});
  const auto sizes = broadcast_sizes({&a, &b});
  ASSERT_TRUE(sizes.ok());
  EXPECT_THAT(sizes->span(), ElementsAre(2, 3));
  EXPECT_FALSE(broadcast_sizes({&b, &c}).ok());
  const Tensor empty = tensor(ScalarType::Float, {0, 3});
  EXPECT_THAT(broadcast_sizes({&empty, &b})->span(), ElementsAre(0, 3));
}

TEST(Shape, SizesGrowAndShrinkInPlace) {
  Sizes sizes(std::vector<int32_t>{2, 3});
  sizes.insert(1, 9);
  EXPECT_THAT(sizes.span(), ElementsAre(2, 9, 3));
  sizes.erase(0);
  EXPECT_THAT(sizes.span(), ElementsAre(9, 3));
}

}  // namespace
}  // namespace pteron::portable
