#include <gtest/gtest.h>

#include "models/test_model.h"

namespace pteron::models {
namespace {

TEST(Phi3, FusedTensorsAreTakenApart) {
  const auto d = described(R"({"architectures": ["Phi3ForCausalLM"], "hidden_size": 32, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 48})");
  const Attention& a = d.blocks[0].attention;
  EXPECT_EQ(a.key.weight, "model.layers.0.self_attn.qkv_proj.weight");
  EXPECT_EQ(a.key.rows, (std::vector<std::pair<int64_t, int64_t>>{{32, 48}}));
  EXPECT_EQ(a.key.stored_out, 64);
  EXPECT_EQ(d.blocks[0].mlp.up.rows, (std::vector<std::pair<int64_t, int64_t>>{{48, 96}}));
  EXPECT_EQ(a.window, 0);
}

TEST(Phi3, OriginalPositionsOfTheTopLevelWin) {
  const auto d = described(R"({"architectures": ["Phi3ForCausalLM"], "hidden_size": 16, "num_attention_heads": 4, "num_key_value_heads": 4, "max_position_embeddings": 512,
    "original_max_position_embeddings": 64, "rope_scaling": {"type": "longrope", "original_max_position_embeddings": 99, "short_factor": [1, 1], "long_factor": [2, 2]}})");
  EXPECT_EQ(d.ropes[0].type, RopeType::longrope);
  EXPECT_EQ(d.ropes[0].original_positions, 64);
}

}  // namespace
}  // namespace pteron::models
