#include "pteron/tensor_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

namespace pteron {
namespace {

class TensorFiles : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("pteron_tensor_file_test." + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path() const { return folder_ / "t.safetensors"; }
  std::filesystem::path folder_;
};

TEST_F(TensorFiles, WhatIsWrittenIsRead) {
  const float numbers[] = {1, -2, 3.5f, 0, 5, 6};
  const int32_t sizes[] = {2, 3}, none[] = {0};
  const bool flag = true;
  ASSERT_TRUE(write_tensor_file(path(), {{"z", {ScalarType::Float, sizes, {}, numbers, sizeof numbers}},
                                         {"flag \"quoted\"", {ScalarType::Bool, {}, {}, &flag, 1}},
                                         {"empty", {ScalarType::Long, none, {}, nullptr, 0}}})
                  .ok());
  const Result<TensorFile> file = TensorFile::open(path());
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->names(), (std::vector<std::string>{"empty", "flag \"quoted\"", "z"}));
  const Result<TensorView> z = file->tensor("z");
  ASSERT_TRUE(z.ok());
  EXPECT_EQ(z->dtype, ScalarType::Float);
  EXPECT_TRUE(std::equal(z->sizes.begin(), z->sizes.end(), sizes, sizes + 2));
  EXPECT_EQ(std::memcmp(z->data, numbers, sizeof numbers), 0);
  EXPECT_EQ(file->tensor("flag \"quoted\"")->sizes.size(), 0u);
  EXPECT_EQ(file->tensor("empty")->nbytes, 0u);
}

TEST_F(TensorFiles, ErrorsNameFileAndTensor) {
  const float number = 1;
  const int32_t two[] = {2};
  Status status = write_tensor_file(path(), {{"t", {ScalarType::Float, two, {}, &number, sizeof number}}});
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_EQ(status.detail().field, "t");
  status = write_tensor_file(path(), {{"q", {ScalarType::QInt8, {}, {}, &number, 1}}});
  EXPECT_EQ(status.code(), Code::unsupported);
  EXPECT_FALSE(std::filesystem::exists(path()));

  ASSERT_TRUE(write_tensor_file(path(), {{"t", {ScalarType::Float, {}, {}, &number, sizeof number}}}).ok());
  status = TensorFile::open(path())->tensor("u").status();
  EXPECT_EQ(status.code(), Code::not_found);
  EXPECT_EQ(status.detail().file, path());
  std::filesystem::resize_file(path(), std::filesystem::file_size(path()) - 1);
  status = TensorFile::open(path()).status();
  EXPECT_EQ(status.code(), Code::invalid_data);
  EXPECT_EQ(status.detail().file, path());
}

}  // namespace
}  // namespace pteron
