#include "models/rope.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace pteron::models {
namespace {

using Json = nlohmann::json;

struct Read {
  Rope rope;
  std::string error;
};

Read read(const char* text, RopeDefaults defaults = {.head_dim = 8, .max_positions = 256, .layer_type = {}}) {
  const Json json = Json::parse(text);
  Config config(json, "config.json");
  Read out;
  out.rope = read_rope(config, defaults);
  if (!config.status().ok()) out.error = config.status().detail().field + ": " + config.status().detail().found;
  return out;
}

TEST(Rope, DefaultFrequenciesFallGeometrically) {
  const Read r = read("{}");
  const RopeTable t = rope_table(r.rope, 256);
  ASSERT_EQ(t.inv_freq.size(), 4u);
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(t.inv_freq[i], std::pow(10000.0, -2.0 * static_cast<double>(i) / 8), 1e-7);
  EXPECT_EQ(t.attention_factor, 1);
}

TEST(Rope, BaseAndPartComeFromNewAndOldFields) {
  EXPECT_EQ(read(R"({"rope_theta": 500.0})").rope.theta, 500);
  EXPECT_EQ(read(R"({"rope_theta": 500.0, "rope_parameters": {"rope_theta": 7.0, "rope_type": "default"}})").rope.theta, 7);
  EXPECT_EQ(read(R"({"rotary_emb_base": 300, "rotary_pct": 0.25})").rope.theta, 300);
  EXPECT_EQ(read(R"({"rotary_pct": 0.25})").rope.rotary_dims, 2);
  EXPECT_EQ(read(R"({"rope_parameters": {"partial_rotary_factor": 0.5, "rope_type": "default"}})").rope.rotary_dims, 4);
  EXPECT_NE(read(R"({"partial_rotary_factor": 0.1})").error, "") << "no even number of dimensions is left";
}

TEST(Rope, NestedParametersByLayerType) {
  const char* text = R"({"rope_parameters": {"full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6}, "sliding_attention": {"rope_type": "default", "rope_theta": 5.0}}})";
  EXPECT_EQ(read(text).rope.theta, 1e6);
  EXPECT_EQ(read(text).rope.type, RopeType::linear);
  EXPECT_EQ(read(text, {.head_dim = 8, .max_positions = 256, .layer_type = "sliding_attention"}).rope.theta, 5);
}

TEST(Rope, LinearDividesEveryFrequency) {
  const RopeTable plain = rope_table(read("{}").rope, 256), scaled = rope_table(read(R"({"rope_scaling": {"type": "linear", "factor": 4.0}})").rope, 256);
  for (size_t i = 0; i < 4; ++i) EXPECT_FLOAT_EQ(scaled.inv_freq[i], plain.inv_freq[i] / 4);
  EXPECT_EQ(read(R"({"rope_scaling": {"type": "linear"}})").error, "rope_scaling.factor: 0.0");
}

TEST(Rope, Llama3KeepsShortWavesAndDividesLongOnes) {
  const Read r = read(R"({"rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 64}})");
  ASSERT_EQ(r.error, "");
  const RopeTable plain = rope_table(read("{}").rope, 256), t = rope_table(r.rope, 256);
  EXPECT_FLOAT_EQ(t.inv_freq[0], plain.inv_freq[0]) << "wavelength 2 pi is below 64 / 4";
  EXPECT_FLOAT_EQ(t.inv_freq[3], plain.inv_freq[3] / 8) << "wavelength 6283 is above 64";
  const double wavelength = 2 * std::numbers::pi / 0.1, smooth = (64 / wavelength - 1) / 3;
  EXPECT_NEAR(t.inv_freq[1], wavelength < 16 ? 0.1 : (1 - smooth) * 0.1 / 8 + smooth * 0.1, 1e-6) << "in between";
}

