#include <gtest/gtest.h>

#include "models/test_model.h"

namespace pteron::models {
namespace {

TEST(Gpt2, TransposedFusedTensorsAndLearnedPositions) {
  const auto d = described(R"({"architectures": ["GPT2LMHeadModel"], "n_embd": 12, "n_head": 3, "scale_attn_by_inverse_layer_idx": true})");
  EXPECT_EQ(d.position_embedding, "transformer.wpe.weight");
  EXPECT_TRUE(d.positions_limited);
  const Attention& a = d.blocks[1].attention;
  EXPECT_TRUE(a.value.transposed);
  EXPECT_EQ(a.value.rows, (std::vector<std::pair<int64_t, int64_t>>{{24, 36}}));
  EXPECT_EQ(a.value.bias, "transformer.h.1.attn.c_attn.bias");
  EXPECT_EQ(a.rope, -1);
  EXPECT_NEAR(a.scale, 0.25, 1e-12) << "half for the second layer";
  EXPECT_FALSE(d.blocks[0].mlp.gated);
  EXPECT_EQ(d.blocks[0].mlp.up.out, 48);
  EXPECT_EQ(d.blocks[0].mlp.activation, "gelu_tanh");
  EXPECT_TRUE(d.tied);
}

TEST(Gpt2, NamesWithoutPrefixAndCrossAttention) {
  EXPECT_EQ(described(R"({"architectures": ["GPT2LMHeadModel"]})", [](const std::string& name) { return name == "wte.weight"; }).embedding, "wte.weight");
  EXPECT_EQ(refused(R"({"architectures": ["GPT2LMHeadModel"], "add_cross_attention": true})"), "add_cross_attention: true");
}

}  // namespace
}  // namespace pteron::models
