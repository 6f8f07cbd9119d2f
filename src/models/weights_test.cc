#include "models/weights.h"

#include <gtest/gtest.h>

#include "models/test_model.h"

namespace pteron::models {
namespace {

std::vector<float> values(const ConstantPtr& source) {
  std::vector<float> out(source->nbytes() / element_size(source->dtype()));
  EXPECT_TRUE(source->read_rows_f32(0, source->shape()[0], out.data()).ok());
  return out;
}

TEST(Weights, MissingWrongShapeAndWrongTypeNameTheTensor) {
  TestWeights source;
  source.add("w", {2, 3});
  const int64_t numbers[2] = {1, 2};
  source.add("ids", *constant_from_bytes(ScalarType::Long, {2}, std::as_bytes(std::span(numbers)), nullptr));
  Weights weights(source);
  const auto missing = weights.take("v", {2}, ScalarType::Float).status();
  EXPECT_EQ(missing.message(), "the checkpoint lacks a tensor (model.safetensors: v): expected shape [2], found nothing");
  const auto shape = weights.take("w", {3, 2}, ScalarType::Float).status();
  EXPECT_EQ(shape.detail().expected, "[3, 2]");
  EXPECT_EQ(shape.detail().found, "[2, 3]");
  EXPECT_EQ(weights.take("ids", {2}, ScalarType::Float).status().detail().found, "int64");
}

TEST(Weights, TheSameTensorIsTheSameSource) {
  TestWeights source;
  source.add("w", {2, 3});
  Weights weights(source);
  EXPECT_EQ(*weights.take("w", {2, 3}, ScalarType::Half), *weights.take("w", {2, 3}, ScalarType::Half));
  EXPECT_EQ((*weights.take("w", {2, 3}, ScalarType::Half))->dtype(), ScalarType::Half);
}

TEST(Weights, PartsOfFusedAndTransposedTensors) {
  TestWeights source;
  source.add("fused", *constant_from_values({2, 6}, {0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15}));
  source.add("bias", *constant_from_values({6}, {0, 1, 2, 3, 4, 5}));
  Weights weights(source);
  Matrix m{.weight = "fused", .bias = "bias", .out = 2, .in = 2, .part = "key", .stored_out = 6, .rows = {{1, 2}, {4, 5}}, .transposed = true};
  EXPECT_EQ(values(*weights.take_weight(m, ScalarType::Float)), (std::vector<float>{1, 11, 4, 14}));
  EXPECT_EQ(values(*weights.take_bias(m, ScalarType::Float)), (std::vector<float>{1, 4}));
  EXPECT_EQ(part_name(m, m.weight), "fused/key");
  m.stored_out = 7;
  m.part = "other";
  EXPECT_FALSE(weights.take_weight(m, ScalarType::Float).ok());
}

TEST(Weights, NormsStoredByHeadAreStacked) {
  TestWeights source;
  source.add("n.0", *constant_from_values({2}, {1, 2}));
  source.add("n.1", *constant_from_values({2}, {3, 4}));
  Weights weights(source);
  const ConstantPtr stacked = *weights.take_norm({.weight_rows = {"n.0", "n.1"}, .shape = {2, 2}}, ScalarType::Float);
  EXPECT_EQ(stacked->shape(), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(values(stacked), (std::vector<float>{1, 2, 3, 4}));
}

TEST(Weights, UnusedLeavesOutWhatIsKnownToMeanNothing) {
  TestWeights source;
  source.add("a", {1});
  source.add("b", {1});
  source.add("layer.rotary_emb.inv_freq", {1});
  Weights weights(source);
  ASSERT_TRUE(weights.take("a", {1}, ScalarType::Float).ok());
  EXPECT_EQ(weights.unused({"rotary_emb.inv_freq"}), std::vector<std::string>{"b"});
}

}  // namespace
}  // namespace pteron::models
