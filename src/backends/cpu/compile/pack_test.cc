#include "backends/cpu/compile/pack.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "backends/cpu/compile/block_values.h"
#include "core/constant_recipes.h"
#include "core/dtype.h"

namespace pteron::cpu_backend {
namespace {

std::vector<std::byte> collect(const partition::ByteRecipe& recipe) {
  std::vector<std::byte> out;
  const Status status = recipe.stream([&](ByteSpan piece) {
    out.insert(out.end(), piece.begin(), piece.end());
    return Status();
  });
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(out.size(), recipe.nbytes);
  return out;
}

std::vector<float> random_values(size_t n, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 0.05f);
  std::vector<float> out(n);
  for (float& x : out) x = normal(random);
  return out;
}

ConstantPtr constant(const std::vector<float>& values, int64_t rows, int64_t cols) {
  auto made = constant_from_values({rows, cols}, values);
  EXPECT_TRUE(made.ok());
  return *made;
}

// One value of packed bytes, after the description in core/packed_weight.h.
float unpacked(PackedEncoding encoding, const std::vector<std::byte>& bytes, size_t cols, size_t row, size_t col) {
  const PackedLayout& l = *packed_layout(encoding);
  const size_t records = (cols + l.record_columns - 1) / l.record_columns;
  const std::byte* record = bytes.data() + (row / 16 * records + col / l.record_columns) * l.record_bytes;
  const size_t r = row % 16, c = col % 32, lane = r * 4 + c % 4, block = c / 4;
  const auto half = [&](size_t at) { return half_to_float(load_unaligned<uint16_t>(record + at)); };
  if (encoding == PackedEncoding::float32) return load_unaligned<float>(record + r * 4);
  if (encoding == PackedEncoding::float16) return half(r * 2);
  if (encoding == PackedEncoding::bfloat16) return bfloat16_to_float(load_unaligned<uint16_t>(record + r * 2));
  const auto byte = [&](size_t at) { return std::to_integer<int>(record[at]); };
  int q = l.bits == 8 ? byte(block * 64 + lane) : byte(block / 2 * 64 + lane) >> (block % 2 * 4) & 15;
  if (l.bits == 5) q |= (byte(256 + lane) >> block & 1) << 4;
  if (l.bits == 6) q |= (byte(256 + block / 4 * 64 + lane) >> (block % 4 * 2) & 3) << 4;
  const float scale = half(l.scale_offset + (l.bits == 6 ? c / 16 * 32 : 0) + r * 2);
  return scale * static_cast<float>(q - l.zero_point) + (l.affine ? half(l.scale_offset + 32 + r * 2) : 0.0f);
}

// A source of stored blocks with random bytes and sensible float16 scales.
class BlockSource : public ConstantSource {
 public:
  BlockSource(BlockEncoding encoding, int64_t rows, int64_t cols, std::vector<size_t> halves, size_t block_bytes)
      : encoding_(encoding), shape_{rows, cols}, row_bytes_(block_row_bytes(encoding, static_cast<size_t>(cols))), bytes_(row_bytes_ * static_cast<size_t>(rows)) {
    std::mt19937 random(3);
    for (std::byte& b : bytes_) b = static_cast<std::byte>(random());
    for (size_t block = 0; block < bytes_.size(); block += block_bytes) {
      for (const size_t at : halves) store_unaligned(&bytes_[block + at], float_to_half(static_cast<float>(random() % 1000) * 1e-5f));
    }
  }
  ScalarType dtype() const override { return ScalarType::Float; }
  const std::vector<int64_t>& shape() const override { return shape_; }
  uint64_t nbytes() const override { return static_cast<uint64_t>(shape_[0] * shape_[1]) * 4; }
  Status stream(const ByteSink&) const override { return {}; }
  Status read_rows_f32(int64_t, int64_t, float*) const override { return Status::error(Code::internal, "blocks are kept, not read as floats"); }
  BlockEncoding encoding() const override { return encoding_; }
  ByteSpan block_row(int64_t row) const override { return ByteSpan(bytes_).subspan(static_cast<size_t>(row) * row_bytes_, row_bytes_); }

