#include "runtime/value.h"

#include <gmock/gmock.h>

#include <vector>

namespace pteron::runtime {
namespace {

using ::testing::ElementsAre;

TEST(Tensor, StridesFollowTheDimOrder) {
  const std::vector<int32_t> sizes = {2, 3, 4, 5};
  const std::vector<uint8_t> channels_last = {0, 2, 3, 1};
  const Tensor t(ScalarType::Half, sizes, channels_last, false);
  EXPECT_THAT(t.strides(), ElementsAre(60, 1, 15, 3));
  EXPECT_EQ(t.nbytes(), 240u);
  EXPECT_FALSE(t.contiguous());
}

TEST(Tensor, SizesOfOneDoNotBreakContiguity) {
  const std::vector<int32_t> sizes = {1, 1, 49, 10};
  const std::vector<uint8_t> order = {0, 2, 1, 3};
  EXPECT_TRUE(Tensor(ScalarType::Float, sizes, order, false).contiguous());
}

TEST(Tensor, DynamicOnesShrinkAndGrowUpToTheirBound) {
  const std::vector<int32_t> sizes = {4, 6};
  const std::vector<uint8_t> order = {0, 1};
  Tensor t(ScalarType::Float, sizes, order, true);
  EXPECT_TRUE(t.resize(std::vector<int32_t>{2, 3}).ok());
  EXPECT_EQ(t.numel(), 6u);
  EXPECT_TRUE(t.resize(std::vector<int32_t>{1, 24}).ok());  // the bound is on the count, not on each size
  EXPECT_EQ(t.resize(std::vector<int32_t>{5, 5}).code(), Code::out_of_capacity);
  EXPECT_EQ(t.resize(std::vector<int32_t>{6}).code(), Code::unsupported);
  EXPECT_EQ(t.resize(std::vector<int32_t>{-1, 2}).code(), Code::invalid_argument);
  EXPECT_THAT(t.sizes(), ElementsAre(1, 24));
}

TEST(Tensor, StaticOnesKeepTheirSizes) {
  const std::vector<int32_t> sizes = {2};
  const std::vector<uint8_t> order = {0};
  Tensor t(ScalarType::Float, sizes, order, false);
  EXPECT_TRUE(t.resize(sizes).ok());
  const Status status = t.resize(std::vector<int32_t>{1});
  EXPECT_EQ(status.code(), Code::unsupported);
  EXPECT_NE(status.message().find("[2]"), std::string::npos) << status.message();
}

TEST(Tensor, EmptyDimensionsLeaveUsableStrides) {
  const std::vector<int32_t> sizes = {2, 0, 3};
  const std::vector<uint8_t> order = {0, 1, 2};
  const Tensor t(ScalarType::Float, sizes, order, false);
  EXPECT_EQ(t.numel(), 0u);
  EXPECT_THAT(t.strides(), ElementsAre(3, 3, 1));
}

TEST(Value, KindsHaveNames) {
  EXPECT_EQ(kind_name(Value(int64_t{1}).kind()), "int");
  EXPECT_EQ(kind_name(Value(true).kind()), "bool");
  EXPECT_EQ(kind_name(Value().kind()), "none");
}

}  // namespace
}  // namespace pteron::runtime
