#include "format/program_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pteron::format {
namespace {

using testing::HasSubstr;

// A file of `size` bytes with an extended header of these fields.
std::vector<std::byte> file_with(size_t size, uint32_t length, uint64_t program_size, uint64_t base, uint64_t data_size) {
  std::vector<std::byte> file(size);
  std::memcpy(file.data() + 4, "ET12eh00", 8);
  store_unaligned(file.data() + 12, length);
  store_unaligned(file.data() + 16, program_size);
  store_unaligned(file.data() + 24, base);
  store_unaligned(file.data() + 32, data_size);
  return file;
}

std::string refused_field(const std::vector<std::byte>& file) {
  auto layout = read_program_layout(file);
  EXPECT_FALSE(layout.ok());
  return layout.status().detail().field;
}

TEST(ProgramLayout, ReadsWhatMakeHeaderWrote) {
  ProgramLayout layout;
  layout.program_size = 100;
  layout.segment_base = 128;
  layout.segment_data_size = 50;
  std::vector<std::byte> file(178);
  std::memcpy(file.data() + 4, "ET12", 4);
  const auto header = make_header(layout);
  std::memcpy(file.data() + kHeaderOffset, header.data(), header.size());
  auto read = read_program_layout(file);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_TRUE(read->has_header);
  EXPECT_EQ(read->program_size, 100u);
  EXPECT_EQ(read->segment_base, 128u);
  EXPECT_EQ(read->segment_data_size, 50u);
  EXPECT_EQ(read->segment_end, 178u);
  file.pop_back();
  EXPECT_EQ(refused_field(file), "extended_header.segment_data_size");
}

TEST(ProgramLayout, WithoutHeaderTheProgramIsTheFile) {
  std::vector<std::byte> file(64);
  std::memcpy(file.data() + 4, "ET12", 4);
  auto read = read_program_layout(file);
  ASSERT_TRUE(read.ok());
  EXPECT_FALSE(read->has_header);
  EXPECT_EQ(read->program_size, 64u);
  EXPECT_EQ(read->segment_base, 0u);
  EXPECT_EQ(read->segment_end, 0u);
}

TEST(ProgramLayout, LongerFilesAndLongerHeadersAreLegal) {
  EXPECT_TRUE(read_program_layout(file_with(1000, 32, 100, 128, 50)).ok());
  auto long_header = read_program_layout(file_with(178, 80, 100, 128, 50));
  ASSERT_TRUE(long_header.ok());
  EXPECT_EQ(long_header->segment_end, 178u);
  EXPECT_TRUE(read_program_layout(file_with(100, 32, 100, 0, 0)).ok());
}

TEST(ProgramLayout, ShortHeadersLeaveTheDataSizeToTheFile) {
  auto read = read_program_layout(file_with(200, 24, 100, 128, ~uint64_t{0}));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->segment_data_size, 0u);
  EXPECT_EQ(read->segment_end, 200u);
}

TEST(ProgramLayout, RefusesHeadersThatDoNotFit) {
  EXPECT_EQ(refused_field(file_with(178, 23, 100, 128, 50)), "extended_header.length");
  EXPECT_EQ(refused_field(file_with(178, 0, 100, 128, 50)), "extended_header.length");
  EXPECT_EQ(refused_field(file_with(178, 32, 39, 128, 50)), "extended_header.program_size");
  EXPECT_EQ(refused_field(file_with(178, 32, 179, 128, 50)), "extended_header.program_size");
  EXPECT_EQ(refused_field(file_with(178, ~uint32_t{0}, 100, 128, 50)), "extended_header.program_size");
  EXPECT_EQ(refused_field(file_with(178, 32, 100, 99, 50)), "extended_header.segment_base_offset");
  EXPECT_EQ(refused_field(file_with(178, 32, 100, 128, 51)), "extended_header.segment_data_size");
  EXPECT_EQ(refused_field(file_with(178, 32, 100, ~uint64_t{0} - 20, 50)), "extended_header.segment_data_size");
  EXPECT_EQ(refused_field(file_with(178, 24, 100, 200, 0)), "extended_header.segment_data_size");
}

TEST(ProgramLayout, RefusesOtherFiles) {
  EXPECT_EQ(refused_field({}), "size");
  EXPECT_EQ(refused_field(std::vector<std::byte>(63)), "size");
  EXPECT_EQ(refused_field(std::vector<std::byte>(64)), "identifier");
  std::vector<std::byte> file(64);
  std::memcpy(file.data() + 4, "ET13", 4);
  EXPECT_EQ(read_program_layout(file).status().code(), Code::unsupported);
  std::memcpy(file.data() + 4, "FT01", 4);
  EXPECT_THAT(read_program_layout(file).status().message(), HasSubstr(".ptd"));
}

}  // namespace
}  // namespace pteron::format
