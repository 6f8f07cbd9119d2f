#include <gtest/gtest.h>

#include <cmath>

#include "models/test_model.h"

namespace pteron::models {
namespace {

TEST(Llama, BiasesAreWhereTheSwitchesSay) {
  const auto plain = described(R"({"architectures": ["LlamaForCausalLM"]})");
  EXPECT_EQ(plain.blocks.size(), 32u);
  EXPECT_EQ(plain.kv_heads, 32);
  EXPECT_EQ(plain.blocks[0].attention.query.bias, "");
  EXPECT_FALSE(plain.tied);
  EXPECT_NEAR(plain.blocks[0].attention.scale, 1 / std::sqrt(128.0), 1e-12);
  const auto biased = described(R"({"architectures": ["LlamaForCausalLM"], "attention_bias": true, "mlp_bias": true})");
  EXPECT_EQ(biased.blocks[3].attention.output.bias, "model.layers.3.self_attn.o_proj.bias");
  EXPECT_EQ(biased.blocks[3].mlp.down.bias, "model.layers.3.mlp.down_proj.bias");
}

}  // namespace
}  // namespace pteron::models
