#include <gtest/gtest.h>

#include "models/test_model.h"

namespace pteron::models {
namespace {

constexpr const char* kHead = R"({"architectures": ["FalconForCausalLM"], "hidden_size": 64, "num_attention_heads": 8)";

TEST(Falcon, MultiQueryKeepsOneKeyHeadBehindAllQueries) {
  const auto d = described(std::string(kHead) + "}");
  EXPECT_EQ(d.kv_heads, 1);
  EXPECT_EQ(d.blocks[0].attention.key.rows, (std::vector<std::pair<int64_t, int64_t>>{{64, 72}}));
  EXPECT_TRUE(d.blocks[0].parallel);
  EXPECT_FALSE(d.blocks[0].mlp_pre) << "both halves read one norm";
  EXPECT_EQ(d.blocks[0].attention_pre.weight, "transformer.h.0.input_layernorm.weight");
  EXPECT_TRUE(d.tied);
}

TEST(Falcon, NewDecoderGroupsHeadsAndHasTwoNorms) {
  const auto d = described(std::string(kHead) + R"(, "new_decoder_architecture": true, "num_kv_heads": 2, "bias": true})");
  EXPECT_EQ(d.kv_heads, 2);
  EXPECT_EQ(d.blocks[0].attention.key.rows, (std::vector<std::pair<int64_t, int64_t>>{{32, 40}, {80, 88}}));
  EXPECT_EQ(d.blocks[0].mlp_pre.weight, "transformer.h.0.ln_mlp.weight");
  EXPECT_EQ(d.blocks[0].attention.key.bias, "transformer.h.0.self_attention.query_key_value.bias");
  const auto one = described(std::string(kHead) + R"(, "new_decoder_architecture": true, "num_kv_heads": 2, "num_ln_in_parallel_attn": 1})");
  EXPECT_EQ(one.blocks[0].attention_pre.weight, "transformer.h.0.input_layernorm.weight");
  EXPECT_FALSE(one.blocks[0].mlp_pre);
}

TEST(Falcon, AlibiReplacesRopeAndSequentialBlocksHaveTwoNorms) {
  const auto d = described(std::string(kHead) + R"(, "alibi": true, "parallel_attn": false, "multi_query": false})");
  EXPECT_TRUE(d.alibi);
  EXPECT_TRUE(d.ropes.empty());
  EXPECT_EQ(d.blocks[0].attention.rope, -1);
  EXPECT_EQ(d.kv_heads, 8);
  EXPECT_FALSE(d.blocks[0].parallel);
  EXPECT_EQ(d.blocks[0].mlp_pre.weight, "transformer.h.0.post_attention_layernorm.weight");
}

}  // namespace
}  // namespace pteron::models
