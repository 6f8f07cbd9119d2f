#include <gtest/gtest.h>

#include "models/test_model.h"

namespace pteron::models {
namespace {

TEST(Cohere, ParallelBlockOfOneNormWithoutBias) {
  const auto d = described(R"({"architectures": ["CohereForCausalLM"], "rope_theta": 10000.0, "use_qk_norm": true, "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2})");
  EXPECT_TRUE(d.blocks[0].parallel);
  EXPECT_FALSE(d.blocks[0].mlp_pre);
  EXPECT_EQ(d.blocks[0].attention_pre.kind, Norm::Kind::layer);
  EXPECT_EQ(d.blocks[0].attention_pre.bias, "");
  EXPECT_TRUE(d.ropes[0].interleaved);
  EXPECT_EQ(d.blocks[0].attention.key_norm.shape, (std::vector<int64_t>{2, 16}));
  EXPECT_EQ(d.logits_scale, 0.0625);
}

TEST(Cohere, AMissingBaseIsRefusedBecauseVersionsDisagree) { EXPECT_EQ(refused(R"({"architectures": ["CohereForCausalLM"]})"), "rope_theta: nothing"); }

}  // namespace
}  // namespace pteron::models
