#include "base/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

namespace pteron {
namespace {

class FileTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("pteron_file_test." + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const char* name) const { return folder_ / name; }
  size_t entries() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder_), std::filesystem::directory_iterator()));
  }
  std::filesystem::path folder_;
};

TEST_F(FileTest, RoundTripMapsAndCopies) {
  ASSERT_TRUE(write_file(path("a"), as_bytes("hello")).ok());
  auto mapped = FileBytes::map(path("a"));
  auto copied = FileBytes::copy(path("a"));
  ASSERT_TRUE(mapped.ok() && copied.ok());
  EXPECT_EQ(as_text(mapped->bytes()), "hello");
  EXPECT_EQ(as_text(copied->bytes()), "hello");
  EXPECT_TRUE(mapped->mapped());
  EXPECT_FALSE(copied->mapped());
  const std::byte* address = mapped->bytes().data();
  FileBytes moved = std::move(*mapped);
  EXPECT_EQ(moved.bytes().data(), address);
}

TEST_F(FileTest, EmptyFileIsEmpty) {
  ASSERT_TRUE(write_file(path("e"), {}).ok());
  EXPECT_TRUE(FileBytes::map(path("e"))->bytes().empty());
  EXPECT_TRUE(FileBytes::copy(path("e"))->bytes().empty());
}

TEST_F(FileTest, MissingFileAndFolderAreErrorsThatNameThem) {
  const Status missing = FileBytes::map(path("none")).status();
  EXPECT_EQ(missing.code(), Code::not_found);
  EXPECT_EQ(missing.detail().file, path("none"));
  EXPECT_EQ(FileBytes::map(folder_).code(), Code::invalid_argument);
}

TEST_F(FileTest, UncommittedWriterLeavesNothing) {
  {
    auto writer = FileWriter::create(path("w"));
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE(writer->write(as_bytes("half")).ok());
  }
  EXPECT_EQ(entries(), 0u);
}

TEST_F(FileTest, CommitReplacesAtomicallyWithTheAskedMode) {
  ASSERT_TRUE(write_file(path("w"), as_bytes("old")).ok());
  auto writer = FileWriter::create(path("w"), 0600);
  ASSERT_TRUE(writer->write(as_bytes("new")).ok());
  ASSERT_TRUE(writer->write_zeros(10000).ok());
  EXPECT_EQ(*read_text_file(path("w")), "old");
  ASSERT_TRUE(writer->commit().ok());
  EXPECT_EQ(read_text_file(path("w"))->size(), 10003u);
  EXPECT_EQ(entries(), 1u);
  struct stat info {};
  ASSERT_EQ(::stat(path("w").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0600u);
}

TEST_F(FileTest, TwoWritersOfOneFileDoNotMix) {
  auto first = FileWriter::create(path("w")), second = FileWriter::create(path("w"));
  ASSERT_TRUE(first.ok() && second.ok());
  ASSERT_TRUE(first->write(as_bytes("first")).ok() && second->write(as_bytes("second")).ok());
  ASSERT_TRUE(second->commit().ok());
  EXPECT_EQ(*read_text_file(path("w")), "second");
  ASSERT_TRUE(first->commit().ok());
  EXPECT_EQ(*read_text_file(path("w")), "first");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(FileTest, NamesAsLongAsTheFileSystemTakes) {
  const std::string longest(255, 'n'), longer(256, 'n');
  EXPECT_TRUE(write_file(path(longest.c_str()), as_bytes("x")).ok());
  EXPECT_EQ(write_file(path(longer.c_str()), as_bytes("x")).code(), Code::io_error);
  EXPECT_EQ(entries(), 1u);
}

TEST_F(FileTest, FullDeviceIsAnError) {
  auto writer = FileWriter::create("/dev/full");
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(writer->write(as_bytes("x")).ok());
  const Status status = writer->commit();
  EXPECT_EQ(status.code(), Code::io_error);
  EXPECT_EQ(status.detail().file, "/dev/full");
}

TEST_F(FileTest, WrittenBytesCanBeMappedBeforeMoreIsAppended) {
  auto writer = FileWriter::create(path("w"));
  ASSERT_TRUE(writer.ok());
  EXPECT_TRUE(writer->map_written()->bytes().empty());
  ASSERT_TRUE(writer->write(as_bytes("first")).ok());
  const FileBytes first = *writer->map_written();
  ASSERT_TRUE(writer->write(as_bytes("second")).ok());
  EXPECT_EQ(as_text(writer->map_written()->bytes()), "firstsecond");
  ASSERT_TRUE(writer->commit().ok());
  EXPECT_EQ(as_text(first.bytes()), "first");
  EXPECT_EQ(*read_text_file(path("w")), "firstsecond");
  EXPECT_EQ(FileWriter::create("/dev/null")->map_written().code(), Code::invalid_argument);
}

TEST_F(FileTest, AMappingTellsThatItsFileChanged) {
  ASSERT_TRUE(write_file(path("f"), as_bytes("before")).ok());
  const FileBytes mapped = *FileBytes::map(path("f")), copied = *FileBytes::copy(path("f"));
  EXPECT_TRUE(mapped.unchanged());
  ASSERT_TRUE(write_file(path("f"), as_bytes("another")).ok());
  EXPECT_TRUE(mapped.unchanged());  // replaced as a whole: the mapping is of the old file
  const FileBytes again = *FileBytes::map(path("f"));
  std::FILE* file = std::fopen(path("f").c_str(), "ab");
  std::fputs("more", file);
  std::fclose(file);
  EXPECT_FALSE(again.unchanged());
  EXPECT_TRUE(copied.unchanged());
  EXPECT_TRUE(FileBytes::borrow(as_bytes("x")).unchanged());
}

TEST_F(FileTest, LimitOfTextFiles) {
  ASSERT_TRUE(write_file(path("t"), as_bytes("12345")).ok());
  EXPECT_EQ(read_text_file(path("t"), 4).code(), Code::out_of_capacity);
  EXPECT_EQ(*read_text_file(path("t"), 5), "12345");
}

}  // namespace
}  // namespace pteron
