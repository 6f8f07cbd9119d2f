#include "core/constant_recipes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "core/dtype.h"

namespace pteron {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

std::vector<float> counting(size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.0f);
  return values;
}

ConstantPtr make(std::vector<int64_t> shape) { return constant_from_values(shape, counting(*element_count(shape))).value(); }

std::vector<std::byte> streamed(const ConstantSource& source) {
  std::vector<std::byte> bytes;
  const Status status = source.stream([&](ByteSpan piece) {
    bytes.insert(bytes.end(), piece.begin(), piece.end());
    return Status();
  });
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(bytes.size(), source.nbytes());
  return bytes;
}

std::vector<float> floats(const ConstantSource& source) {
  const std::vector<std::byte> bytes = streamed(source);
  std::vector<float> values(bytes.size() / sizeof(float));
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

std::vector<float> rows(const ConstantSource& source, int64_t begin, int64_t end) {
  std::vector<float> values(static_cast<size_t>(end - begin) *
                            (source.nbytes() / element_size(source.dtype()) / static_cast<uint64_t>(source.shape()[0])));
  EXPECT_TRUE(source.read_rows_f32(begin, end, values.data()).ok());
  return values;
}

// All ways to read a source must agree.
void expect_values(const ConstantSource& source, const std::vector<float>& expected) {
  EXPECT_THAT(floats(source), ElementsAreArray(expected));
  const int64_t count = source.shape()[0];
  EXPECT_THAT(rows(source, 0, count), ElementsAreArray(expected));
  std::vector<float> one_by_one;
  std::vector<std::byte> row_bytes;
  for (int64_t row = 0; row < count; ++row) {
    for (float value : rows(source, row, row + 1)) one_by_one.push_back(value);
    EXPECT_TRUE(source
                    .stream_rows(row, row + 1,
                                 [&](ByteSpan piece) {
                                   row_bytes.insert(row_bytes.end(), piece.begin(), piece.end());
                                   return Status();
                                 })
                    .ok());
  }
  EXPECT_THAT(one_by_one, ElementsAreArray(expected));
  EXPECT_EQ(row_bytes, streamed(source));
}

// A block-quantised source whose row r has the blocks {r}; values are the row numbers.
class FakeBlocks : public ConstantSource {
 public:
  explicit FakeBlocks(int64_t count) : shape_{count, 2}, blocks_(static_cast<size_t>(count)) {
    for (size_t i = 0; i < blocks_.size(); ++i) blocks_[i] = static_cast<std::byte>(i);
  }
  ScalarType dtype() const override { return ScalarType::Float; }
  const std::vector<int64_t>& shape() const override { return shape_; }
  uint64_t nbytes() const override { return blocks_.size() * 8; }
  Status stream(const ByteSink& sink) const override {
    for (int64_t row = 0; row < shape_[0]; ++row) {
      float values[2] = {};
      PTERON_TRY(read_rows_f32(row, row + 1, values));
      PTERON_TRY(sink(std::as_bytes(std::span(values))));
    }
    return Status();
  }
  Status read_rows_f32(int64_t begin, int64_t end, float* out) const override {
    for (int64_t row = begin; row < end; ++row) *out++ = static_cast<float>(row), *out++ = static_cast<float>(row);
    return Status();
  }
  BlockEncoding encoding() const override { return BlockEncoding::q8_0; }
  ByteSpan block_row(int64_t row) const override { return ByteSpan(blocks_).subspan(static_cast<size_t>(row), 1); }

 private:
  std::vector<int64_t> shape_;
  std::vector<std::byte> blocks_;
};

std::vector<int> blocks_of(const ConstantSource& source) {
  std::vector<int> found;
  for (int64_t row = 0; row < source.shape()[0]; ++row) {
    const ByteSpan blocks = source.block_row(row);
    found.push_back(blocks.size() == 1 ? static_cast<int>(blocks[0]) : -1);
  }
  return found;
}

TEST(ConstantRecipes, BytesMustFitTheShape) {
  const std::vector<float> values = counting(6);
  const ByteSpan bytes = std::as_bytes(std::span(values));
  const auto good = constant_from_bytes(ScalarType::Float, {2, 3}, bytes, nullptr);
  ASSERT_TRUE(good.ok());
  EXPECT_EQ((*good)->nbytes(), 24u);
  EXPECT_EQ((*good)->encoding(), BlockEncoding::none);
  expect_values(**good, values);
  EXPECT_EQ(constant_from_bytes(ScalarType::Float, {2, 4}, bytes, nullptr).code(), Code::invalid_data);
  EXPECT_EQ(constant_from_bytes(ScalarType::Double, {2, 3}, bytes, nullptr).code(), Code::invalid_data);
  EXPECT_EQ(constant_from_bytes(ScalarType::Float, {-2, -3}, bytes, nullptr).code(), Code::invalid_data);
  EXPECT_EQ(constant_from_bytes(ScalarType::Float, {INT64_MAX, INT64_MAX}, bytes, nullptr).code(), Code::invalid_data);
  EXPECT_EQ(constant_from_bytes(static_cast<ScalarType>(99), {}, bytes, nullptr).code(), Code::unsupported);
}

TEST(ConstantRecipes, ScalarsAndEmptyTensorsStream) {
  EXPECT_THAT(floats(*constant_from_values({}, {7.0f}).value()), ElementsAre(7.0f));
  EXPECT_THAT(floats(*constant_from_values({0, 5}, {}).value()), ElementsAre());
  EXPECT_THAT(floats(*transpose(constant_from_values({0, 5}, {}).value()).value()), ElementsAre());
  EXPECT_THAT(floats(*cast(constant_from_values({0}, {}).value(), ScalarType::Half).value()), ElementsAre());
}

TEST(ConstantRecipes, SliceTakesRowsAndRefusesOthers) {
  const ConstantPtr source = make({4, 2});
  expect_values(**slice_rows(source, 1, 3), {2, 3, 4, 5});
  EXPECT_THAT((*slice_rows(source, 1, 3))->shape(), ElementsAre(2, 2));
  EXPECT_EQ(slice_rows(source, 0, 4).value(), source);
  EXPECT_THAT(floats(**slice_rows(source, 2, 2)), ElementsAre());
  for (const auto& [begin, end] : {std::pair{-1, 2}, std::pair{3, 5}, std::pair{3, 2}})
    EXPECT_EQ(slice_rows(source, begin, end).code(), Code::invalid_argument);
  EXPECT_EQ(slice_rows(constant_from_values({}, {1.0f}).value(), 0, 1).code(), Code::invalid_argument);
}

TEST(ConstantRecipes, SelectReordersRepeatsAndDropsRows) {
  const ConstantPtr source = make({4, 2});
  expect_values(**select_rows(source, {3, 0, 1, 3}), {6, 7, 0, 1, 2, 3, 6, 7});
  EXPECT_EQ(select_rows(source, {4}).code(), Code::invalid_argument);
  EXPECT_EQ(select_rows(source, {-1}).code(), Code::invalid_argument);
  EXPECT_EQ(select_rows(source, {INT64_MAX}).code(), Code::invalid_argument);
}

TEST(ConstantRecipes, SelectStreamsMoreThanOneChunk) {
  const int64_t count = 3000, width = 100;  // 1.2 MB of float32
  const ConstantPtr source = make({count, width});
  std::vector<int64_t> reversed(count);
  std::vector<float> expected;
  for (int64_t i = 0; i < count; ++i) {
    reversed[static_cast<size_t>(i)] = count - 1 - i;
    for (int64_t j = 0; j < width; ++j) expected.push_back(static_cast<float>((count - 1 - i) * width + j));
  }
  EXPECT_EQ(floats(**select_rows(source, reversed)), expected);
  const ConstantPtr half = cast(source, ScalarType::BFloat16).value();
  const std::vector<std::byte> forward = streamed(*half), backward = streamed(**select_rows(half, reversed));
  EXPECT_EQ(std::memcmp(forward.data(), backward.data() + (count - 1) * width * 2, width * 2), 0);
}

TEST(ConstantRecipes, ConcatPutsRowsBelowEachOther) {
  const ConstantPtr a = make({2, 2}), b = make({1, 2});
  expect_values(**concat_rows({a, b, a}), {0, 1, 2, 3, 0, 1, 0, 1, 2, 3});
  EXPECT_EQ(concat_rows({}).code(), Code::invalid_argument);
  EXPECT_EQ(concat_rows({a, make({2, 3})}).code(), Code::invalid_argument);
  EXPECT_EQ(concat_rows({a, cast(b, ScalarType::Half).value()}).code(), Code::invalid_argument);
}

TEST(ConstantRecipes, TransposeSwapsAndUndoesItself) {
  const ConstantPtr source = make({2, 3});
  const ConstantPtr swapped = transpose(source).value();
  EXPECT_THAT(swapped->shape(), ElementsAre(3, 2));
  expect_values(*swapped, {0, 3, 1, 4, 2, 5});
  EXPECT_EQ(transpose(swapped).value(), source);
  EXPECT_EQ(transpose(make({3})).code(), Code::invalid_argument);

  const int64_t height = 70, width = 2000;  // more than one tile and more than one chunk
  const ConstantPtr large = make({height, width});
  const std::vector<float> values = floats(**transpose(large));
  const std::vector<float> read = rows(**transpose(large), 1990, 2000);
  for (int64_t c = 0; c < width; ++c) {
    for (int64_t r = 0; r < height; ++r) {
      ASSERT_EQ(values[static_cast<size_t>(c * height + r)], static_cast<float>(r * width + c));
    }
  }
  EXPECT_EQ(read, std::vector<float>(values.end() - 10 * height, values.end()));
}

TEST(ConstantRecipes, TransposeKeepsTheElementType) {
  const ConstantPtr half = cast(make({3, 2}), ScalarType::Half).value();
  expect_values(**cast(transpose(half).value(), ScalarType::Float), {0, 2, 4, 1, 3, 5});
}

TEST(ConstantRecipes, CastRoundsToNearestEven) {
  const ConstantPtr source = constant_from_values({4}, {1.0f, 1.00390625f, -65504.0f, 3e38f}).value();
  const ConstantPtr bf16 = cast(source, ScalarType::BFloat16).value();
  EXPECT_EQ(bf16->nbytes(), 8u);
  EXPECT_THAT(rows(*bf16, 0, 2), ElementsAre(1.0f, 1.0f));
  EXPECT_THAT(rows(**cast(source, ScalarType::Half), 0, 4),
              ElementsAre(1.0f, 1.00390625f, -65504.0f, std::numeric_limits<float>::infinity()));
  EXPECT_EQ(cast(source, ScalarType::Float).value(), source);
  EXPECT_EQ(cast(source, ScalarType::Int).code(), Code::unsupported);
  const std::vector<double> doubles = {0.1, -2.5};
  const ConstantPtr wide = constant_from_bytes(ScalarType::Double, {2}, std::as_bytes(std::span(doubles)), nullptr).value();
  expect_values(**cast(wide, ScalarType::Float), {0.1f, -2.5f});
}

TEST(ConstantRecipes, EveryHalfIsWidenedExactly) {
  std::vector<uint16_t> bits(65536);
  std::iota(bits.begin(), bits.end(), uint16_t{0});
  std::vector<float> values(bits.size());
  ASSERT_TRUE(convert_to_f32(ScalarType::Half, std::as_bytes(std::span(bits)), values.data()));
  for (size_t i = 0; i < bits.size(); ++i)
    ASSERT_EQ(std::bit_cast<uint32_t>(values[i]), std::bit_cast<uint32_t>(half_to_float(bits[i]))) << i;
  ASSERT_TRUE(convert_to_f32(ScalarType::BFloat16, std::as_bytes(std::span(bits)), values.data()));
  for (size_t i = 0; i < bits.size(); ++i) ASSERT_EQ(std::bit_cast<uint32_t>(values[i]), static_cast<uint32_t>(i) << 16);
}

template <class T>
void expect_widened(ScalarType type, T low, T high) {
  const T values[2] = {low, high};
  float out[2] = {};
  ASSERT_TRUE(convert_to_f32(type, std::as_bytes(std::span(values)), out)) << dtype_name(type);
  EXPECT_EQ(out[0], static_cast<float>(low));
  EXPECT_EQ(out[1], static_cast<float>(high));
}

TEST(ConstantRecipes, IntegersAndBoolsAreNumbers) {
  expect_widened<int8_t>(ScalarType::Char, -128, 127);
  expect_widened<uint8_t>(ScalarType::Byte, 0, 255);
  expect_widened<uint8_t>(ScalarType::Bool, 0, 1);
  expect_widened<int16_t>(ScalarType::Short, -32768, 32767);
  expect_widened<uint16_t>(ScalarType::UInt16, 0, 65535);
  expect_widened<int32_t>(ScalarType::Int, -16777216, 16777216);
  expect_widened<uint32_t>(ScalarType::UInt32, 0, 4294967295u);
  expect_widened<int64_t>(ScalarType::Long, INT64_MIN, INT64_MAX);
  expect_widened<uint64_t>(ScalarType::UInt64, 0, UINT64_MAX);
  EXPECT_FALSE(convert_to_f32(ScalarType::ComplexFloat, {}, nullptr));
  EXPECT_FALSE(convert_from_f32(ScalarType::Int, nullptr, 0, nullptr));
}

TEST(ConstantRecipes, RowRecipesKeepBlocksAndOthersDropThem) {
  const ConstantPtr source = std::make_shared<FakeBlocks>(4);
  EXPECT_THAT(blocks_of(**select_rows(source, {3, 1})), ElementsAre(3, 1));
  EXPECT_THAT(blocks_of(**slice_rows(source, 2, 4)), ElementsAre(2, 3));
  const ConstantPtr both = concat_rows({slice_rows(source, 3, 4).value(), source}).value();
  EXPECT_EQ(both->encoding(), BlockEncoding::q8_0);
  EXPECT_THAT(blocks_of(*both), ElementsAre(3, 0, 1, 2, 3));
  const ConstantPtr mixed = concat_rows({source, make({1, 2})}).value();
  EXPECT_EQ(mixed->encoding(), BlockEncoding::none);
  EXPECT_TRUE(mixed->block_row(0).empty());
  EXPECT_EQ((*transpose(source))->encoding(), BlockEncoding::none);
  const ConstantPtr plain = cast(source, ScalarType::Float).value();
  EXPECT_EQ(plain->encoding(), BlockEncoding::none);
  EXPECT_TRUE(plain->block_row(0).empty());
  EXPECT_EQ(floats(*plain), floats(*source));
  expect_values(*source, {0, 0, 1, 1, 2, 2, 3, 3});  // the default stream_rows too
}

TEST(ConstantRecipes, FusedBlocksComeApart) {
  const ConstantPtr fused = make({8, 1});  // 2 query heads, 1 key head of 2 rows
  const FusedParts parts = split_fused_qkv(fused, FusedLayout::blocks, 2, 1, 2).value();
  expect_values(*parts.query, {0, 1, 2, 3});
  expect_values(*parts.key, {4, 5});
  expect_values(*parts.value, {6, 7});
}

TEST(ConstantRecipes, FusedGroupsComeApart) {
  const ConstantPtr fused = make({16});  // 4 query heads in 2 groups, heads of 2 rows: [q q | k | v] [q q | k | v]
  const FusedParts parts = split_fused_qkv(fused, FusedLayout::per_head, 4, 2, 2).value();
  expect_values(*parts.query, {0, 1, 2, 3, 8, 9, 10, 11});
  expect_values(*parts.key, {4, 5, 12, 13});
  expect_values(*parts.value, {6, 7, 14, 15});
}

TEST(ConstantRecipes, FusedSizesAreChecked) {
  const ConstantPtr fused = make({8, 1});
  EXPECT_EQ(split_fused_qkv(fused, FusedLayout::blocks, 2, 1, 3).code(), Code::invalid_data);
  EXPECT_EQ(split_fused_qkv(fused, FusedLayout::blocks, 3, 2, 2).code(), Code::invalid_data);
  EXPECT_EQ(split_fused_qkv(fused, FusedLayout::blocks, 2, 0, 2).code(), Code::invalid_data);
  EXPECT_EQ(split_fused_qkv(fused, FusedLayout::per_head, INT64_MAX, 1, 2).code(), Code::invalid_data);
  EXPECT_THAT(split_fused_qkv(fused, FusedLayout::blocks, 2, 1, 3).status().message(), HasSubstr("expected 12 rows, found [8, 1]"));
}

TEST(ConstantRecipes, ASinkThatFailsStopsTheStream) {
  const ConstantPtr source = make({4, 2});
  for (const ConstantPtr& recipe : {source, select_rows(source, {1, 0}).value(), transpose(source).value(),
                                    cast(source, ScalarType::Half).value(), concat_rows({source, source}).value()}) {
    int calls = 0;
    const Status status = recipe->stream([&](ByteSpan) {
      ++calls;
      return Status::error(Code::io_error, "full");
    });
    EXPECT_EQ(status.code(), Code::io_error);
    EXPECT_EQ(calls, 1);
  }
}

}  // namespace
}  // namespace pteron
