#include "runtime/method.h"

#include <gmock/gmock.h>

#include "runtime/program_for_test.h"

namespace pteron::runtime::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// y = x + state; state = y, with an unplanned input and output where asked.
TestProgram accumulator(bool planned_io) {
  TestProgram p;
  const int32_t x = planned_io ? p.planned({2}, ScalarType::Float, true) : p.unplanned({2}, ScalarType::Float, true);
  const int32_t y = planned_io ? p.planned({2}, ScalarType::Float, true) : p.unplanned({2}, ScalarType::Float, true);
  const int32_t state = p.state({2}, {100, 200}), one = p.value(int64_t{1}), no = p.value(false), result = p.value(int64_t{0});
  p.call("aten::add", "out", {x, state, one, y, y});
  p.call("aten::copy_", "", {state, y, no, result});
  p.plan.inputs = {x};
  p.plan.outputs = {y};
  return p;
}

TEST(Method, StateLastsAndResetBringsBackTheStart) {
  TestProgram p = accumulator(true);
  auto method = p.load();
  ASSERT_TRUE(method.ok()) << method.status().message();
  ASSERT_TRUE(method->set_input(0, view_of({1, 2}, {2})).ok());
  ASSERT_TRUE(method->execute().ok());
  ASSERT_TRUE(method->execute().ok());  // inputs stay set
  EXPECT_THAT(floats_of(*method->output(0)), ElementsAre(102, 204));
  ASSERT_TRUE(method->reset().ok());
  ASSERT_TRUE(method->set_input(0, view_of({1, 2}, {2})).ok());
  ASSERT_TRUE(method->execute().ok());
  EXPECT_THAT(floats_of(*method->output(0)), ElementsAre(101, 202));
}

TEST(Method, UnplannedBuffersAreTheCallers) {
  TestProgram p = accumulator(false);
  auto method = p.load();
  ASSERT_TRUE(method.ok());
  std::vector<float> in = {1, 2}, out(2);
  const std::vector<int32_t> sizes = {2};
  ASSERT_TRUE(method->set_input(0, view_of(in, sizes)).ok());
  EXPECT_FALSE(method->execute().ok());  // nobody has given the output memory
  ASSERT_TRUE(method->bind_output(0, {ScalarType::Float, sizes, {}, out.data(), 8}).ok());
  in[0] = 7;
  ASSERT_TRUE(method->execute().ok());
  EXPECT_THAT(out, ElementsAre(107, 202));
}

TEST(Method, OutputsCanBeAllocatedOnDemand) {
  TestProgram p = accumulator(false);
  auto method = p.load();
  ASSERT_TRUE(method.ok());
  const std::vector<float> in = {1, 2};
  const std::vector<int32_t> sizes = {2};
  ASSERT_TRUE(method->set_input(0, view_of(in, sizes)).ok());
  ASSERT_TRUE(method->allocate_outputs().ok());
  ASSERT_TRUE(method->execute().ok());
  EXPECT_THAT(floats_of(*method->output(0)), ElementsAre(101, 202));
}

TEST(Method, InputsAreChecked) {
  TestProgram p = accumulator(true);
  auto method = p.load();
  ASSERT_TRUE(method.ok());
  EXPECT_EQ(method->execute().code(), Code::invalid_argument);  // not set
  const std::vector<int32_t> two = {2}, three = {3}, matrix = {1, 2};
  const float elements[3] = {};
  EXPECT_EQ(method->set_input(1, TensorView{ScalarType::Float, two, {}, elements, 8}).code(), Code::invalid_argument);
  EXPECT_EQ(method->set_input(0, int64_t{1}).code(), Code::invalid_argument);
  EXPECT_EQ(method->set_input(0, TensorView{ScalarType::Int, two, {}, elements, 8}).code(), Code::invalid_argument);
  EXPECT_EQ(method->set_input(0, TensorView{ScalarType::Float, three, {}, elements, 12}).code(), Code::out_of_capacity);
  EXPECT_EQ(method->set_input(0, TensorView{ScalarType::Float, matrix, {}, elements, 8}).code(), Code::unsupported);
  EXPECT_EQ(method->set_input(0, TensorView{ScalarType::Float, two, {}, elements, 4}).code(), Code::invalid_argument);
  EXPECT_EQ(method->set_input(0, TensorView{ScalarType::Float, two, {}, nullptr, 8}).code(), Code::invalid_argument);
}

