#include "format/flat_tensor.h"

#include <gtest/gtest.h>

#include "format/data_for_test.h"

namespace pteron::format {
namespace {

TEST(FlatTensorFile, ReadsTensorsOfTheStockExporter) {
  const auto bytes = file_bytes("valid/mlp.external_constants.ptd");
  auto file = FlatTensorFile::open(FileBytes::borrow(bytes));
  ASSERT_TRUE(file.ok()) << file.status().message();
  ASSERT_FALSE(file->entries().empty());
  for (const FlatTensor& entry : file->entries()) {
    ASSERT_TRUE(entry.layout.has_value()) << entry.key;
    size_t count = element_size(entry.layout->dtype);
    for (int32_t size : entry.layout->sizes) count *= static_cast<size_t>(size);
    EXPECT_EQ(entry.bytes.size(), count);
    EXPECT_EQ(file->find(entry.key), &entry);
  }
  EXPECT_EQ(file->find("no.such.tensor"), nullptr);
}

TEST(FlatTensorFile, ReadsOpaqueBlobs) {
  const auto bytes = file_bytes("valid/xnnpack.linear_f32_external.ptd");
  auto file = FlatTensorFile::open(FileBytes::borrow(bytes));
  ASSERT_TRUE(file.ok()) << file.status().message();
  ASSERT_FALSE(file->entries().empty());
  for (const FlatTensor& entry : file->entries()) EXPECT_FALSE(entry.layout.has_value());
}

TEST(FlatTensorFile, RefusesTruncationsAndNamesTheFile) {
  const auto bytes = file_bytes("valid/mlp.external_constants.ptd");
  for (size_t i = 0; i < 200; ++i) {
    const std::vector<std::byte> cut(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(bytes.size() * i / 200));
    EXPECT_FALSE(FlatTensorFile::open(FileBytes::borrow(cut)).ok()) << cut.size();
  }
  auto file = FileBytes::map(data_path("negative/ptd_magic.ptd"));
  ASSERT_TRUE(file.ok());
  const Status status = FlatTensorFile::open(std::move(file).value()).status();
  EXPECT_TRUE(status.detail().file.ends_with("ptd_magic.ptd")) << status.message();
}

}  // namespace
}  // namespace pteron::format
