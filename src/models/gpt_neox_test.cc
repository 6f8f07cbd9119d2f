#include <gtest/gtest.h>

#include "models/test_model.h"

namespace pteron::models {
namespace {

TEST(GptNeox, HeadByHeadTensorsAndAParallelBlockOfTwoNorms) {
  const auto d = described(R"({"architectures": ["GPTNeoXForCausalLM"], "hidden_size": 48, "num_attention_heads": 3, "rotary_pct": 0.25})");
  EXPECT_EQ(d.ropes[0].rotary_dims, 4);
  const Block& block = d.blocks[1];
  EXPECT_TRUE(block.parallel);
  EXPECT_EQ(block.mlp_pre.weight, "gpt_neox.layers.1.post_attention_layernorm.weight");
  EXPECT_EQ(block.attention.key.rows[1], (std::pair<int64_t, int64_t>{64, 80}));
  EXPECT_EQ(block.attention.output.bias, "gpt_neox.layers.1.attention.dense.bias");
  EXPECT_EQ(d.head.weight, "embed_out.weight");
  EXPECT_EQ(block.mlp.activation, "gelu");
  const auto other = described(R"({"architectures": ["GPTNeoXForCausalLM"], "use_parallel_residual": false, "attention_bias": false})");
  EXPECT_FALSE(other.blocks[0].parallel);
  EXPECT_EQ(other.blocks[0].attention.query.bias, "");
  EXPECT_EQ(other.blocks[0].mlp.up.bias, "gpt_neox.layers.0.mlp.dense_h_to_4h.bias");
}

}  // namespace
}  // namespace pteron::models
