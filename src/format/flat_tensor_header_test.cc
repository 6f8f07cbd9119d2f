#include "format/flat_tensor_header.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pteron::format {
namespace {

std::vector<std::byte> file_with(size_t size, uint32_t length, uint64_t inserted, uint64_t flatbuffer_size, uint64_t base, uint64_t data_size) {
  std::vector<std::byte> file(size);
  std::memcpy(file.data() + 4, "FT01FH01", 8);
  store_unaligned(file.data() + 12, length);
  store_unaligned(file.data() + 16, inserted);
  store_unaligned(file.data() + 24, flatbuffer_size);
  store_unaligned(file.data() + 32, base);
  store_unaligned(file.data() + 40, data_size);
  return file;
}

std::string refused_field(const std::vector<std::byte>& file) { return read_flat_tensor_header(file).status().detail().field; }

TEST(FlatTensorHeader, ReadsWhatItMakes) {
  FlatTensorHeader header{148, 256, 10};
  std::vector<std::byte> file(266);
  std::memcpy(file.data() + 4, "FT01", 4);
  const auto block = make_flat_tensor_header(header);
  std::memcpy(file.data() + 8, block.data(), block.size());
  auto read = read_flat_tensor_header(file);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->flatbuffer_end, 148u);
  EXPECT_EQ(read->segment_base, 256u);
  EXPECT_EQ(read->segment_data_size, 10u);
  EXPECT_EQ(load_unaligned<uint64_t>(file.data() + 24), 100u);  // without the block itself
}

TEST(FlatTensorHeader, RefusesWhatDoesNotFit) {
  EXPECT_TRUE(read_flat_tensor_header(file_with(300, 40, 48, 100, 256, 44)).ok());
  EXPECT_EQ(refused_field(std::vector<std::byte>(63)), "size");
  EXPECT_EQ(refused_field(std::vector<std::byte>(64)), "identifier");
  auto file = file_with(300, 40, 48, 100, 256, 44);
  file[8] = std::byte{0};
  EXPECT_EQ(refused_field(file), "header.magic");
  EXPECT_EQ(refused_field(file_with(300, 39, 48, 100, 256, 44)), "header.length");
  EXPECT_EQ(refused_field(file_with(300, 40, 8, 100, 256, 44)), "header.flatbuffer_size");
  EXPECT_EQ(refused_field(file_with(300, 40, 48, 253, 256, 44)), "header.flatbuffer_size");
  EXPECT_EQ(refused_field(file_with(300, 40, 48, ~uint64_t{0}, 256, 44)), "header.flatbuffer_size");
  EXPECT_EQ(refused_field(file_with(300, 40, 48, 100, 147, 44)), "header.segment_data_size");
  EXPECT_EQ(refused_field(file_with(300, 40, 48, 100, 256, 45)), "header.segment_data_size");
  EXPECT_EQ(refused_field(file_with(300, 40, 48, 100, ~uint64_t{0} - 1, 44)), "header.segment_data_size");
}

}  // namespace
}  // namespace pteron::format
