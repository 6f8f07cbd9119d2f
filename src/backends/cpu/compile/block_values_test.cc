#include "backends/cpu/compile/block_values.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "core/dtype.h"

namespace pteron::cpu_backend {
namespace {

constexpr size_t kMostElements = 256;

// What a block says, number by number, and the bytes that say it.
struct Block {
  std::vector<std::byte> bytes;
  std::vector<double> values;

  explicit Block(size_t n) : bytes(n) {}
  void put_half(size_t at, float value) { store_unaligned(&bytes[at], float_to_half(value)); }
  void add_bits(size_t at, int value, int shift) { bytes[at] |= static_cast<std::byte>(value << shift); }
};

float random_half(std::mt19937& random) { return half_to_float(float_to_half(static_cast<float>(random() % 4000) * 1e-4f - 0.2f)); }

// 32 numbers of 4 or 5 bits: the scale, the offset where there is one, the fifth bits, the nibbles.
Block small_block(std::mt19937& random, int bits, bool affine) {
  const size_t high_at = affine ? 4 : 2, low_at = high_at + (bits == 5 ? 4 : 0);
  Block out(low_at + 16);
  const float scale = random_half(random), offset = random_half(random);
  out.put_half(0, scale);
  if (affine) out.put_half(2, offset);
  for (size_t i = 0; i < 32; ++i) {
    const int q = static_cast<int>(random() % (1u << bits));
    out.add_bits(low_at + i % 16, q & 15, i < 16 ? 0 : 4);
    if (bits == 5) out.add_bits(high_at + i / 8, q >> 4, static_cast<int>(i % 8));
    out.values.push_back(affine ? double{scale} * q + offset : double{scale} * (q - (1 << (bits - 1))));
  }
  return out;
}

Block q8_0_block(std::mt19937& random) {
  Block out(34);
  const float scale = random_half(random);
  out.put_half(0, scale);
  for (size_t i = 0; i < 32; ++i) {
    const auto q = static_cast<int8_t>(random());
    out.bytes[2 + i] = static_cast<std::byte>(q);
    out.values.push_back(double{scale} * q);
  }
  return out;
}

// 256 numbers of 4 or 5 bits in 8 groups with 6-bit scales and minima: the two factors, 12 bytes of scales, the fifth bits, the nibbles.
Block k_block(std::mt19937& random, int bits) {
  const size_t low_at = bits == 5 ? 48 : 16;
  Block out(low_at + 128);
  const float factor = random_half(random), minimum_factor = random_half(random);
  out.put_half(0, factor);
  out.put_half(2, minimum_factor);
  for (size_t group = 0; group < 8; ++group) {
    const int scale = static_cast<int>(random() % 64), minimum = static_cast<int>(random() % 64);
    if (group < 4) {
      out.add_bits(4 + group, scale, 0);
      out.add_bits(8 + group, minimum, 0);
    } else {
      out.add_bits(8 + group, scale & 15, 0);
      out.add_bits(8 + group, minimum & 15, 4);
      out.add_bits(group, scale >> 4, 6);
      out.add_bits(4 + group, minimum >> 4, 6);
    }
    for (size_t i = 0; i < 32; ++i) {
      const int q = static_cast<int>(random() % (1u << bits));
      out.add_bits(low_at + group / 2 * 32 + i, q & 15, group % 2 == 0 ? 0 : 4);
      if (bits == 5) out.add_bits(16 + i, q >> 4, static_cast<int>(group));
      out.values.push_back(double{factor} * scale * q - double{minimum_factor} * minimum);
    }
  }
  return out;
}

// 256 numbers of 6 bits in 16 groups with 8-bit scales: the nibbles, the upper bits, the scales, the factor.
Block q6_k_block(std::mt19937& random) {
  Block out(210);
  const float factor = random_half(random);
  out.put_half(208, factor);
  std::vector<int> scales;
  for (size_t group = 0; group < 16; ++group) {
    scales.push_back(static_cast<int8_t>(random()));
    out.bytes[192 + group] = static_cast<std::byte>(scales.back());
  }
  for (size_t i = 0; i < 256; ++i) {
    const int q = static_cast<int>(random() % 64);
    const size_t half = i / 128, part = i % 128 / 32, column = i % 32;
    out.add_bits(half * 64 + part % 2 * 32 + column, q & 15, part < 2 ? 0 : 4);
    out.add_bits(128 + half * 32 + column, q >> 4, static_cast<int>(2 * part));
    out.values.push_back(double{factor} * scales[i / 16] * (q - 32));
  }
  return out;
}

Block make_block(BlockEncoding encoding, std::mt19937& random) {
  switch (encoding) {
    case BlockEncoding::q4_0: return small_block(random, 4, false);
    case BlockEncoding::q4_1: return small_block(random, 4, true);
    case BlockEncoding::q5_0: return small_block(random, 5, false);
    case BlockEncoding::q5_1: return small_block(random, 5, true);
    case BlockEncoding::q8_0: return q8_0_block(random);
    case BlockEncoding::q4_k: return k_block(random, 4);
    case BlockEncoding::q5_k: return k_block(random, 5);
    default: return q6_k_block(random);
  }
}

constexpr BlockEncoding kAll[] = {BlockEncoding::q4_0, BlockEncoding::q4_1, BlockEncoding::q5_0, BlockEncoding::q5_1,
                                  BlockEncoding::q8_0, BlockEncoding::q4_k, BlockEncoding::q5_k, BlockEncoding::q6_k};

TEST(BlockValues, EveryEncodingIsReadExactly) {
  std::mt19937 random(7);
  for (const BlockEncoding encoding : kAll) {
    SCOPED_TRACE(static_cast<int>(encoding));
    const PackedLayout& layout = *packed_layout(packed_for(encoding));
    for (int round = 0; round < 20; ++round) {
      // Two blocks in a row: the second must be found as well.
      Block first = make_block(encoding, random), second = make_block(encoding, random);
      std::vector<std::byte> row = first.bytes;
      row.insert(row.end(), second.bytes.begin(), second.bytes.end());
      std::vector<double> expected = first.values;
      expected.insert(expected.end(), second.values.begin(), second.values.end());
      ASSERT_EQ(block_row_bytes(encoding, expected.size()), row.size());
      for (size_t i = 0; i < expected.size(); ++i) {
        GroupValues group;
        read_group(encoding, row, i / kGroupColumns, group);
        const size_t column = i % kGroupColumns;
        // Products of these numbers have less than 53 bits: both sides are exact.
        ASSERT_EQ(double{group.scales[column / 16]} * (group.integers[column] - layout.zero_point) + double{group.offset}, expected[i]) << i;
      }
    }
  }
}

TEST(BlockValues, EveryEncodingHasAPackedOneOfItsBits) {
  EXPECT_EQ(packed_for(BlockEncoding::q4_0), PackedEncoding::int4);
  EXPECT_EQ(packed_for(BlockEncoding::q4_k), PackedEncoding::int4_affine);
  EXPECT_EQ(packed_for(BlockEncoding::q5_0), PackedEncoding::int5);
  EXPECT_EQ(packed_for(BlockEncoding::q5_k), PackedEncoding::int5_affine);
  EXPECT_EQ(packed_for(BlockEncoding::q6_k), PackedEncoding::int6);
  EXPECT_EQ(packed_for(BlockEncoding::q8_0), PackedEncoding::int8);
  EXPECT_EQ(packed_for(BlockEncoding::none), PackedEncoding::float32);
}

TEST(BlockValues, RowsThatEndInsideABlockHaveNoSize) {
  EXPECT_EQ(block_row_bytes(BlockEncoding::q4_0, 48), 0u);
  EXPECT_EQ(block_row_bytes(BlockEncoding::q6_k, 128), 0u);
  EXPECT_EQ(block_row_bytes(BlockEncoding::none, kMostElements), 0u);
  EXPECT_EQ(block_row_bytes(BlockEncoding::q4_0, 64), 36u);
}

}  // namespace
}  // namespace pteron::cpu_backend
