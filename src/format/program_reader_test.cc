#include "format/program_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/bundled_program.h"
#include "format/flat_tensor.h"
#include "format/data_for_test.h"

namespace pteron::format {
namespace {

using Json = nlohmann::json;

// An input or output as the index writes it: the sizes of a tensor, the kind of anything else.
Json describe(const Value& value) {
  if (const auto* tensor = std::get_if<Tensor>(&value)) return tensor->sizes;
  if (std::holds_alternative<int64_t>(value)) return "int";
  if (std::holds_alternative<double>(value)) return "double";
  if (std::holds_alternative<bool>(value)) return "bool";
  if (std::holds_alternative<std::string>(value)) return "string";
  return "none";
}

Json describe(const Plan& plan) {
  Json json = {{"name", plan.name}, {"inputs", Json::array()}, {"outputs", Json::array()}, {"arenas", Json::array()}};
  for (int32_t index : plan.inputs) json["inputs"].push_back(describe(plan.values[static_cast<size_t>(index)]));
  for (int32_t index : plan.outputs) json["outputs"].push_back(describe(plan.values[static_cast<size_t>(index)]));
  for (size_t i = 1; i < plan.non_const_buffer_sizes.size(); ++i) json["arenas"].push_back(plan.non_const_buffer_sizes[i]);
  return json;
}

TEST(ProgramReader, ReadsWhatTheStockExporterWrites) {
  for (const Json& entry : data_index("valid")) {
    const std::string name = entry["file"];
    const auto bytes = file_bytes("valid/" + name);
    auto program = read_program(bytes);
    ASSERT_TRUE(program.ok()) << name << ": " << program.status().message();
    Json methods = Json::array();
    for (const Plan& plan : program->plans) methods.push_back(describe(plan));
    EXPECT_EQ(methods, entry["methods"]) << name;
    for (const Json& data : entry.value("data", Json::array())) {
      const auto external = file_bytes("valid/" + data.get<std::string>());
      EXPECT_TRUE(FlatTensorFile::open(FileBytes::borrow(external)).ok()) << data;
    }
  }
}

// What the format can tell of the malformed files; kernels and backends refuse the rest when a method is loaded or run.
Status read_any(const std::string& name, ByteSpan bytes) {
  if (name.ends_with(".ptd")) return FlatTensorFile::open(FileBytes::borrow(bytes)).status();
  if (!is_bundled_program(bytes)) return read_program(bytes).status();
  auto bundle = read_bundled_program(bytes);
  return bundle.ok() ? read_program(bundle->program).status() : bundle.status();
}

TEST(ProgramReader, RefusesMalformedFilesAndNamesTheField) {
  for (const Json& entry : data_index("negative")) {
    const std::string name = entry["file"];
    const auto bytes = file_bytes("negative/" + name);
    const Status status = read_any(name, bytes);
    ASSERT_FALSE(status.ok()) << name << ": " << entry["why"];
    EXPECT_EQ(status.detail().field, entry["field"]) << name;
    EXPECT_NE(status.message().find("expected"), std::string::npos) << status.message();
    EXPECT_NE(status.message().find("found"), std::string::npos) << status.message();
  }
}

TEST(ProgramReader, RefusesTruncations) {
  for (const char* name : {"valid/bundled.mlp.pte", "valid/asm.loop_sum.pte", "valid/xnnpack.linear_f32.pte"}) {
    const auto bytes = file_bytes(name);
    for (size_t i = 0; i < 200; ++i) {
      const std::vector<std::byte> cut(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(bytes.size() * i / 200));
      EXPECT_FALSE(read_program(cut).ok()) << name << " cut to " << cut.size();
    }
  }
  // What follows the segments may go, and more may come.
  auto bytes = file_bytes("valid/asm.trailing_bytes.pte");
  auto program = read_program(bytes);
  ASSERT_TRUE(program.ok());
  const uint64_t end = program->segment_base + program->segment_data_size;
  ASSERT_LT(end, bytes.size());
  for (size_t size = end - 20; size <= bytes.size(); ++size) {
    const std::vector<std::byte> cut(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size));
    EXPECT_EQ(read_program(cut).ok(), size >= end) << size;
  }
  bytes.resize(bytes.size() + 1000);
  EXPECT_TRUE(read_program(bytes).ok());
}

TEST(ProgramReader, ReadsInlineConstants) {
  const auto bytes = file_bytes("valid/asm.constants_inline.pte");
  auto program = read_program(bytes);
  ASSERT_TRUE(program.ok()) << program.status().message();
  ASSERT_GE(program->inline_constants.size(), 2u);
  EXPECT_EQ(program->inline_constants[1].size(), 12u);
  EXPECT_GE(program->inline_constants[1].data(), bytes.data());
}

TEST(ProgramReader, RefusesAnUnalignedAddress) {
  const auto bytes = file_bytes("valid/asm.loop_sum.pte");
  std::vector<std::byte> shifted(bytes.size() + 8);
  std::copy(bytes.begin(), bytes.end(), shifted.begin() + 8);
  const Status status = read_program(ByteSpan(shifted).subspan(8)).status();
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_EQ(status.detail().field, "address");
}

}  // namespace
}  // namespace pteron::format
