#include "import/gguf_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/constant_recipes.h"
#include "import/test_files.h"

namespace pteron::importer {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::GgufWriter;
using ::testing::HasSubstr;
using testing::streamed_floats;
using testing::tiny_model;

// The recipes keep the bytes of the file alive only where it is mapped; here the test does.
struct Weights {
  explicit Weights(const GgufWriter& writer) : bytes(writer.bytes()), result(open()) {}
  Result<std::shared_ptr<const WeightSource>> open() const {
    const GgufFile file = GgufFile::parse(FileBytes::borrow(as_bytes(bytes))).value();
    PTERON_ASSIGN(const GgufArchitecture* architecture, gguf_architecture(file));
    return gguf_weights(file, *architecture);
  }
  std::vector<float> values(const std::string& name) const {
    EXPECT_TRUE(result.ok()) << result.status().message();
    const ConstantPtr source = (*result)->find(name);
    EXPECT_NE(source, nullptr) << name;
    return source == nullptr ? std::vector<float>() : streamed_floats(*source);
  }
  std::string refusal() const {
    EXPECT_FALSE(result.ok());
    return result.status().message();
  }
  std::string bytes;
  Result<std::shared_ptr<const WeightSource>> result;
};

TEST(GgufWeights, NamesAreThoseOfHuggingFace) {
  GgufWriter writer = tiny_model("llama");
  for (const char* name : {"token_embd.weight", "output_norm.weight", "output.weight", "blk.0.attn_norm.weight", "blk.0.attn_v.weight",
                           "blk.0.attn_v.bias", "blk.1.attn_output.weight", "blk.11.ffn_gate.weight", "blk.1.ffn_up.weight",
                           "blk.1.ffn_down.weight", "blk.1.ffn_norm.weight", "rope_freqs.weight", "blk.0.attn_rot_embd.weight"}) {
    writer.floats(name, {2});
  }
  const Weights weights(writer);
  ASSERT_TRUE(weights.result.ok()) << weights.result.status().message();
  EXPECT_THAT(
      (*weights.result)->names(),
      ElementsAre("lm_head.weight", "model.embed_tokens.weight", "model.layers.0.input_layernorm.weight",
                  "model.layers.0.self_attn.v_proj.bias", "model.layers.0.self_attn.v_proj.weight", "model.layers.1.mlp.down_proj.weight",
                  "model.layers.1.mlp.up_proj.weight", "model.layers.1.post_attention_layernorm.weight",
                  "model.layers.1.self_attn.o_proj.weight", "model.layers.11.mlp.gate_proj.weight", "model.norm.weight"));
}

TEST(GgufWeights, PairwiseRowsAreHalvesAgain) {
  // Two query heads and one key head of 4 rows; a row's value is its number.
  const Weights weights(tiny_model("llama")
                            .floats("blk.0.attn_q.weight", {1, 8})
                            .floats("blk.0.attn_k.weight", {1, 4})
                            .floats("blk.0.attn_q.bias", {8})
                            .floats("blk.0.attn_v.weight", {1, 4}));
  EXPECT_THAT(weights.values("model.layers.0.self_attn.q_proj.weight"), ElementsAre(0, 2, 1, 3, 4, 6, 5, 7));
  EXPECT_THAT(weights.values("model.layers.0.self_attn.q_proj.bias"), ElementsAre(0, 2, 1, 3, 4, 6, 5, 7));
  EXPECT_THAT(weights.values("model.layers.0.self_attn.k_proj.weight"), ElementsAre(0, 2, 1, 3));
  EXPECT_THAT(weights.values("model.layers.0.self_attn.v_proj.weight"), ElementsAre(0, 1, 2, 3));
}

TEST(GgufWeights, OnlyLlamaKinsArePairwise) {
  for (const char* name : {"granite", "smollm3"})
    EXPECT_THAT(Weights(tiny_model(name).floats("blk.0.attn_k.weight", {1, 4})).values("model.layers.0.self_attn.k_proj.weight"),
                ElementsAre(0, 2, 1, 3));
  for (const char* name : {"gemma", "gemma3", "qwen2", "qwen3", "olmo2", "stablelm", "command-r"}) {
    EXPECT_THAT(Weights(tiny_model(name).floats("blk.0.attn_k.weight", {1, 4})).values("model.layers.0.self_attn.k_proj.weight"),
                ElementsAre(0, 1, 2, 3))
        << name;
  }
}

TEST(GgufWeights, PermutedRowsKeepTheirBlocks) {
  std::string blocks;
  for (char row = 0; row < 4; ++row) blocks += std::string("\x00\x3c", 2) + std::string(32, static_cast<char>(row + 1));
  const Weights weights(tiny_model("llama").tensor("blk.0.attn_k.weight", {32, 4}, 8, blocks));
  ASSERT_TRUE(weights.result.ok());
  const ConstantPtr key = (*weights.result)->find("model.layers.0.self_attn.k_proj.weight");
  EXPECT_EQ(key->encoding(), BlockEncoding::q8_0);
  for (const auto& [row, stored] : {std::pair{0, 0}, std::pair{1, 2}, std::pair{2, 1}, std::pair{3, 3}}) {
    EXPECT_EQ(as_text(key->block_row(row)), std::string_view(blocks).substr(static_cast<size_t>(stored) * 34, 34));
  }
  EXPECT_EQ(streamed_floats(*key)[32], 3.0f);
}

TEST(GgufWeights, GemmaNormsGoToTheirPlaces) {
  GgufWriter writer = tiny_model("gemma3")
                          .floats("blk.0.ffn_norm.weight", {1}, 1)
                          .floats("blk.0.post_attention_norm.weight", {1}, 2)
                          .floats("blk.0.post_ffw_norm.weight", {1}, 3);
  writer.floats("blk.0.attn_q_norm.weight", {1}, 4).floats("blk.0.attn_norm.weight", {1}, 5);
  const Weights weights(writer);
  EXPECT_THAT(weights.values("model.layers.0.pre_feedforward_layernorm.weight"), ElementsAre(1));
  EXPECT_THAT(weights.values("model.layers.0.post_attention_layernorm.weight"), ElementsAre(2));
  EXPECT_THAT(weights.values("model.layers.0.post_feedforward_layernorm.weight"), ElementsAre(3));
  EXPECT_THAT(weights.values("model.layers.0.self_attn.q_norm.weight"), ElementsAre(4));
  EXPECT_THAT(weights.values("model.layers.0.input_layernorm.weight"), ElementsAre(5));
}

TEST(GgufWeights, Phi3StaysFused) {
  const Weights weights(tiny_model("phi3").floats("blk.0.attn_qkv.weight", {1, 16}).floats("blk.0.ffn_up.weight", {1, 32}));
  ASSERT_TRUE(weights.result.ok());
  EXPECT_THAT((*weights.result)->names(),
              ElementsAre("model.layers.0.mlp.gate_up_proj.weight", "model.layers.0.self_attn.qkv_proj.weight"));
}

TEST(GgufWeights, Gpt2IsTransposed) {
  const Weights weights(
      tiny_model("gpt2").floats("blk.0.ffn_up.weight", {3, 2}).floats("blk.0.ffn_up.bias", {2}).floats("position_embd.weight", {3, 2}));
  EXPECT_THAT(weights.values("transformer.h.0.mlp.c_fc.weight"), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(weights.values("transformer.h.0.mlp.c_fc.bias"), ElementsAre(0, 1));
  EXPECT_THAT(weights.values("transformer.wpe.weight"), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(GgufWeights, NeoXAndFalconAreGroupedAgain) {
  const auto heads = [](const std::string& name, uint32_t keys) {
    GgufWriter writer;
    writer.string("general.architecture", name)
        .u32(name + ".embedding_length", 8)
        .u32(name + ".attention.head_count", 4)
        .u32(name + ".attention.head_count_kv", keys);
    return writer;
  };
  // Heads of 2 rows: [q0 q1 q2 q3 | k0 k1 | v0 v1] -> [q0 q1 k0 v0 | q2 q3 k1 v1].
  const Weights falcon(heads("falcon", 2).floats("blk.0.attn_qkv.weight", {1, 16}));
  EXPECT_THAT(falcon.values("transformer.h.0.self_attention.query_key_value.weight"),
              ElementsAre(0, 1, 2, 3, 8, 9, 12, 13, 4, 5, 6, 7, 10, 11, 14, 15));
  const Weights neox(heads("gptneox", 4).floats("blk.0.attn_qkv.bias", {24}));
  EXPECT_THAT(neox.values("gpt_neox.layers.0.attention.query_key_value.bias"),
              ElementsAre(0, 1, 8, 9, 16, 17, 2, 3, 10, 11, 18, 19, 4, 5, 12, 13, 20, 21, 6, 7, 14, 15, 22, 23));
  const FusedParts parts =
      split_fused_qkv((*falcon.result)->find("transformer.h.0.self_attention.query_key_value.weight"), FusedLayout::per_head, 4, 2, 2)
          .value();
  EXPECT_THAT(streamed_floats(*parts.key), ElementsAre(8, 9, 10, 11));
}

TEST(GgufWeights, StableLmHeadNormsComeApart) {
  const Weights weights(tiny_model("stablelm").floats("blk.1.attn_q_norm.weight", {4, 2}).floats("blk.1.attn_k_norm.weight", {4, 1}));
  EXPECT_THAT(weights.values("model.layers.1.self_attn.q_layernorm.norms.1.weight"), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(weights.values("model.layers.1.self_attn.k_layernorm.norms.0.weight"), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(Weights(tiny_model("stablelm").floats("blk.1.attn_q_norm.weight", {8})).refusal(), HasSubstr("attn_q_norm"));
}

TEST(GgufWeights, RowsMustFitTheHeads) {
  EXPECT_THAT(Weights(tiny_model("llama").floats("blk.0.attn_q.weight", {1, 6})).refusal(),
              HasSubstr("(blk.0.attn_q.weight): expected 8 rows, found shape [6, 1]"));
  EXPECT_THAT(Weights(tiny_model("gptneox").floats("blk.0.attn_qkv.weight", {1, 6})).refusal(), HasSubstr("expected 16 rows"));
}

TEST(GgufWeights, UnknownTensorsAreRefused) {
  for (const char* name :
       {"blk.0.attn_sinks.weight", "blk.0.attn_q.scale", "blk.x.attn_q.weight", "blk.0", "", "blk.0.ffn_gate_exps.weight", "token_embd"}) {
    EXPECT_THAT(Weights(tiny_model("llama").floats(name, {2})).refusal(),
                AllOf(HasSubstr("the architecture does not have"), HasSubstr("the tensors of llama")))
        << name;
  }
}

}  // namespace
}  // namespace pteron::importer
