#include "llm/sampler.h"

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <random>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace pteron::llm {
namespace {

double number(const nlohmann::json& value) {
  if (!value.is_string()) return value.get<double>();
  const std::string text = value.get<std::string>();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  return text == "inf" ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
}

SamplerParams params_of(const nlohmann::json& json) {
  SamplerParams params;
  const auto read = [&](const char* name, double& out) {
    if (json.contains(name)) out = number(json[name]);
  };
  read("temperature", params.temperature);
  read("top_p", params.top_p);
  read("min_p", params.min_p);
  read("typical_p", params.typical_p);
  read("repetition_penalty", params.repetition_penalty);
  read("frequency_penalty", params.frequency_penalty);
  read("presence_penalty", params.presence_penalty);
  if (json.contains("top_k")) params.top_k = json["top_k"];
  if (json.contains("logit_bias")) {
    for (const auto& [id, bias] : json["logit_bias"].items()) params.logit_bias.emplace_back(std::stoi(id), number(bias));
  }
  return params;
}

TEST(Sampler, EqualsTheReferenceOnEveryCase) {
  std::ifstream file(PTERON_TEST_DATA "/llm/samplers/cases.json");
  const auto cases = nlohmann::json::parse(file);
  ASSERT_EQ(cases.size(), 310u);
  for (const auto& entry : cases) {
    SCOPED_TRACE(entry["name"].get<std::string>());
    std::vector<float> logits;
    for (const auto& logit : entry["logits"]) logits.push_back(static_cast<float>(number(logit)));
    const auto prompt = entry.value("prompt", std::vector<TokenId>()), generated = entry.value("generated", std::vector<TokenId>());
    const SampleContext context{prompt, generated, {}};
    auto sampler = Sampler::create(params_of(entry["params"]), logits.size());
    const auto& expected = entry["expect"];
    if (expected.contains("error") && expected["error"] == "invalid_parameter") {
      ASSERT_FALSE(sampler.ok());
      EXPECT_EQ(sampler.code(), Code::invalid_argument);
      EXPECT_EQ(sampler.status().detail().field, entry["params"].begin().key());
      continue;
    }
    ASSERT_TRUE(sampler.ok()) << sampler.status().message();
    auto probabilities = sampler->probabilities(logits, context);
    if (expected.contains("error")) {
      EXPECT_EQ(probabilities.code(), Code::invalid_data);
      EXPECT_EQ(sampler->greedy(logits, context).code(), Code::invalid_data);
      EXPECT_EQ(sampler->sample(logits, context).code(), Code::invalid_data);
      continue;
    }
    ASSERT_TRUE(probabilities.ok()) << probabilities.status().message();
    std::vector<double> dense(logits.size());
    for (const auto& pair : expected["probs"]) dense[pair[0]] = pair[1];
    for (size_t i = 0; i < dense.size(); ++i) ASSERT_NEAR((*probabilities)[i], dense[i], 1e-12) << "id " << i;
    for (size_t i = 0; i < dense.size(); ++i) ASSERT_EQ((*probabilities)[i] > 1e-322, dense[i] > 1e-322) << "id " << i;
    EXPECT_EQ(*sampler->greedy(logits, context), expected["greedy"].get<TokenId>());
  }
}

std::vector<float> random_logits(size_t size, uint32_t seed, float spread = 4) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, spread);
  std::vector<float> logits(size);
  for (float& logit : logits) logit = normal(random);
  return logits;
}

TEST(Sampler, DrawsFollowTheDistributionAndTheSeed) {
  const auto logits = random_logits(20, 3, 1);
  SamplerParams params;
  params.top_p = 0.9;
  params.seed = 7;
  auto a = Sampler::create(params, 20), b = Sampler::create(params, 20);
  ASSERT_TRUE(a.ok());
  const auto probabilities = *a->probabilities(logits);
  std::vector<double> counts(20);
  constexpr int kDraws = 40000;
  for (int i = 0; i < kDraws; ++i) {
    const TokenId token = *a->sample(logits);
    ASSERT_EQ(*b->sample(logits), token);
    counts[static_cast<size_t>(token)] += 1;
  }
  for (size_t i = 0; i < 20; ++i) {
    EXPECT_NEAR(counts[i] / kDraws, probabilities[i], 0.01);
    if (probabilities[i] == 0) {
      EXPECT_EQ(counts[i], 0);
    }
  }
  a->reseed(8);
  b->reseed(9);
  bool differ = false;
  for (int i = 0; i < 50; ++i) differ = differ || *a->sample(logits) != *b->sample(logits);
  EXPECT_TRUE(differ);
}

