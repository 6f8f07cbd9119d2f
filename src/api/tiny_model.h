// For tests of this folder: a tiny language model, exported once, in a folder that goes with the fixture.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "pteron/compile.h"

namespace pteron {

class TinyModel : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder() = std::filesystem::temp_directory_path() / ("pteron_api_test." + std::to_string(::getpid()));
    std::filesystem::create_directories(folder());
    const Result<ExportReport> made = export_program(request());
    ASSERT_TRUE(made.ok()) << made.status().message();
  }
  static void TearDownTestSuite() { std::filesystem::remove_all(folder()); }

  // A folder for what a test writes; made and removed with the test.
  void SetUp() override { std::filesystem::create_directories(scratch()); }
  void TearDown() override { std::filesystem::remove_all(scratch()); }

  static std::filesystem::path& folder() {
    static auto* const path = new std::filesystem::path;
    return *path;
  }
  static std::filesystem::path scratch() { return folder() / "scratch"; }
  static std::string model() { return folder() / "model.pte"; }
  static std::string data(const std::string& name) { return std::string(PTERON_TEST_DATA) + "/" + name; }
  static size_t entries(const std::filesystem::path& path) {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(path), std::filesystem::directory_iterator()));
  }

  // 64 tokens of context, 8 rows of prefill, 256 tokens in the vocabulary, a byte-level tokenizer of other tokens.
  static ExportRequest request() {
    ExportRequest request;
    request.source = data("arch/llama_gqa");
    request.output = model();
    request.backend = "portable";
    request.context_length = 64;
    request.prefill_rows = 8;
    return request;
  }
};

}  // namespace pteron