TEST(Rope, YarnRampsBetweenCorrectionDimensions) {
  const Read r = read(R"({"rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}})", {.head_dim = 16, .max_positions = 256, .layer_type = {}});
  ASSERT_EQ(r.error, "");
  const RopeTable t = rope_table(r.rope, 256);
  const auto correction = [](double rotations) { return 16 * std::log(64 / (rotations * 2 * std::numbers::pi)) / (2 * std::log(10000.0)); };
  const double low = std::max(0.0, std::floor(correction(32))), high = std::min(15.0, std::ceil(correction(1)));
  for (size_t i = 0; i < 8; ++i) {
    const double inv = std::pow(10000.0, -2.0 * static_cast<double>(i) / 16), ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    EXPECT_NEAR(t.inv_freq[i], inv / 4 * ramp + inv * (1 - ramp), 1e-7) << i;
  }
  EXPECT_NEAR(t.attention_factor, 0.1 * std::log(4.0) + 1, 1e-12);
  const Read scaled = read(R"({"rope_scaling": {"rope_type": "yarn", "factor": 4.0, "mscale": 0.5, "mscale_all_dim": 0.25, "original_max_position_embeddings": 64}})");
  EXPECT_NEAR(rope_table(scaled.rope, 256).attention_factor, (0.05 * std::log(4.0) + 1) / (0.025 * std::log(4.0) + 1), 1e-12);
}

TEST(Rope, LongRopeIsFrozenToTheListOfTheContext) {
  const char* text = R"({"original_max_position_embeddings": 64, "rope_scaling": {"type": "su", "short_factor": [1, 1, 1, 1], "long_factor": [2, 2, 2, 2]}})";
  const Read r = read(text);
  ASSERT_EQ(r.error, "");
  EXPECT_FLOAT_EQ(rope_table(r.rope, 64).inv_freq[0], 1.0f);
  EXPECT_FLOAT_EQ(rope_table(r.rope, 65).inv_freq[0], 0.5f);
  EXPECT_NEAR(rope_table(r.rope, 64).attention_factor, std::sqrt(1 + std::log(4.0) / std::log(64.0)), 1e-12);
  EXPECT_EQ(read(R"({"rope_scaling": {"type": "longrope", "short_factor": [1], "long_factor": [2, 2, 2, 2]}})").error, "rope_scaling.short_factor: 1.0");
}

TEST(Rope, TheBaseIsCheckedWhereverItStands) {
  EXPECT_EQ(read(R"({"rope_theta": 0})").error, "rope_theta: 0.0");
  EXPECT_EQ(read(R"({"rope_theta": -10000.0, "rope_parameters": {"rope_type": "default"}})").error, "rope_theta: -10000.0");
  EXPECT_EQ(read(R"({"rope_parameters": {"rope_theta": 1}})").error, "rope_theta: 1.0");
}

TEST(Rope, WhatCannotBeFrozenIsRefusedByName) {
  EXPECT_EQ(read(R"({"rope_scaling": {"type": "dynamic", "factor": 2.0}})").error, "rope_scaling.rope_type: dynamic");
  EXPECT_EQ(read(R"({"rope_parameters": {"rope_type": "spiral"}})").error, "rope_parameters.rope_type: spiral");
}

TEST(Rope, NumbersThatFloat32CannotTurnWithAreRefused) {
  const auto scaled = [](const std::string& type, const std::string& rest) { return read((R"({"rope_scaling": {"rope_type": ")" + type + "\", " + rest + "}}").c_str()).error; };
  EXPECT_EQ(read(R"({"rope_theta": 1e-300})").error, "rope_theta: 1e-300");
  EXPECT_EQ(read(R"({"rope_theta": 1e300})").error, "rope_theta: 1e+300");
  EXPECT_EQ(scaled("linear", R"("factor": 1e-300)"), "rope_scaling.factor: 1e-300");
  EXPECT_EQ(scaled("linear", R"("factor": 1e-37)"), "rope_scaling.factor: 1e-37") << "angles are infinite";
  EXPECT_EQ(scaled("linear", R"("factor": -2)"), "rope_scaling.factor: -2.0");
  EXPECT_EQ(scaled("llama3", R"("factor": 1e-37, "original_max_position_embeddings": 2)"), "rope_scaling.factor: 1e-37");
  EXPECT_EQ(scaled("yarn", R"("factor": 4, "attention_factor": -1)"), "rope_scaling.attention_factor: -1.0");
  EXPECT_EQ(scaled("yarn", R"("factor": 4, "mscale": -100, "mscale_all_dim": 1)").substr(0, 30), "rope_scaling.attention_factor:");
  EXPECT_EQ(scaled("longrope", R"("short_factor": [1, 1, 1, 1e-300], "long_factor": [1, 1, 1, 1])"), "rope_scaling.short_factor: 1e-300");
  EXPECT_EQ(scaled("linear", R"("factor": 0.5)"), "");
}

}  // namespace
}  // namespace pteron::models
