#include <gtest/gtest.h>

#include "models/test_model.h"

namespace pteron::models {
namespace {

TEST(Qwen, Qwen2HasBiasesOnQueryKeyAndValueOnly) {
  const auto d = described(R"({"architectures": ["Qwen2ForCausalLM"]})");
  EXPECT_EQ(d.blocks[0].attention.value.bias, "model.layers.0.self_attn.v_proj.bias");
  EXPECT_EQ(d.blocks[0].attention.output.bias, "");
}

TEST(Qwen, WindowsNeedTheSwitchAndStartAtALayer) {
  const auto off = described(R"({"architectures": ["Qwen2ForCausalLM"], "sliding_window": 8, "max_window_layers": 1})");
  EXPECT_EQ(off.blocks[3].attention.window, 0);
  const auto on = described(R"({"architectures": ["Qwen2ForCausalLM"], "sliding_window": 8, "max_window_layers": 1, "use_sliding_window": true})");
  EXPECT_EQ(on.blocks[0].attention.window, 0);
  EXPECT_EQ(on.blocks[1].attention.window, 8);
  EXPECT_EQ(described(R"({"architectures": ["Qwen3ForCausalLM"], "max_window_layers": 0, "use_sliding_window": true})").blocks[0].attention.window, 4096);
}

TEST(Qwen, Qwen3NormalisesHeadsOfTheirOwnSize) {
  const auto d = described(R"({"architectures": ["Qwen3ForCausalLM"]})");
  EXPECT_EQ(d.head_dim, 128);
  EXPECT_EQ(d.blocks[1].attention.query_norm.weight, "model.layers.1.self_attn.q_norm.weight");
  EXPECT_EQ(d.blocks[1].attention.key_norm.shape, std::vector<int64_t>{128});
  EXPECT_FALSE(d.blocks[1].attention.norm_whole);
}

}  // namespace
}  // namespace pteron::models
