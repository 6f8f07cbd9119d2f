#include <gtest/gtest.h>

#include "models/test_model.h"

namespace pteron::models {
namespace {

TEST(StableLm, ParallelAndHeadNormsAreSwitches) {
  const auto plain = described(R"({"architectures": ["StableLmForCausalLM"]})");
  EXPECT_FALSE(plain.blocks[0].parallel);
  EXPECT_EQ(plain.ropes[0].rotary_dims, 20);
  EXPECT_EQ(plain.blocks[0].mlp_pre.bias, "model.layers.0.post_attention_layernorm.bias");
  const auto d = described(R"({"architectures": ["StableLmForCausalLM"], "use_parallel_residual": true, "qk_layernorm": true, "use_qkv_bias": true, "num_key_value_heads": 8})");
  EXPECT_TRUE(d.blocks[0].parallel);
  EXPECT_FALSE(d.blocks[0].mlp_pre);
  EXPECT_EQ(d.blocks[0].attention.key_norm.weight_rows.size(), 8u);
  EXPECT_EQ(d.blocks[2].attention.query_norm.weight_rows[31], "model.layers.2.self_attn.q_layernorm.norms.31.weight");
  EXPECT_EQ(d.blocks[0].attention.query.bias, "model.layers.0.self_attn.q_proj.bias");
  EXPECT_EQ(d.blocks[0].attention.output.bias, "");
}

}  // namespace
}  // namespace pteron::models
