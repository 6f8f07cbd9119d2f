#include "import/gguf_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "import/test_files.h"

namespace pteron::importer {
namespace {

using nlohmann::json;
using testing::GgufWriter;
using ::testing::HasSubstr;
using testing::raw;
using testing::tiny_model;

Result<json> config_of(const GgufWriter& writer) {
  const std::string bytes = writer.bytes();
  Result<GgufFile> file = GgufFile::parse(FileBytes::borrow(as_bytes(bytes)));
  EXPECT_TRUE(file.ok()) << file.status().message();
  PTERON_ASSIGN(const GgufArchitecture* architecture, gguf_architecture(*file));
  return gguf_config(*file, *architecture);
}

GgufWriter with_embedding(const std::string& architecture) { return tiny_model(architecture).floats("token_embd.weight", {8, 20}); }

json good(const GgufWriter& writer) {
  const Result<json> config = config_of(writer);
  EXPECT_TRUE(config.ok()) << config.status().message();
  return config.ok() ? *config : json();
}

std::string refusal(const GgufWriter& writer) {
  const Result<json> config = config_of(writer);
  EXPECT_FALSE(config.ok());
  return config.status().message();
}

TEST(GgufConfig, LlamaSaysWhatTheMetadataSays) {
  GgufWriter writer = with_embedding("llama").f32("llama.attention.layer_norm_rms_epsilon", 1e-5f).f32("llama.rope.freq_base", 500000.0f);
  writer.u32("tokenizer.ggml.bos_token_id", 1).u32("tokenizer.ggml.eos_token_id", 2);
  const json expected = json::parse(
      R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu", "torch_dtype": "float32", "hidden_size": 8,
    "num_hidden_layers": 2, "intermediate_size": 16, "max_position_embeddings": 64, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 4, "rms_norm_eps": 1e-05,
    "rope_theta": 500000.0, "partial_rotary_factor": 1.0, "rope_scaling": null, "tie_word_embeddings": true, "vocab_size": 20, "attention_bias": false, "mlp_bias": false,
    "bos_token_id": 1, "eos_token_id": 2})");
  EXPECT_EQ(good(writer), expected);
}

TEST(GgufConfig, TensorsTellTyingAndBiases) {
  GgufWriter writer =
      with_embedding("llama").floats("output.weight", {8, 20}).floats("blk.0.attn_q.bias", {8}).floats("blk.0.ffn_up.bias", {16});
  const json config = good(writer);
  EXPECT_EQ(config["tie_word_embeddings"], false);
  EXPECT_EQ(config["attention_bias"], true);
  EXPECT_EQ(config["mlp_bias"], true);
}

TEST(GgufConfig, HeadsOfTheirOwnLength) {
  const json config = good(with_embedding("qwen3").u32("qwen3.attention.key_length", 16).u32("qwen3.attention.value_length", 16));
  EXPECT_EQ(config["head_dim"], 16);
  EXPECT_EQ(config["use_sliding_window"], false);
  EXPECT_THAT(refusal(with_embedding("qwen3").u32("qwen3.attention.key_length", 16).u32("qwen3.attention.value_length", 8)),
              HasSubstr("qwen3.attention.value_length"));
  EXPECT_THAT(refusal(with_embedding("qwen3").u32("qwen3.attention.value_length", 8)), HasSubstr("qwen3.attention.value_length"));
}

TEST(GgufConfig, GemmaFillsInWhatNoKeySays) {
  const json gemma = good(with_embedding("gemma"));
  EXPECT_EQ(gemma["norm_weights_include_one"], true);
  EXPECT_EQ(gemma["hidden_activation"], "gelu_pytorch_tanh");
  EXPECT_EQ(gemma["rope_theta"], 10000.0);

  const json gemma2 = good(with_embedding("gemma2").f32("gemma2.attn_logit_softcapping", 50).f32("gemma2.final_logit_softcapping", 30));
  EXPECT_EQ(gemma2["sliding_window"], 4096);
  EXPECT_EQ(gemma2["attn_logit_softcapping"], 50.0);
  EXPECT_EQ(gemma2["final_logit_softcapping"], 30.0);
  EXPECT_EQ(gemma2["query_pre_attn_scalar"], 4);

  const json gemma3 = good(with_embedding("gemma3").u32("gemma3.attention.sliding_window", 512).f32("gemma3.rope.freq_base", 1e6f));
  EXPECT_EQ(gemma3["model_type"], "gemma3_text");
  EXPECT_EQ(gemma3["sliding_window"], 512);
  EXPECT_EQ(gemma3["sliding_window_pattern"], 6);
  EXPECT_EQ(gemma3["rope_local_base_freq"], 10000.0);
  EXPECT_EQ(gemma3["rope_theta"], 1e6);
  EXPECT_THAT(refusal(with_embedding("gemma3")), HasSubstr("(gemma3.attention.sliding_window): expected an integer, found nothing"));
}

TEST(GgufConfig, TheLargestGemmasScaleByTheHiddenSize) {
  for (const auto& [name, layers] : {std::pair{"gemma2", 46u}, std::pair{"gemma3", 62u}}) {
    GgufWriter writer;
    const std::string prefix = std::string(name) + ".";
    writer.string("general.architecture", name)
        .u32(prefix + "block_count", layers)
        .u32(prefix + "embedding_length", 8)
        .u32(prefix + "feed_forward_length", 16)
        .u32(prefix + "context_length", 64);
    writer.u32(prefix + "attention.head_count", 4)
        .u32(prefix + "attention.key_length", 4)
        .u32(prefix + "attention.sliding_window", 8)
        .floats("token_embd.weight", {8, 20});
    EXPECT_EQ(good(writer)["query_pre_attn_scalar"], 2) << name;
  }
}

TEST(GgufConfig, Gemma3LayerKindsCanBeGiven) {
  EXPECT_EQ(good(with_embedding("gemma3")
                     .u32("gemma3.attention.sliding_window", 8)
                     .u32("gemma3.attention.sliding_window_pattern", 3))["sliding_window_pattern"],
            3);
  const json config = good(with_embedding("gemma3")
                               .u32("gemma3.attention.sliding_window", 8)
                               .array<uint8_t>("gemma3.attention.sliding_window_pattern", 7, {1, 0})
                               .f32("gemma3.rope.freq_base_swa", 5000));
  EXPECT_EQ(config["layer_types"], json({"sliding_attention", "full_attention"}));
  EXPECT_FALSE(config.contains("sliding_window_pattern"));
  EXPECT_EQ(config["rope_local_base_freq"], 5000.0);
}

TEST(GgufConfig, PhiWindowsOfZeroAreNone) {
  EXPECT_TRUE(good(with_embedding("phi3").u32("phi3.attention.sliding_window", 0))["sliding_window"].is_null());
  EXPECT_TRUE(good(with_embedding("phi3"))["sliding_window"].is_null());
  const json config =
      good(with_embedding("phi3").u32("phi3.attention.sliding_window", 2047).u32("phi3.rope.scaling.original_context_length", 32));
  EXPECT_EQ(config["sliding_window"], 2047);
  EXPECT_EQ(config["original_max_position_embeddings"], 32);
}

TEST(GgufConfig, GraniteAndCohereScales) {
  const json granite = good(with_embedding("granite")
                                .f32("granite.attention.scale", 0.015625f)
                                .f32("granite.embedding_scale", 12)
                                .f32("granite.residual_scale", 0.22f)
                                .f32("granite.logit_scale", 8));
  EXPECT_EQ(granite["attention_multiplier"], 0.015625);
  EXPECT_EQ(granite["embedding_multiplier"], 12.0);
  EXPECT_EQ(granite["residual_multiplier"], 0.22);
  EXPECT_EQ(granite["logits_scaling"], 8.0);
  const json cohere = good(with_embedding("command-r")
                               .f32("command-r.logit_scale", 0.0625f)
                               .f32("command-r.attention.layer_norm_epsilon", 1e-5f)
                               .string("command-r.rope.scaling.type", "none"));
  EXPECT_EQ(cohere["logit_scale"], 0.0625);
  EXPECT_EQ(cohere["layer_norm_eps"], 1e-5);
  EXPECT_EQ(cohere["use_qk_norm"], false);
}

TEST(GgufConfig, Gpt2SpeaksItsOwnNames) {
  const json config = good(with_embedding("gpt2").f32("gpt2.attention.layer_norm_epsilon", 1e-5f));
  EXPECT_EQ(config["n_embd"], 8);
  EXPECT_EQ(config["n_layer"], 2);
  EXPECT_EQ(config["n_head"], 2);
  EXPECT_EQ(config["n_inner"], 16);
  EXPECT_EQ(config["n_positions"], 64);
  EXPECT_EQ(config["activation_function"], "gelu_new");
  EXPECT_EQ(config["layer_norm_epsilon"], 1e-5);
}

TEST(GgufConfig, NeoXStableLmAndFalcon) {
  const json neox = good(with_embedding("gptneox")
                             .u32("gptneox.rope.dimension_count", 2)
                             .boolean("gptneox.use_parallel_residual", false)
                             .f32("gptneox.attention.layer_norm_epsilon", 1e-5f));
  EXPECT_EQ(neox["rotary_pct"], 0.5);
  EXPECT_EQ(neox["use_parallel_residual"], false);
  EXPECT_EQ(neox["attention_bias"], false);

  GgufWriter sequential = with_embedding("stablelm");
  sequential.u32("stablelm.rope.dimension_count", 2).floats("blk.0.ffn_norm.weight", {8}).floats("blk.0.attn_q.bias", {8});
  const json stablelm = good(sequential);
  EXPECT_EQ(stablelm["use_parallel_residual"], false);
  EXPECT_EQ(stablelm["use_qkv_bias"], true);
  EXPECT_EQ(stablelm["partial_rotary_factor"], 0.5);
  EXPECT_EQ(good(with_embedding("stablelm"))["use_parallel_residual"], true);

  const json falcon = good(with_embedding("falcon"));
  EXPECT_EQ(falcon["multi_query"], true);
  EXPECT_EQ(falcon["new_decoder_architecture"], false);
  EXPECT_EQ(falcon["num_ln_in_parallel_attn"], 1);
  EXPECT_EQ(good(with_embedding("falcon").floats("blk.0.attn_norm_2.weight", {8}))["new_decoder_architecture"], true);
}

TEST(GgufConfig, NumbersThatMakeNoSenseAreRefused) {
  EXPECT_THAT(refusal(GgufWriter().string("general.architecture", "llama")), HasSubstr("(llama.attention.head_count)"));
  EXPECT_THAT(refusal(tiny_model("llama")), HasSubstr("(token_embd.weight)"));
  EXPECT_THAT(refusal(tiny_model("llama").floats("token_embd.weight", {160})), HasSubstr("another rank"));
  EXPECT_THAT(refusal(with_embedding("llama").u32("llama.expert_count", 8)), HasSubstr("mixtures of experts"));
  EXPECT_THAT(refusal(with_embedding("llama").f32("llama.attention.layer_norm_rms_epsilon", std::numeric_limits<float>::quiet_NaN())),
              HasSubstr("a finite number"));
  EXPECT_THAT(refusal(with_embedding("olmo2").u32("olmo2.attention.sliding_window", 8)), HasSubstr("Olmo 3"));

  const auto heads = [](const std::string& key, const std::string& payload, uint32_t type) {
    GgufWriter writer;
    writer.string("general.architecture", "llama")
        .u32("llama.embedding_length", 8)
        .u32("llama.block_count", 2)
        .u32("llama.feed_forward_length", 16)
        .u32("llama.context_length", 64);
    writer.raw_value("llama.attention.head_count", 4, raw(uint32_t{4})).raw_value(key, type, payload).floats("token_embd.weight", {8, 20});
    return writer;
  };
  EXPECT_THAT(refusal(heads("llama.attention.head_count_kv", raw(uint32_t{3}), 4)), HasSubstr("a divisor of 4, found 3"));
  EXPECT_THAT(refusal(heads("llama.attention.head_count_kv", raw(uint32_t{0}), 4)), HasSubstr("expected 1 to 2^31, found 0"));
  EXPECT_THAT(refusal(heads("llama.attention.head_count_kv", raw(int32_t{-4}), 5)), HasSubstr("expected 1 to 2^31, found -4"));
  EXPECT_THAT(refusal(heads("llama.attention.key_length", raw(uint32_t{1} << 25), 4)), HasSubstr("impossible attention heads"));
  EXPECT_THAT(refusal(heads("llama.attention.head_count_kv", raw(uint32_t{5}) + raw(uint64_t{2}) + raw(int32_t{4}) + raw(int32_t{2}), 9)),
              HasSubstr("layers that differ"));
  EXPECT_EQ(good(heads("llama.attention.head_count_kv", raw(uint32_t{5}) + raw(uint64_t{2}) + raw(int32_t{2}) + raw(int32_t{2}),
                       9))["num_key_value_heads"],
            2);
}

TEST(GgufConfig, GenerationDefaultsComeFromTheVocabulary) {
  GgufWriter writer;
  writer.u32("tokenizer.ggml.bos_token_id", 1)
      .u32("tokenizer.ggml.eos_token_id", 2)
      .u32("tokenizer.ggml.eot_token_id", 7)
      .u32("tokenizer.ggml.padding_token_id", 0);
  writer.f32("general.sampling.temp", 0.7f).raw_value("general.sampling.top_k", 5, raw(40));
  const std::string bytes = writer.bytes();
  const GgufFile file = GgufFile::parse(FileBytes::borrow(as_bytes(bytes))).value();
  EXPECT_EQ(gguf_generation_config(file).value(),
            json::parse(R"({"bos_token_id": 1, "eos_token_id": [2, 7], "pad_token_id": 0, "temperature": 0.7, "top_k": 40})"));
}

}  // namespace
}  // namespace pteron::importer