 private:
  BlockEncoding encoding_;
  std::vector<int64_t> shape_;
  size_t row_bytes_;
  std::vector<std::byte> bytes_;
};

TEST(Pack, FloatsAreKept) {
  const auto values = random_values(21 * 37, 1);
  for (const PackedEncoding encoding : {PackedEncoding::float32, PackedEncoding::float16, PackedEncoding::bfloat16}) {
    const auto recipe = pack_weight(constant(values, 21, 37), encoding);
    ASSERT_TRUE(recipe.ok());
    const auto bytes = collect(*recipe);
    for (size_t i = 0; i < values.size(); ++i) {
      const float tolerance = encoding == PackedEncoding::float32 ? 0 : std::abs(values[i]) / (encoding == PackedEncoding::float16 ? 2000.0f : 250.0f);
      EXPECT_NEAR(unpacked(encoding, bytes, 37, i / 37, i % 37), values[i], tolerance + 1e-8f);
    }
  }
}

TEST(Pack, BlocksKeepTheirIntegersAndScales) {
  struct Case {
    BlockEncoding encoding;
    size_t block_bytes;
    std::vector<size_t> halves;
    float tolerance;  // K-quants round a product of scales to float16
  };
  for (const Case& c : {Case{BlockEncoding::q4_0, 18, {0}, 0}, Case{BlockEncoding::q4_1, 20, {0, 2}, 0}, Case{BlockEncoding::q5_0, 22, {0}, 0},
                        Case{BlockEncoding::q5_1, 24, {0, 2}, 0}, Case{BlockEncoding::q8_0, 34, {0}, 0}, Case{BlockEncoding::q4_k, 144, {0, 2}, 1e-3f},
                        Case{BlockEncoding::q5_k, 176, {0, 2}, 1e-3f}, Case{BlockEncoding::q6_k, 210, {208}, 1e-3f}}) {
    const auto source = std::make_shared<BlockSource>(c.encoding, 19, 512, c.halves, c.block_bytes);
    const PackedEncoding encoding = packed_for(c.encoding);
    SCOPED_TRACE(packed_layout(encoding)->name);
    const auto recipe = pack_weight(source, encoding);
    ASSERT_TRUE(recipe.ok());
    const auto bytes = collect(*recipe);
    for (size_t row = 0; row < 19; ++row) {
      for (size_t col = 0; col < 512; ++col) {
        GroupValues group;
        read_group(c.encoding, source->block_row(static_cast<int64_t>(row)), col / 32, group);
        const float expected = group.scales[col % 32 / 16] * static_cast<float>(group.integers[col % 32] - packed_layout(encoding)->zero_point) + group.offset;
        ASSERT_NEAR(unpacked(encoding, bytes, 512, row, col), expected, c.tolerance * (std::abs(group.scales[col % 32 / 16]) * 64 + std::abs(group.offset))) << row << " " << col;
      }
    }
  }
}

TEST(Pack, QuantizesWithLittleErrorAndSaysHowMuch) {
  const auto values = random_values(33 * 80, 2);
  for (const auto& [encoding, bound] : {std::pair{PackedEncoding::int4, 0.10f}, std::pair{PackedEncoding::int8, 0.007f}}) {
    const auto source = constant(values, 33, 80);
    const auto recipe = pack_weight(source, encoding);
    const auto error = packing_error(source, encoding);
    ASSERT_TRUE(recipe.ok() && error.ok());
    const auto bytes = collect(*recipe);
    double lost = 0, total = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      lost += std::pow(values[i] - unpacked(encoding, bytes, 80, i / 80, i % 80), 2);
      total += std::pow(values[i], 2);
    }
    EXPECT_NEAR(*error, std::sqrt(lost / total), 1e-5f);
    EXPECT_LT(*error, bound);
    EXPECT_GT(*error, 0.0f);
  }
}

TEST(Pack, RowsPastTheEndAreZero) {
  const auto bytes = collect(*pack_weight(constant(random_values(5 * 40, 4), 5, 40), PackedEncoding::int4));
  for (size_t row = 5; row < 16; ++row) {
    for (size_t col = 0; col < 64; ++col) EXPECT_EQ(unpacked(PackedEncoding::int4, bytes, 40, row, col), 0.0f);
  }
  for (size_t col = 40; col < 64; ++col) EXPECT_EQ(unpacked(PackedEncoding::int4, bytes, 40, 2, col), 0.0f);
}

TEST(Pack, RefusesWhatIsNoMatrix) {
  const auto vector = constant_from_values({6}, std::vector<float>(6, 1.0f));
  EXPECT_FALSE(pack_weight(*vector, PackedEncoding::int8).ok());
  const auto source = std::make_shared<BlockSource>(BlockEncoding::q4_0, 2, 48, std::vector<size_t>{0}, 18);
  EXPECT_EQ(pack_weight(source, PackedEncoding::int4).code(), Code::invalid_data);
}

TEST(Pack, ChoosesTheEncodingOfTheConstant) {
  const auto source = constant(random_values(64, 5), 2, 32);
  EXPECT_EQ(choose_encoding({"w", source, ir::Packing::int4, ""}, {}), PackedEncoding::int4);
  EXPECT_EQ(choose_encoding({"w", source, ir::Packing::int4, ""}, {.int4 = PackedEncoding::int4_affine}), PackedEncoding::int4_affine);
  EXPECT_EQ(choose_encoding({"w", source, ir::Packing::keep, ""}, {}), PackedEncoding::float32);
  EXPECT_EQ(choose_encoding({"w", source, ir::Packing::plain, ""}, {.float_weights = PackedEncoding::bfloat16}), PackedEncoding::bfloat16);
  const auto blocks = std::make_shared<BlockSource>(BlockEncoding::q4_1, 2, 64, std::vector<size_t>{0, 2}, 20);
  EXPECT_EQ(choose_encoding({"w", blocks, ir::Packing::keep, ""}, {}), PackedEncoding::int4_affine);
  EXPECT_EQ(choose_encoding({"w", blocks, ir::Packing::plain, ""}, {}), PackedEncoding::float32);
}

}  // namespace
}  // namespace pteron::cpu_backend
