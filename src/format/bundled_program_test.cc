#include "format/bundled_program.h"

#include <gtest/gtest.h>

#include "format/data_for_test.h"
#include "format/program_reader.h"

namespace pteron::format {
namespace {

TEST(BundledProgram, ReadsWhatTheStockExporterWrites) {
  const auto bytes = file_bytes("valid/bundled.mlp.bpte");
  ASSERT_TRUE(is_bundled_program(bytes));
  auto bundle = read_bundled_program(bytes);
  ASSERT_TRUE(bundle.ok()) << bundle.status().message();
  ASSERT_EQ(bundle->suites.size(), 1u);
  EXPECT_EQ(bundle->suites[0].method, "forward");
  ASSERT_FALSE(bundle->suites[0].cases.empty());
  const BundledCase& first = bundle->suites[0].cases[0];
  ASSERT_EQ(first.inputs.size(), 1u);
  const auto& input = std::get<BundledTensor>(first.inputs[0]);
  EXPECT_EQ(input.dtype, ScalarType::Float);
  EXPECT_EQ(input.data.size(), 4u * static_cast<size_t>(input.sizes[0]) * static_cast<size_t>(input.sizes[1]));
  EXPECT_EQ(as_text(bundle->program), as_text(file_bytes("valid/bundled.mlp.pte")));
  EXPECT_TRUE(read_program(bundle->program).ok());
  EXPECT_FALSE(is_bundled_program(bundle->program));
}

TEST(BundledProgram, RefusesTruncations) {
  const auto bytes = file_bytes("valid/bundled.mlp.bpte");
  for (size_t i = 0; i < 200; ++i) {
    const std::vector<std::byte> cut(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(bytes.size() * i / 200));
    EXPECT_FALSE(read_bundled_program(cut).ok()) << cut.size();
  }
}

class BundledProgramWriting : public testing::Test {
 protected:
  Status write(const BundledProgram& bundle) {
    auto out = FileWriter::create(path_);
    EXPECT_TRUE(out.ok());
    Status status = write_bundled_program(bundle, *out);
    return status.ok() ? out->commit() : std::move(status);
  }
  const std::string path_ = testing::TempDir() + "/bundle_test.bpte";
  const std::vector<float> numbers_ = {1, 2, 3, 4, 5, 6};
  const BundledTensor tensor_ = {ScalarType::Float, {2, 3}, {1, 0}, std::as_bytes(std::span(numbers_))};
};

TEST_F(BundledProgramWriting, IsReadBackAsItWas) {
  const auto program = file_bytes("valid/asm.loop_sum.pte");
  BundledProgram bundle;
  bundle.program = program;
  bundle.suites = {{"second", {{{int64_t{-3}, true, 0.25, tensor_}, {tensor_}}, {}}}, {"first", {}}};
  const Status status = write(bundle);
  ASSERT_TRUE(status.ok()) << status.message();
  auto file = FileBytes::copy(path_);
  ASSERT_TRUE(file.ok());
  auto read = read_bundled_program(file->bytes());
  ASSERT_TRUE(read.ok()) << read.status().message();
  ASSERT_EQ(read->suites.size(), 2u);
  EXPECT_EQ(read->suites[0].method, "first");  // sorted
  const BundledSuite& suite = read->suites[1];
  ASSERT_EQ(suite.cases.size(), 2u);
  ASSERT_EQ(suite.cases[0].inputs.size(), 4u);
  EXPECT_EQ(std::get<int64_t>(suite.cases[0].inputs[0]), -3);
  EXPECT_EQ(std::get<bool>(suite.cases[0].inputs[1]), true);
  EXPECT_EQ(std::get<double>(suite.cases[0].inputs[2]), 0.25);
  const auto& tensor = std::get<BundledTensor>(suite.cases[0].expected_outputs[0]);
  EXPECT_EQ(tensor.sizes, tensor_.sizes);
  EXPECT_EQ(tensor.dim_order, tensor_.dim_order);
  EXPECT_EQ(as_text(tensor.data), as_text(tensor_.data));
  EXPECT_TRUE(suite.cases[1].inputs.empty());
  EXPECT_EQ(as_text(read->program), as_text(program));
  EXPECT_EQ((read->program.data() - file->bytes().data()) % 32, 0);
}

TEST_F(BundledProgramWriting, RefusesTensorsWithoutTheirData) {
  BundledTensor wrong = tensor_;
  wrong.data = wrong.data.first(20);
  BundledProgram bundle;
  bundle.suites = {{"forward", {{{int64_t{1}, wrong}, {}}}}};
  EXPECT_EQ(write(bundle).detail().field, "values[1].data");
  wrong.sizes = {-1, 3};
  bundle.suites[0].cases[0].inputs[1] = wrong;
  EXPECT_EQ(write(bundle).detail().field, "values[1].sizes[0]");
  bundle.suites = {{"forward", {}}, {"forward", {}}};
  EXPECT_EQ(write(bundle).detail().found, "two for 'forward'");
  bundle.suites = {{"", {}}};
  EXPECT_EQ(write(bundle).detail().field, "method_name");
}

}  // namespace
}  // namespace pteron::format
