#include "models/llama_layout.h"

#include <gtest/gtest.h>

#include "models/test_model.h"

namespace pteron::models {
namespace {

TEST(LlamaLayout, PrefixIsWhatTheCheckpointHas) {
  const std::string json = R"({"architectures": ["LlamaForCausalLM"], "num_hidden_layers": 1})";
  EXPECT_EQ(described(json).embedding, "model.embed_tokens.weight");
  const auto bare = described(json, [](const std::string& name) { return name == "embed_tokens.weight"; });
  EXPECT_EQ(bare.blocks[0].attention.query.weight, "layers.0.self_attn.q_proj.weight");
  const auto inside = described(json, [](const std::string& name) { return name == "language_model.model.embed_tokens.weight"; });
  EXPECT_EQ(inside.head.weight, "language_model.lm_head.weight");
  EXPECT_EQ(layer_prefix(inside, 2), "language_model.model.layers.2.");
}

TEST(LlamaLayout, HeadsMustDivide) {
  EXPECT_EQ(refused(R"({"architectures": ["LlamaForCausalLM"], "hidden_size": 50, "num_attention_heads": 4})"), "num_attention_heads: 4");
  EXPECT_EQ(refused(R"({"architectures": ["LlamaForCausalLM"], "num_attention_heads": 32, "num_key_value_heads": 5})"), "num_key_value_heads: 5");
}

TEST(LlamaLayout, LayerTypesWinOverTheRule) {
  const auto d = described(R"({"architectures": ["MistralForCausalLM"], "num_hidden_layers": 2, "sliding_window": 16, "layer_types": ["full_attention", "sliding_attention"]})");
  EXPECT_EQ(d.blocks[0].attention.window, 0);
  EXPECT_EQ(d.blocks[1].attention.window, 16);
  const std::string base = R"({"architectures": ["MistralForCausalLM"], "num_hidden_layers": 1, "sliding_window": 16, "layer_types": )";
  EXPECT_EQ(refused(base + R"(["chunked_attention"]})"), "layer_types: chunked_attention");
  EXPECT_EQ(refused(base + R"(["full_attention", "full_attention"]})"), "layer_types: 2");
  EXPECT_EQ(refused(R"({"architectures": ["MistralForCausalLM"], "num_hidden_layers": 1, "sliding_window": null, "layer_types": ["sliding_attention"]})"), "sliding_window: nothing");
}

TEST(LlamaLayout, FusedPartsAreConsecutiveRows) {
  Matrix a{.weight = "a.weight", .bias = "a.bias", .out = 4}, b{.weight = "b.weight", .out = 2};
  fuse("ab.weight", {{&a, "first"}, {&b, "second"}});
  EXPECT_EQ(a.stored_out, 6);
  EXPECT_EQ(a.bias, "ab.bias");
  EXPECT_EQ(b.rows, (std::vector<std::pair<int64_t, int64_t>>{{4, 6}}));
  EXPECT_EQ(b.bias, "");
}

TEST(LlamaLayout, HeadByHeadPartsInterleave) {
  Attention a;
  fuse_by_head("qkv", true, 4, 2, 3, a);
  EXPECT_EQ(a.query.rows, (std::vector<std::pair<int64_t, int64_t>>{{0, 6}, {12, 18}}));
  EXPECT_EQ(a.key.rows, (std::vector<std::pair<int64_t, int64_t>>{{6, 9}, {18, 21}}));
  EXPECT_EQ(a.value.rows, (std::vector<std::pair<int64_t, int64_t>>{{9, 12}, {21, 24}}));
  EXPECT_EQ(a.value.stored_out, 24);
  EXPECT_EQ(a.key.bias, "qkv.bias");
}

}  // namespace
}  // namespace pteron::models