TEST(Sampler, RandomNumbersAreTheSpecifiedOnes) {
  // The published first values of SplitMix64 for seed 1234567.
  Random random(1234567);
  EXPECT_EQ(random.next(), 6457827717110365317u);
  EXPECT_EQ(random.next(), 3203168211198807973u);
  EXPECT_EQ(random.next(), 9817491932198370423u);
  for (int i = 0; i < 1000; ++i) {
    const double u = random.uniform();
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
  }
}

TEST(Sampler, BannedIdsAreNeverChosen) {
  const std::vector<float> logits = {5, 4, 3};
  const std::vector<TokenId> banned = {0, 99, -1};
  SamplerParams params;
  params.temperature = 0;
  auto sampler = Sampler::create(params, 3);
  EXPECT_EQ(*sampler->sample(logits, {{}, {}, banned}), 1);
  EXPECT_EQ(*sampler->sample(logits), 0);
  EXPECT_EQ(sampler->sample(std::vector<float>{1, 2}).code(), Code::invalid_argument);
}

// The selection that avoids sorting agrees with one that sorts, at a size where the halving is at work.
TEST(Sampler, TopPWithoutSortingEqualsSorting) {
  for (const uint32_t seed : {1u, 2u, 3u}) {
    const auto logits = random_logits(5000, seed, 1.5f);
    SamplerParams params;
    params.top_p = 0.3 + 0.3 * seed - 0.05;
    params.top_p = std::min(params.top_p, 0.97);
    auto sampler = Sampler::create(params, logits.size());
    const auto kept = *sampler->probabilities(logits);
    std::vector<std::pair<float, size_t>> sorted;
    double total = 0;
    for (size_t i = 0; i < logits.size(); ++i) {
      sorted.emplace_back(logits[i], i);
      total += std::exp(static_cast<double>(logits[i]));
    }
    std::sort(sorted.begin(), sorted.end());
    double sum = 0;
    for (size_t i = 0; i < sorted.size(); ++i) {
      sum += std::exp(static_cast<double>(sorted[i].first)) / total;
      if (std::abs(sum - (1 - params.top_p)) < 1e-9) continue;
      ASSERT_EQ(kept[sorted[i].second] > 0, sum > 1 - params.top_p) << i;
    }
  }
}

TEST(Sampler, LogprobsAreThoseOfTheModel) {
  const std::vector<float> logits = {1, 3, 2, 3};
  TokenLogprob top[3];
  double logprob = 0;
  ASSERT_EQ(token_logprobs(logits, 2, &logprob, top), 3u);
  const double total = std::log(std::exp(1.0) + 2 * std::exp(3.0) + std::exp(2.0));
  EXPECT_NEAR(logprob, 2 - total, 1e-12);
  EXPECT_EQ(top[0].token, 1);
  EXPECT_EQ(top[1].token, 3);
  EXPECT_EQ(top[2].token, 2);
  EXPECT_NEAR(top[0].logprob, 3 - total, 1e-12);
  TokenLogprob more[6];
  EXPECT_EQ(token_logprobs(logits, 2, &logprob, more), 4u);
  EXPECT_EQ(token_logprobs(logits, 2, &logprob, {}), 0u);
}

// A large vocabulary costs little, and nothing is sorted where a threshold is enough.
TEST(Sampler, ALargeVocabularyIsFast) {
  constexpr size_t kVocabulary = 262144;
  const auto logits = random_logits(kVocabulary, 5, 3);
  SamplerParams plain, top_k, top_p, all;
  top_k.top_k = 50;
  top_p.top_p = 0.95;
  all.top_k = 200;
  all.top_p = 0.9;
  all.min_p = 0.01;
  all.typical_p = 0.9;
  all.temperature = 0.8;
  for (const SamplerParams& params : {plain, top_k, top_p, all}) {
    auto sampler = Sampler::create(params, kVocabulary);
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(sampler->sample(logits).ok());
    const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count() / 10;
    RecordProperty("ms", std::to_string(ms));
    std::printf("[          ] %.2f ms a token\n", ms);
    EXPECT_LT(ms, 400);  // generous: sanitizers and busy machines
  }
}

}  // namespace
}  // namespace pteron::llm
