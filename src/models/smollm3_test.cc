#include <gtest/gtest.h>

#include "models/test_model.h"

namespace pteron::models {
namespace {

TEST(SmolLM3, EveryFourthLayerDoesNotRotateByDefault) {
  const auto d = described(R"({"architectures": ["SmolLM3ForCausalLM"]})");
  EXPECT_EQ(d.blocks[2].attention.rope, 0);
  EXPECT_EQ(d.blocks[3].attention.rope, -1);
  EXPECT_EQ(d.ropes[0].theta, 2e6);
  EXPECT_TRUE(d.tied);
}

TEST(SmolLM3, TheListMarksLayersThatRotateAndOthersMaySlide) {
  const auto d = described(R"({"architectures": ["SmolLM3ForCausalLM"], "num_hidden_layers": 2, "no_rope_layers": [0, 1], "use_sliding_window": true, "sliding_window": 8})");
  EXPECT_EQ(d.blocks[0].attention.rope, -1);
  EXPECT_EQ(d.blocks[0].attention.window, 8);
  EXPECT_EQ(d.blocks[1].attention.rope, 0);
  EXPECT_EQ(d.blocks[1].attention.window, 0);
  EXPECT_EQ(refused(R"({"architectures": ["SmolLM3ForCausalLM"], "num_hidden_layers": 2, "no_rope_layers": [0]})"), "no_rope_layers: 1");
}

}  // namespace
}  // namespace pteron::models
