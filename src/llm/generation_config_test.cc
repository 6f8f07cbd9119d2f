#include "llm/generation_config.h"

#include <gtest/gtest.h>

namespace pteron::llm {
namespace {

TEST(GenerationConfig, ReadsWhatFilesSay) {
  auto config = parse_generation_config(
      R"({"bos_token_id": 1, "eos_token_id": [2, 107], "pad_token_id": null, "do_sample": true, "temperature": 0.6, "top_p": 0.9, "transformers_version": "4.40"})");
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->eos_tokens, (std::vector<TokenId>{2, 107}));
  const SamplerParams params = config->sampler();
  EXPECT_EQ(params.temperature, 0.6);
  EXPECT_EQ(params.top_p, 0.9);
  EXPECT_EQ(params.top_k, 50) << "the reference's value where the file is silent";
}

TEST(GenerationConfig, IsGreedyUnlessItSaysOtherwise) {
  EXPECT_EQ(parse_generation_config(R"({"eos_token_id": 2})")->sampler().temperature, 0);
  EXPECT_EQ(parse_generation_config(R"({"eos_token_id": 2})")->eos_tokens, (std::vector<TokenId>{2}));
  EXPECT_EQ(parse_generation_config(R"({"do_sample": false, "temperature": 0.7})")->sampler().temperature, 0);
  EXPECT_EQ(parse_generation_config(R"({"temperature": 0.7})")->sampler().temperature, 0.7);
  EXPECT_EQ(parse_generation_config(R"({"do_sample": true})")->sampler().temperature, 1);
  EXPECT_EQ(parse_generation_config(R"({"repetition_penalty": 1.2})")->sampler().repetition_penalty, 1.2);
}

TEST(GenerationConfig, WrongTypesAreErrorsWithTheName) {
  const auto field = [](const char* json) { return parse_generation_config(json).status().detail().field; };
  EXPECT_EQ(field(R"({"temperature": "hot"})"), "temperature");
  EXPECT_EQ(field(R"({"top_k": 1.5})"), "top_k");
  EXPECT_EQ(field(R"({"eos_token_id": "two"})"), "eos_token_id");
  EXPECT_EQ(field(R"({"eos_token_id": [1, -2]})"), "eos_token_id[1]");
  EXPECT_EQ(field(R"({"eos_token_id": 99999999999})"), "eos_token_id");
  EXPECT_EQ(field(R"({"pad_token_id": -1})"), "") << "some files say so that there is none";
  EXPECT_EQ(field(R"({"do_sample": 1})"), "do_sample");
  EXPECT_FALSE(parse_generation_config("[]").ok());
}

TEST(GenerationConfig, NumbersThatNoSamplerTakesAreErrorsWithTheirRange) {
  const auto detail = [](const char* json) { return parse_generation_config(json).status().detail(); };
  EXPECT_EQ(detail(R"({"temperature": -0.5})").expected, "a number from 0");
  EXPECT_EQ(detail(R"({"temperature": -0.5})").found, "-0.5");
  EXPECT_EQ(detail(R"({"top_p": 1.01})").expected, "a number from 0 to 1");
  EXPECT_EQ(detail(R"({"min_p": -1})").field, "min_p");
  EXPECT_EQ(detail(R"({"typical_p": 0})").field, "typical_p");
  EXPECT_EQ(detail(R"({"repetition_penalty": 0})").field, "repetition_penalty");
  EXPECT_EQ(detail(R"({"top_k": -1})").field, "top_k");
  EXPECT_TRUE(parse_generation_config(R"({"temperature": 0, "top_p": 0, "min_p": 1, "typical_p": 1, "repetition_penalty": 0.1})").ok());
}

}  // namespace
}  // namespace pteron::llm
