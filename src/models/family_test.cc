#include "models/family.h"

#include <gtest/gtest.h>

#include <set>

#include "models/test_model.h"

namespace pteron::models {
namespace {

TEST(Family, UnknownArchitectureListsTheKnownOnes) {
  const auto out = describe_text(R"({"architectures": ["MambaForCausalLM"]})");
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.status().code(), Code::unsupported);
  EXPECT_EQ(out.status().detail().found, "MambaForCausalLM");
  for (const Family& family : families()) EXPECT_NE(out.status().detail().expected.find(family.architecture), std::string::npos);
}

TEST(Family, EachDescribesItsDefaultModel) {
  std::set<std::string_view> names;
  for (const Family& family : families()) {
    EXPECT_TRUE(names.insert(family.architecture).second);
    const auto out = describe_text(R"({"architectures": [")" + std::string(family.architecture) + R"("], "rope_theta": 10000.0})");
    ASSERT_TRUE(out.ok()) << family.architecture << ": " << out.status().message();
    EXPECT_EQ(out->architecture, family.architecture);
    EXPECT_GT(out->blocks.size(), 1u) << family.architecture;
    EXPECT_FALSE(out->embedding.empty());
    EXPECT_TRUE(static_cast<bool>(out->final_norm)) << family.architecture;
    for (const Block& block : out->blocks) {
      EXPECT_EQ(block.attention.query.out, out->heads * out->head_dim) << family.architecture;
      EXPECT_EQ(block.attention.key.out, out->kv_heads * out->head_dim) << family.architecture;
      EXPECT_LT(block.attention.rope, static_cast<int32_t>(out->ropes.size())) << family.architecture;
      EXPECT_TRUE(block.attention_pre || block.attention_post) << family.architecture;
    }
  }
}

TEST(Family, FeaturesThatNobodyDoesAreRefusedByName) {
  const auto llama = [](const std::string& extra) { return refused(R"({"architectures": ["LlamaForCausalLM"], )" + extra + "}"); };
  EXPECT_EQ(llama(R"("num_experts": 8)"), "num_experts: 8");
  EXPECT_EQ(llama(R"("quantization_config": {"quant_method": "gptq"})"), "quantization_config: gptq");
  EXPECT_EQ(llama(R"("attention_chunk_size": 8192)"), "attention_chunk_size: a value");
  EXPECT_EQ(llama(R"("is_encoder_decoder": true)"), "is_encoder_decoder: true");
  EXPECT_EQ(llama(R"("hidden_act": "relu2")"), "hidden_act: relu2");
  EXPECT_EQ(llama(R"("num_experts": 1)"), "accepted");
  EXPECT_EQ(refused(R"({"architectures": ["MixtralForCausalLM"], "num_local_experts": 8})"), "num_local_experts: 8");
  EXPECT_EQ(refused(R"({"architectures": "LlamaForCausalLM"})"), "architectures: \"LlamaForCausalLM\"");
  EXPECT_EQ(refused("{}"), "architectures: nothing");
}

}  // namespace
}  // namespace pteron::models
