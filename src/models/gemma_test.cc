#include <gtest/gtest.h>

#include <cmath>

#include "models/test_model.h"

namespace pteron::models {
namespace {

TEST(Gemma, AddsOneToNormsAndScalesTheEmbedding) {
  const auto d = described(R"({"architectures": ["GemmaForCausalLM"]})");
  EXPECT_EQ(d.blocks[0].attention_pre.offset, 1);
  EXPECT_EQ(d.final_norm.offset, 1);
  EXPECT_NEAR(d.embedding_scale, std::sqrt(3072.0), 1e-9);
  EXPECT_TRUE(d.tied);
  const auto file = described(R"({"architectures": ["GemmaForCausalLM"], "norm_weights_include_one": true})");
  EXPECT_EQ(file.final_norm.offset, 0);
}

TEST(Gemma, GeluOfTheOldFieldIsTheTanhForm) {
  const auto activation = [](const std::string& fields) { return described(R"({"architectures": ["GemmaForCausalLM"])" + fields + "}").blocks[0].mlp.activation; };
  EXPECT_EQ(activation(""), "gelu_tanh");
  EXPECT_EQ(activation(R"(, "hidden_act": "gelu", "hidden_activation": null)"), "gelu_tanh");
  EXPECT_EQ(activation(R"(, "hidden_activation": "gelu")"), "gelu");
}

TEST(Gemma, Gemma2AlternatesAndCapsScores) {
  const auto d = described(R"({"architectures": ["Gemma2ForCausalLM"], "query_pre_attn_scalar": 9, "sliding_window": 8, "final_logit_softcapping": null})");
  EXPECT_EQ(d.blocks[0].attention.window, 8);
  EXPECT_EQ(d.blocks[1].attention.window, 0);
  EXPECT_EQ(d.blocks[0].attention.softcap, 50);
  EXPECT_EQ(d.logits_softcap, 0);
  EXPECT_NEAR(d.blocks[0].attention.scale, 1 / 3.0, 1e-12);
  EXPECT_EQ(d.blocks[0].attention_post.weight, "model.layers.0.post_attention_layernorm.weight");
  EXPECT_EQ(d.blocks[0].mlp_pre.weight, "model.layers.0.pre_feedforward_layernorm.weight");
  EXPECT_EQ(d.blocks[0].mlp_post.offset, 1);
}

TEST(Gemma, Gemma3RotatesSlidingLayersWithTheirOwnBase) {
  const auto d = described(R"({"architectures": ["Gemma3ForCausalLM"], "rope_theta": 1000000.0, "rope_scaling": {"rope_type": "linear", "factor": 8.0}, "sliding_window_pattern": 3})");
  EXPECT_GT(d.blocks[1].attention.window, 0);
  EXPECT_EQ(d.blocks[2].attention.window, 0);
  ASSERT_EQ(d.ropes.size(), 2u);
  EXPECT_EQ(d.ropes[static_cast<size_t>(d.blocks[2].attention.rope)].type, RopeType::linear);
  EXPECT_EQ(d.ropes[static_cast<size_t>(d.blocks[1].attention.rope)].theta, 10000);
  EXPECT_EQ(d.ropes[static_cast<size_t>(d.blocks[1].attention.rope)].type, RopeType::plain);
  EXPECT_EQ(d.blocks[0].attention.query_norm.offset, 1);
  EXPECT_EQ(d.blocks[0].attention.softcap, 0);
}

TEST(Gemma, BidirectionalAttentionIsRefused) {
  EXPECT_EQ(refused(R"({"architectures": ["Gemma3ForCausalLM"], "use_bidirectional_attention": true})"), "use_bidirectional_attention: true");
}

}  // namespace
}  // namespace pteron::models
