#include "format/program_encoder.h"

#include <gtest/gtest.h>

#include <limits>

#include "format/program_reader.h"

namespace pteron::format {
namespace {

Tensor unplanned(std::vector<int32_t> sizes, std::vector<uint8_t> dim_order) {
  Tensor tensor;
  tensor.sizes = std::move(sizes);
  tensor.dim_order = std::move(dim_order);
  return tensor;
}

// A program that uses everything the schema has, apart from segments with bytes.
Program everything() {
  Tensor plain = unplanned({2, 3, 4}, {0, 2, 1});
  plain.dtype = ScalarType::BFloat16;
  plain.dynamism = ShapeDynamism::bound;
  Tensor planned = unplanned({}, {});
  planned.allocation = {2, 12};
  planned.name = "state";
  Tensor external = unplanned({0, 7}, {1, 0});
  external.external = true;
  external.name = "weights.\xc3\xa9";

  Plan plan;
  plan.name = "forward";
  plan.values = {plain,
                 planned,
                 external,
                 None{},
                 std::numeric_limits<int64_t>::min(),
                 int64_t{0},
                 false,
                 true,
                 -std::numeric_limits<double>::infinity(),
                 0.0,
                 std::string("with \0 inside", 13),
                 std::string(),
                 IntList{{5, 4, 5}},
                 IntList{},
                 BoolList{{true, false, true}},
                 DoubleList{{0.5, -2.0}},
                 TensorList{{0, 2}},
                 OptionalTensorList{{-1, 1, 3}}};
  plan.inputs = {0, 4};
  plan.outputs = {0, 0, 10};
  plan.operators = {{"aten::add", "out"}, {"aten::copy_", ""}};
  plan.delegates = {{"Backend", false, 0, {{"key", {std::byte{0}, std::byte{255}}}, {"", {}}}}};
  plan.chains = {{{KernelCall{0, {0, 0, 5, 0, 0}}, KernelCall{1, {}}, DelegateCall{0, {0}}, MoveCall{4, 5}, JumpFalseCall{6, 6}, FreeCall{0}}}, {}};
  plan.non_const_buffer_sizes = {0, 0, 1000};
  plan.non_const_buffer_device = {{2, 1, 3}};
  plan.encoded_inp_str = "T1#1($)";
  plan.encoded_out_str = "$";
  Plan constant;
  constant.name = "get_max_seq_len";
  constant.values = {int64_t{2048}};
  constant.outputs = {0};
  constant.chains = {{}};
  constant.non_const_buffer_sizes = {0};

  Program program;
  program.plans = {plan, constant};
  program.segments = {{0, 0}};
  program.inline_delegate_data = {ByteSpan()};
  program.constants = Subsegments{0, {0}};
  return program;
}

TEST(ProgramEncoder, IsReadBackAsItWas) {
  const Program program = everything();
  const std::vector<std::byte> bytes = encode_program(program);
  auto read = read_program(bytes);
  ASSERT_TRUE(read.ok()) << read.status().message();
  for (Value& value : read->plans[0].values) {
    if (auto* tensor = std::get_if<Tensor>(&value)) tensor->nbytes = 0;
  }
  EXPECT_EQ(read->plans, program.plans);
  EXPECT_EQ(read->segments, program.segments);
  EXPECT_EQ(read->constants, program.constants);
  EXPECT_FALSE(read->mutable_data.has_value());
  EXPECT_TRUE(read->named_data.empty());
  EXPECT_EQ(read->inline_delegate_data.size(), 1u);
  EXPECT_EQ(read->program_size, bytes.size());
}

TEST(ProgramEncoder, KeepsInlineBytesAligned) {
  const std::vector<std::byte> blob(5, std::byte{7}), constant(12, std::byte{9});
  Program program = everything();
  program.constants.reset();
  program.inline_delegate_data = {blob};
  program.inline_constants = {ByteSpan(), constant};
  const std::vector<std::byte> bytes = encode_program(program);
  auto read = read_program(bytes);
  ASSERT_TRUE(read.ok()) << read.status().message();
  ASSERT_EQ(read->inline_constants.size(), 2u);
  EXPECT_TRUE(std::equal(constant.begin(), constant.end(), read->inline_constants[1].begin(), read->inline_constants[1].end()));
  EXPECT_TRUE(std::equal(blob.begin(), blob.end(), read->inline_delegate_data[0].begin(), read->inline_delegate_data[0].end()));
  EXPECT_EQ((read->inline_constants[1].data() - bytes.data()) % 16, 0);
}

}  // namespace
}  // namespace pteron::format
