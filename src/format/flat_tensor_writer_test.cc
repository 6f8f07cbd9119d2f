#include <gtest/gtest.h>

#include "format/data_for_test.h"
#include "format/flat_tensor.h"

namespace pteron::format {
namespace {

Blob text_blob(std::string_view text) { return borrowed_blob(as_bytes(text)); }

TensorLayout bytes_layout(int32_t size) { return {ScalarType::Byte, {size}, {0}}; }

std::vector<std::byte> must_write(const std::vector<FlatTensorToWrite>& tensors) {
  std::vector<std::byte> file;
  const Status status = write_flat_tensors(tensors, [&](ByteSpan bytes) {
    file.insert(file.end(), bytes.begin(), bytes.end());
    return Status();
  });
  EXPECT_TRUE(status.ok()) << status.message();
  return file;
}

FlatTensorFile must_open(const std::vector<std::byte>& bytes) {
  auto file = FlatTensorFile::open(FileBytes::borrow(bytes));
  EXPECT_TRUE(file.ok()) << file.status().message();
  return std::move(file).value();
}

TEST(FlatTensorWriter, IsReadBackAsItWas) {
  const auto bytes = must_write({{"b", bytes_layout(3), text_blob("abc")}, {"a", std::nullopt, text_blob("opaque"), 256}, {"c", bytes_layout(3), text_blob("abc")}});
  const FlatTensorFile file = must_open(bytes);
  ASSERT_EQ(file.entries().size(), 3u);
  EXPECT_EQ(file.entries()[0].key, "a");
  EXPECT_FALSE(file.find("a")->layout.has_value());
  EXPECT_EQ(as_text(file.find("a")->bytes), "opaque");
  EXPECT_EQ(file.find("b")->layout, bytes_layout(3));
  EXPECT_EQ(as_text(file.find("b")->bytes), "abc");
  EXPECT_EQ(file.find("c")->bytes.data(), file.find("b")->bytes.data());  // stored once
  EXPECT_EQ(as_text(ByteSpan(bytes).subspan(4, 8)), "FT01FH01");
}

TEST(FlatTensorWriter, WritesFilesWithoutData) {
  EXPECT_TRUE(must_open(must_write({})).entries().empty());
  EXPECT_TRUE(must_open(must_write({{"empty", bytes_layout(0), Blob()}})).find("empty")->bytes.empty());
}

TEST(FlatTensorWriter, WritesAgainWhatItRead) {
  const auto first = file_bytes("valid/mlp.external_constants.ptd");
  const FlatTensorFile file = must_open(first);
  std::vector<FlatTensorToWrite> tensors;
  for (const FlatTensor& entry : file.entries()) tensors.push_back({entry.key, entry.layout, borrowed_blob(entry.bytes)});
  const auto second = must_write(tensors);
  const FlatTensorFile again = must_open(second);
  ASSERT_EQ(again.entries().size(), file.entries().size());
  for (size_t i = 0; i < file.entries().size(); ++i) {
    EXPECT_EQ(again.entries()[i].key, file.entries()[i].key);
    EXPECT_EQ(again.entries()[i].layout, file.entries()[i].layout);
    EXPECT_EQ(as_text(again.entries()[i].bytes), as_text(file.entries()[i].bytes));
  }
}

TEST(FlatTensorWriter, RefusesWhatItCouldNotRead) {
  const auto refused = [](const std::vector<FlatTensorToWrite>& tensors) {
    return write_flat_tensors(tensors, [](ByteSpan) { return Status(); }).detail().field;
  };
  EXPECT_EQ(refused({{"", std::nullopt, text_blob("x")}}), "named_data.key");
  EXPECT_EQ(refused({{"k", std::nullopt, text_blob("x")}, {"k", std::nullopt, text_blob("y")}}), "named_data.key");
  EXPECT_EQ(refused({{"k", bytes_layout(4), text_blob("abc")}}), "named_data.k");
  EXPECT_EQ(refused({{"k", std::nullopt, text_blob("x"), 0}}), "named_data.k");
}

}  // namespace
}  // namespace pteron::format
