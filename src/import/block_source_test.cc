#include "import/block_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/constant_recipes.h"
#include "import/test_files.h"

namespace pteron::importer {
namespace {

using ::testing::HasSubstr;
using testing::streamed_floats;

// Rows of Q8_0 blocks with scale 1: the values are the stored bytes.
std::shared_ptr<std::string> q8_rows(int64_t rows, int64_t blocks) {
  auto bytes = std::make_shared<std::string>();
  for (int64_t i = 0; i < rows * blocks; ++i) {
    *bytes += std::string("\x00\x3c", 2);
    for (int j = 0; j < 32; ++j) *bytes += static_cast<char>(i * 7 + j);
  }
  return bytes;
}

float q8_value(int64_t element) { return static_cast<float>(static_cast<int8_t>(element / 32 * 7 + element % 32)); }

TEST(BlockSource, StreamsRowsAndBlocks) {
  const auto bytes = q8_rows(3, 2);
  const ConstantPtr source = block_source(*block_format(BlockEncoding::q8_0), {3, 64}, as_bytes(*bytes), bytes).value();
  EXPECT_EQ(source->dtype(), ScalarType::Float);
  EXPECT_EQ(source->nbytes(), 3u * 64 * 4);
  EXPECT_EQ(source->encoding(), BlockEncoding::q8_0);
  const std::vector<float> values = streamed_floats(*source);
  for (int64_t i = 0; i < 192; ++i) ASSERT_EQ(values[static_cast<size_t>(i)], q8_value(i)) << i;
  std::vector<float> row(64);
  ASSERT_TRUE(source->read_rows_f32(2, 3, row.data()).ok());
  EXPECT_EQ(row, std::vector<float>(values.begin() + 128, values.end()));
  EXPECT_EQ(as_text(source->block_row(1)), std::string_view(*bytes).substr(68, 68));
  std::vector<float> part;
  ASSERT_TRUE(source
                  ->stream_rows(1, 2,
                                [&](ByteSpan piece) {
                                  for (size_t at = 0; at < piece.size(); at += 4) part.push_back(load_unaligned<float>(piece.data() + at));
                                  return Status();
                                })
                  .ok());
  EXPECT_EQ(part, std::vector<float>(values.begin() + 64, values.begin() + 128));
}

TEST(BlockSource, StreamsMoreThanOneChunk) {
  const auto bytes = q8_rows(40, 64);
  const ConstantPtr source = block_source(*block_format(BlockEncoding::q8_0), {40, 2048}, as_bytes(*bytes), bytes).value();
  const std::vector<float> values = streamed_floats(*source);
  for (int64_t i = 0; i < 40 * 2048; ++i) ASSERT_EQ(values[static_cast<size_t>(i)], q8_value(i)) << i;
}

TEST(BlockSource, VectorsCanBeReadFromTheMiddleOfABlock) {
  const auto bytes = q8_rows(1, 3);
  const ConstantPtr source = block_source(*block_format(BlockEncoding::q8_0), {96}, as_bytes(*bytes), bytes).value();
  for (const auto& [begin, end] : {std::pair{5, 7}, std::pair{5, 70}, std::pair{32, 96}, std::pair{31, 65}, std::pair{9, 9}}) {
    std::vector<float> values(static_cast<size_t>(end - begin));
    ASSERT_TRUE(source->read_rows_f32(begin, end, values.data()).ok());
    for (int i = begin; i < end; ++i) ASSERT_EQ(values[static_cast<size_t>(i - begin)], q8_value(i));
  }
  EXPECT_TRUE(source->block_row(0).empty());
}

TEST(BlockSource, SizesAreChecked) {
  const BlockFormat& q8 = *block_format(BlockEncoding::q8_0);
  const auto bytes = q8_rows(1, 2);
  EXPECT_EQ(block_source(q8, {1, 33}, as_bytes(*bytes), bytes).code(), Code::invalid_data);
  EXPECT_EQ(block_source(q8, {1, 32}, as_bytes(*bytes), bytes).code(), Code::invalid_data);
  EXPECT_EQ(block_source(q8, {}, {}, bytes).code(), Code::invalid_data);
  EXPECT_EQ(block_byte_count(q8, {INT64_MAX / 32, 32}).code(), Code::invalid_data);
  EXPECT_EQ(block_byte_count(q8, {int64_t{1} << 40, int64_t{1} << 40}).code(), Code::invalid_data);
  EXPECT_EQ(block_byte_count(q8, {2, 64}).value(), 136u);
  EXPECT_THAT(block_byte_count(*block_format(BlockEncoding::q6_k), {1, 32}).status().message(), HasSubstr("a multiple of 256 for Q6_K"));
}

TEST(BlockSource, PermutedRowsKeepTheirBlocks) {
  const auto bytes = q8_rows(4, 1);
  const ConstantPtr source = block_source(*block_format(BlockEncoding::q8_0), {4, 32}, as_bytes(*bytes), bytes).value();
  const ConstantPtr permuted = select_rows(source, {2, 0}).value();
  EXPECT_EQ(as_text(permuted->block_row(0)), as_text(source->block_row(2)));
  EXPECT_EQ(streamed_floats(*permuted)[0], q8_value(64));
}

}  // namespace
}  // namespace pteron::importer
