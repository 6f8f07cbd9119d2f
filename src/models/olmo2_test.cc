#include <gtest/gtest.h>

#include "models/test_model.h"

namespace pteron::models {
namespace {

TEST(Olmo2, NormsFollowTheirHalvesAndSpanAllHeads) {
  const auto d = described(R"({"architectures": ["Olmo2ForCausalLM"], "hidden_size": 32, "num_attention_heads": 4, "num_key_value_heads": 2})");
  const Block& block = d.blocks[0];
  EXPECT_FALSE(block.attention_pre || block.mlp_pre);
  EXPECT_EQ(block.attention_post.weight, "model.layers.0.post_attention_layernorm.weight");
  EXPECT_EQ(block.mlp_post.weight, "model.layers.0.post_feedforward_layernorm.weight");
  EXPECT_TRUE(block.attention.norm_whole);
  EXPECT_EQ(block.attention.query_norm.shape, std::vector<int64_t>{32});
  EXPECT_EQ(block.attention.key_norm.shape, std::vector<int64_t>{16});
}

}  // namespace
}  // namespace pteron::models
