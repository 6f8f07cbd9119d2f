#include "import/ggml_blocks.h"

#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "core/dtype.h"

namespace pteron::importer {
namespace {

// The value of element `i` of one block, straight from the format's description and one element at a time.
using Reference = double (*)(const uint8_t* block, size_t i);

double half_at(const uint8_t* at) { return half_to_float(static_cast<uint16_t>(at[0] | at[1] << 8)); }
int nibble(const uint8_t* bytes, size_t i) { return i < 16 ? bytes[i] % 16 : bytes[i - 16] / 16; }
int bit(const uint8_t* bytes, size_t i) { return bytes[i / 8] >> i % 8 & 1; }

double q4_0(const uint8_t* b, size_t i) { return half_at(b) * (nibble(b + 2, i) - 8); }
double q4_1(const uint8_t* b, size_t i) { return half_at(b) * nibble(b + 4, i) + half_at(b + 2); }
double q5_0(const uint8_t* b, size_t i) { return half_at(b) * (nibble(b + 6, i) + 16 * bit(b + 2, i) - 16); }
double q5_1(const uint8_t* b, size_t i) { return half_at(b) * (nibble(b + 8, i) + 16 * bit(b + 4, i)) + half_at(b + 2); }
double q8_0(const uint8_t* b, size_t i) { return half_at(b) * static_cast<int8_t>(b[2 + i]); }

// Scale (kind 0) or offset (kind 1) of group g: six bits, low four and high two apart for the last four groups.
int six_bits(const uint8_t* packed, size_t g, size_t kind) {
  if (g < 4) return packed[g + 4 * kind] % 64;
  const int low = kind == 0 ? packed[g + 4] % 16 : packed[g + 4] / 16;
  return low + 16 * (packed[g - 4 + 4 * kind] / 64);
}
double k_affine(const uint8_t* b, const uint8_t* nibbles, size_t i, int fifth) {
  const size_t group = i / 32, byte = group / 2 * 32 + i % 32;
  const int q = (group % 2 == 0 ? nibbles[byte] % 16 : nibbles[byte] / 16) + fifth;
  return half_at(b) * six_bits(b + 4, group, 0) * q - half_at(b + 2) * six_bits(b + 4, group, 1);
}
double q4_k(const uint8_t* b, size_t i) { return k_affine(b, b + 16, i, 0); }
double q5_k(const uint8_t* b, size_t i) { return k_affine(b, b + 48, i, 16 * (b[16 + i % 32] >> i / 32 & 1)); }
double q6_k(const uint8_t* b, size_t i) {
  const size_t half = i / 128, run = i % 128 / 32, j = i % 32;
  const int low = b[half * 64 + run % 2 * 32 + j] >> (run / 2 * 4) & 15, high = b[128 + half * 32 + j] >> run * 2 & 3;
  return half_at(b + 208) * static_cast<int8_t>(b[192 + i / 16]) * (low + 16 * high - 32);
}

struct Case {
  BlockEncoding encoding;
  const char* name;
  size_t elements, bytes;
  Reference value;
  std::vector<size_t> scales;  // where the block has float16 numbers
};

class GgmlBlocks : public ::testing::TestWithParam<Case> {};

TEST_P(GgmlBlocks, ValuesAreThoseOfTheFormat) {
  const Case& c = GetParam();
  const BlockFormat* format = block_format(c.encoding);
  ASSERT_NE(format, nullptr);
  EXPECT_EQ(format->name, c.name);
  ASSERT_EQ(format->elements, c.elements);
  ASSERT_EQ(format->bytes, c.bytes);
  constexpr size_t kBlocks = 50;
  std::mt19937 random(12345);
  std::vector<uint8_t> blocks(kBlocks * c.bytes);
  for (uint8_t& byte : blocks) byte = static_cast<uint8_t>(random());
  for (size_t b = 0; b < kBlocks; ++b) {
    for (size_t at : c.scales) blocks[b * c.bytes + at + 1] &= 0xbf;  // exponents below 16: finite, small and subnormal scales
  }
  std::vector<float> values(kBlocks * c.elements);
  format->decode(reinterpret_cast<const std::byte*>(blocks.data()), kBlocks, values.data());
  for (size_t i = 0; i < values.size(); ++i) {
    const double expected = c.value(blocks.data() + i / c.elements * c.bytes, i % c.elements);
    ASSERT_EQ(values[i], static_cast<float>(expected)) << "block " << i / c.elements << " element " << i % c.elements;
  }
}

std::string case_name(const ::testing::TestParamInfo<Case>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(
    All, GgmlBlocks,
    ::testing::Values(Case{BlockEncoding::q4_0, "Q4_0", 32, 18, q4_0, {0}}, Case{BlockEncoding::q4_1, "Q4_1", 32, 20, q4_1, {0, 2}},
                      Case{BlockEncoding::q5_0, "Q5_0", 32, 22, q5_0, {0}}, Case{BlockEncoding::q5_1, "Q5_1", 32, 24, q5_1, {0, 2}},
                      Case{BlockEncoding::q8_0, "Q8_0", 32, 34, q8_0, {0}}, Case{BlockEncoding::q4_k, "Q4_K", 256, 144, q4_k, {0, 2}},
                      Case{BlockEncoding::q5_k, "Q5_K", 256, 176, q5_k, {0, 2}}, Case{BlockEncoding::q6_k, "Q6_K", 256, 210, q6_k, {208}}),
    case_name);

TEST(GgmlBlocksTable, NoneHasNoFormat) { EXPECT_EQ(block_format(BlockEncoding::none), nullptr); }

// One block of each affine kind by hand.
TEST(GgmlBlocksTable, HandMadeBlocks) {
  std::array<std::byte, 20> q4_1_block{};
  q4_1_block[1] = std::byte{0x38};  // scale 0.5
  q4_1_block[3] = std::byte{0xc0};  // offset -2
  q4_1_block[4] = std::byte{0xf3};  // element 0: 3, element 16: 15
  std::array<float, 32> values{};
  block_format(BlockEncoding::q4_1)->decode(q4_1_block.data(), 1, values.data());
  EXPECT_EQ(values[0], -0.5f);
  EXPECT_EQ(values[16], 5.5f);
  EXPECT_EQ(values[1], -2.0f);

  std::array<std::byte, 34> q8_0_block{};
  q8_0_block[1] = std::byte{0x3c};  // scale 1
  q8_0_block[2] = std::byte{0x80};
  q8_0_block[33] = std::byte{0x7f};
  block_format(BlockEncoding::q8_0)->decode(q8_0_block.data(), 1, values.data());
  EXPECT_EQ(values[0], -128.0f);
  EXPECT_EQ(values[31], 127.0f);
}

// First blocks of published checkpoints, with the first six values that another implementation dequantises them to.
TEST(GgmlBlocksTable, BlocksOfRealFiles) {
  std::ifstream file(PTERON_TEST_DATA "/import/blocks.json");
  const nlohmann::json cases = nlohmann::json::parse(file);
  ASSERT_EQ(cases.size(), 6u);
  for (const nlohmann::json& item : cases) {
    const BlockFormat* format = nullptr;
    for (int encoding = 1; encoding <= static_cast<int>(BlockEncoding::q6_k); ++encoding) {
      const BlockFormat* candidate = block_format(static_cast<BlockEncoding>(encoding));
      if (candidate->name == item["type"].get<std::string>()) format = candidate;
    }
    ASSERT_NE(format, nullptr) << item["type"];
    const std::string hex = item["block"];
    ASSERT_EQ(hex.size(), 2 * format->bytes);
    std::vector<std::byte> block;
    for (size_t i = 0; i < hex.size(); i += 2) block.push_back(static_cast<std::byte>(std::stoi(hex.substr(i, 2), nullptr, 16)));
    std::vector<float> values(format->elements);
    format->decode(block.data(), 1, values.data());
    values.resize(item["first"].size());
    EXPECT_EQ(values, item["first"].get<std::vector<float>>()) << item["type"];
  }
}

}  // namespace
}  // namespace pteron::importer
