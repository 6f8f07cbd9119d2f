#include "import/gguf_rope.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "import/test_files.h"

namespace pteron::importer {
namespace {

using nlohmann::json;
using testing::GgufWriter;
using ::testing::HasSubstr;

constexpr GgufHeads kHeads{4, 2, 8};

Result<json> rope(const GgufWriter& writer) {
  const std::string bytes = writer.bytes();
  const GgufFile file = GgufFile::parse(FileBytes::borrow(as_bytes(bytes))).value();
  PTERON_ASSIGN(const GgufArchitecture* architecture, gguf_architecture(file));
  json config = json::object();
  PTERON_TRY(write_rope(file, *architecture, kHeads, config));
  return config;
}

GgufWriter llama() { return GgufWriter().string("general.architecture", "llama"); }

GgufWriter with_factors(GgufWriter writer, const std::string& name, const std::vector<float>& values) {
  return writer.tensor(name, {values.size()}, 0, testing::raw_floats(values));
}

TEST(GgufRope, DefaultsAndPartialRotation) {
  EXPECT_EQ(rope(llama()).value(), json::parse(R"({"rope_theta": 10000.0, "partial_rotary_factor": 1.0, "rope_scaling": null})"));
  EXPECT_EQ((*rope(llama().u32("llama.rope.dimension_count", 6)))["partial_rotary_factor"], 0.75);
  for (const uint32_t wrong : {10u, 3u})
    EXPECT_THAT(rope(llama().u32("llama.rope.dimension_count", wrong)).status().message(), HasSubstr("llama.rope.dimension_count"));
  for (const float wrong : {0.0f, -1.0f, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_THAT(rope(llama().f32("llama.rope.freq_base", wrong)).status().message(), HasSubstr("llama.rope.freq_base"));
  }
}

TEST(GgufRope, LinearScaling) {
  const json expected = {{"rope_type", "linear"}, {"factor", 4.0}};
  EXPECT_EQ((*rope(llama().string("llama.rope.scaling.type", "linear").f32("llama.rope.scaling.factor", 4)))["rope_scaling"], expected);
  EXPECT_EQ((*rope(llama().f32("llama.rope.scale_linear", 4)))["rope_scaling"], expected);
  EXPECT_TRUE((*rope(llama().string("llama.rope.scaling.type", "none").f32("llama.rope.scaling.factor", 4)))["rope_scaling"].is_null());
  EXPECT_TRUE((*rope(llama().f32("llama.rope.scale_linear", 1)))["rope_scaling"].is_null());
  EXPECT_THAT(rope(llama().f32("llama.rope.scale_linear", 0)).status().message(), HasSubstr("a positive number"));
  EXPECT_THAT(rope(llama().string("llama.rope.scaling.type", "magic")).status().message(), HasSubstr("found magic"));
}

TEST(GgufRope, YarnScaling) {
  GgufWriter writer = llama()
                          .string("llama.rope.scaling.type", "yarn")
                          .f32("llama.rope.scaling.factor", 4)
                          .u32("llama.rope.scaling.original_context_length", 4096);
  EXPECT_EQ((*rope(writer))["rope_scaling"],
            json::parse(R"({"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096})"));
  EXPECT_EQ((*rope(writer.f32("llama.rope.scaling.yarn_beta_fast", 16)))["rope_scaling"]["beta_fast"], 16.0);
  EXPECT_THAT(rope(llama().string("llama.rope.scaling.type", "yarn")).status().message(),
              HasSubstr("llama.rope.scaling.factor): expected a positive number, found nothing"));
}

// The factors of Llama 3 for base 500000, 8 dimensions, factor 8: wavelengths 6, 167, 4443 and 118142 against 2048 and 8192.
TEST(GgufRope, Llama3FactorsAreRecognised) {
  const double wavelength = 2 * M_PI * std::pow(500000.0, 0.5), smooth = (8192 / wavelength - 1) / 3;
  const float middle = static_cast<float>(1 / ((1 - smooth) / 8 + smooth));
  const json config = rope(with_factors(llama().f32("llama.rope.freq_base", 500000), "rope_freqs.weight", {1, 1, middle, 8})).value();
  EXPECT_EQ(
      config["rope_scaling"],
      json::parse(
          R"({"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192.0})"));
}

TEST(GgufRope, OtherFactorsBecomeALongRopeOfOneList) {
  const json config = rope(with_factors(llama().f32("llama.rope.freq_base", 500000), "rope_freqs.weight", {1, 1, 2, 8})).value();
  EXPECT_EQ(
      config["rope_scaling"],
      json::parse(
          R"({"rope_type": "longrope", "short_factor": [1.0, 1.0, 2.0, 8.0], "long_factor": [1.0, 1.0, 2.0, 8.0], "attention_factor": 1.0, "factor": 1.0})"));
}

TEST(GgufRope, PhiFactorLists) {
  GgufWriter writer = GgufWriter().string("general.architecture", "phi3").f32("phi3.rope.scaling.attn_factor", 1.19f);
  writer = with_factors(with_factors(writer, "rope_factors_short.weight", {1, 1, 1, 1}), "rope_factors_long.weight", {1, 2, 3, 4});
  EXPECT_EQ(
      (*rope(writer))["rope_scaling"],
      json::parse(
          R"({"rope_type": "longrope", "short_factor": [1.0, 1.0, 1.0, 1.0], "long_factor": [1.0, 2.0, 3.0, 4.0], "attention_factor": 1.19})"));
}

TEST(GgufRope, FactorTensorsAreChecked) {
  EXPECT_THAT(rope(with_factors(llama(), "rope_freqs.weight", {1, 1, 1})).status().message(),
              HasSubstr("(rope_freqs.weight): expected [4], found [3]"));
  EXPECT_THAT(rope(with_factors(llama(), "rope_freqs.weight", {1, 1, 0, 1})).status().message(), HasSubstr("positive numbers"));
  EXPECT_THAT(rope(with_factors(llama(), "rope_freqs.weight", {1, 1, 1, NAN})).status().message(), HasSubstr("positive numbers"));
}

}  // namespace
}  // namespace pteron::importer