TEST(Method, ScalarInputsAreSpecialisations) {
  TestProgram p;
  const int32_t i = p.value(int64_t{3}), d = p.value(0.5), b = p.value(true), s = p.value(std::string("relu")),
                none = p.value(format::None{});
  p.plan.inputs = {i, d, b, s, none};
  p.plan.outputs = {s, i, d, b, none};
  auto method = p.load();
  ASSERT_TRUE(method.ok());
  EXPECT_EQ(method->set_input(0, int64_t{4}).code(), Code::invalid_argument);
  EXPECT_EQ(method->set_input(0, 3.0).code(), Code::invalid_argument);
  EXPECT_TRUE(method->set_input(0, int64_t{3}).ok());
  EXPECT_TRUE(method->set_input(1, 0.50001).ok());
  EXPECT_EQ(method->set_input(1, 0.6).code(), Code::invalid_argument);
  EXPECT_EQ(method->set_input(2, false).code(), Code::invalid_argument);
  EXPECT_TRUE(method->set_input(2, true).ok());
  EXPECT_THAT(method->set_input(3, std::string_view("gelu")).message(), HasSubstr("relu"));
  EXPECT_TRUE(method->set_input(3, std::string_view("relu")).ok());
  EXPECT_EQ(method->execute().code(), Code::invalid_argument);  // even None must be given once
  EXPECT_TRUE(method->set_input_none(4).ok());
  ASSERT_TRUE(method->execute().ok());
  EXPECT_EQ(*method->output_string(0), "relu");
  EXPECT_EQ(*method->output_int(1), 3);
  EXPECT_EQ(*method->output_double(2), 0.5);
  EXPECT_EQ(*method->output_bool(3), true);
  EXPECT_EQ(method->output_kind(4), ValueKind::none);
  EXPECT_EQ(method->output_int(0).code(), Code::invalid_argument);
  EXPECT_EQ(method->output(9).code(), Code::invalid_argument);
}

TEST(Method, OutputBuffersAreChecked) {
  TestProgram p = accumulator(false), q = accumulator(true);
  auto method = p.load(), planned = q.load();
  ASSERT_TRUE(method.ok() && planned.ok());
  float out[2];
  const std::vector<int32_t> sizes = {2};
  EXPECT_EQ(method->bind_output(0, {ScalarType::Float, sizes, {}, out, 4}).code(), Code::invalid_argument);
  EXPECT_EQ(method->bind_output(0, {ScalarType::Int, sizes, {}, out, 8}).code(), Code::invalid_argument);
  EXPECT_EQ(method->bind_output(0, {ScalarType::Float, sizes, {}, reinterpret_cast<char*>(out) + 1, 8}).code(), Code::invalid_argument);
  EXPECT_EQ(method->bind_output(1, {ScalarType::Float, sizes, {}, out, 8}).code(), Code::invalid_argument);
  EXPECT_THAT(planned->bind_output(0, {ScalarType::Float, sizes, {}, out, 8}).message(), HasSubstr("planned"));
}

TEST(Method, ConstantsAreNeverWritten) {
  TestProgram p;
  const int32_t x = p.planned({2}), c = p.constant({2}, {1, 2}), view = p.unplanned({1, 2}), sizes = p.ints({1, 2}), no = p.value(false);
  p.call("executorch_prim::et_view", "default", {c, sizes, view});
  p.call("aten::copy_", "", {view, x, no, view});
  p.plan.inputs = {x};
  auto method = p.load();
  ASSERT_TRUE(method.ok()) << method.status().message();
  const std::vector<float> elements = {5, 6};
  const std::vector<int32_t> two = {2};
  ASSERT_TRUE(method->set_input(0, view_of(elements, two)).ok());
  EXPECT_THAT(method->execute().message(), HasSubstr("constant"));
  p.plan.inputs = {c};
  auto input = p.load();
  ASSERT_TRUE(input.ok());
  EXPECT_THAT(input->set_input(0, view_of(elements, two)).message(), HasSubstr("constant"));
  TestProgram q;
  const int32_t constant = q.constant({2}, {1, 2});
  q.call("aten::neg", "out", {constant, constant, constant});
  auto writer = q.load();
  ASSERT_TRUE(writer.ok());
  EXPECT_THAT(writer->execute().message(), HasSubstr("constant"));
}

TEST(Method, InfosDescribeWithoutLoading) {
  TestProgram p = accumulator(true);
  const auto infos = method_infos(p.open());
  ASSERT_EQ(infos.size(), 1u);
  EXPECT_EQ(infos[0].name, "forward");
  EXPECT_FALSE(infos[0].constant);
  EXPECT_THAT(infos[0].operators, ElementsAre("aten::add.out", "aten::copy_"));
  EXPECT_EQ(infos[0].arena_bytes[0], p.plan.non_const_buffer_sizes[1]);
  EXPECT_TRUE(infos[0].inputs[0].planned);
  EXPECT_TRUE(infos[0].inputs[0].dynamic);
  EXPECT_EQ(infos[0].inputs[0].nbytes, 8u);
}

}  // namespace
}  // namespace pteron::runtime::testing
