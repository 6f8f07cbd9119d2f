#include <gtest/gtest.h>

#include "models/test_model.h"

namespace pteron::models {
namespace {

TEST(Mistral, OnlyAnExplicitNullMeansFullAttention) {
  EXPECT_EQ(described(R"({"architectures": ["MistralForCausalLM"]})").blocks[5].attention.window, 4096);
  EXPECT_EQ(described(R"({"architectures": ["MistralForCausalLM"], "sliding_window": 8})").blocks[5].attention.window, 8);
  const auto full = described(R"({"architectures": ["MistralForCausalLM"], "sliding_window": null, "head_dim": 24})");
  EXPECT_EQ(full.blocks[5].attention.window, 0);
  EXPECT_EQ(full.head_dim, 24);
  EXPECT_EQ(full.kv_heads, 8);
}

}  // namespace
}  // namespace pteron::models
