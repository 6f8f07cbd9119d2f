#include <gtest/gtest.h>

#include "models/test_model.h"

namespace pteron::models {
namespace {

TEST(Granite, MultipliersComeFromTheConfiguration) {
  const auto d = described(R"({"architectures": ["GraniteForCausalLM"], "attention_multiplier": 0.15, "residual_multiplier": 0.5, "embedding_multiplier": 5.0, "logits_scaling": 0.25})");
  EXPECT_EQ(d.blocks[0].attention.scale, 0.15);
  EXPECT_EQ(d.blocks[0].residual_multiplier, 0.5);
  EXPECT_EQ(d.embedding_scale, 5);
  EXPECT_EQ(d.logits_scale, 4);
  EXPECT_EQ(described(R"({"architectures": ["GraniteForCausalLM"]})").blocks[0].attention.scale, 1);
  EXPECT_EQ(refused(R"({"architectures": ["GraniteForCausalLM"], "logits_scaling": 0})"), "logits_scaling: 0");
}

}  // namespace
}  // namespace pteron::models
