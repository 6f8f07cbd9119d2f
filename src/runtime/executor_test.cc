#include <gmock/gmock.h>

#include "runtime/program_for_test.h"

namespace pteron::runtime::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Executor, JumpsBackUntilTheConditionHolds) {
  TestProgram p;
  const int32_t i = p.value(int64_t{0}), one = p.value(int64_t{1}), limit = p.value(int64_t{1000}), done = p.value(false);
  p.call("executorch_prim::add", "Scalar", {i, one, i});
  p.call("executorch_prim::eq", "Scalar", {i, limit, done});
  p.add(format::JumpFalseCall{done, 0});
  p.plan.outputs = {i};
  auto method = p.load();
  ASSERT_TRUE(method.ok()) << method.status().message();
  ASSERT_TRUE(method->execute().ok());
  EXPECT_EQ(*method->output_int(0), 1000);
}

TEST(Executor, ALoopWithoutEndIsAnError) {
  TestProgram p;
  const int32_t never = p.value(false);
  p.add(format::JumpFalseCall{never, 0});
  auto method = p.load();
  ASSERT_TRUE(method.ok());
  const Status status = method->execute();
  EXPECT_EQ(status.code(), Code::invalid_data);
  EXPECT_THAT(status.message(), HasSubstr("10000000"));
}

TEST(Executor, ConditionsAreBools) {
  TestProgram number;
  const int32_t one = number.value(int64_t{1});
  number.add(format::JumpFalseCall{one, 0});
  auto by_number = number.load();
  ASSERT_TRUE(by_number.ok());
  EXPECT_EQ(by_number->execute().code(), Code::invalid_data);
  // A tensor condition holds if all elements do; zeros end the chain here.
  TestProgram tensor;
  const int32_t flags = tensor.planned({2}, ScalarType::Bool), result = tensor.value(int64_t{0}), one_more = tensor.value(int64_t{1});
  tensor.add(format::JumpFalseCall{flags, 2});
  tensor.call("executorch_prim::add", "Scalar", {result, one_more, result});
  tensor.plan.inputs = {flags};
  tensor.plan.outputs = {result};
  auto by_tensor = tensor.load();
  ASSERT_TRUE(by_tensor.ok());
  for (const auto& [second, expected] : {std::pair<uint8_t, int64_t>{0, 0}, {1, 1}}) {
    const uint8_t elements[] = {1, second};
    const std::vector<int32_t> sizes = {2};
    ASSERT_TRUE(by_tensor->set_input(0, TensorView{ScalarType::Bool, sizes, {}, elements, 2}).ok());
    ASSERT_TRUE(by_tensor->execute().ok());
    EXPECT_EQ(*by_tensor->output_int(0), expected);
  }
}

TEST(Executor, MovesMakeTwoValuesOneTensor) {
  TestProgram p;
  const int32_t x = p.planned({1}), y = p.planned({1});
  p.add(format::MoveCall{x, y});
  p.plan.inputs = {x};
  p.plan.outputs = {y, x};
  auto method = p.load();
  ASSERT_TRUE(method.ok());
  ASSERT_TRUE(method->set_input(0, view_of({5}, {1})).ok());
  ASSERT_TRUE(method->execute().ok());
  EXPECT_EQ(method->output(0)->data, method->output(1)->data);
}

TEST(Executor, FreedTensorsAreGoneUntilTheNextExecution) {
  TestProgram p;
  const int32_t x = p.planned({1}), y = p.planned({1}), z = p.planned({1});
  p.call("aten::neg", "out", {x, y, y});
  p.call("aten::neg", "out", {y, z, z});
  p.add(format::FreeCall{y});
  p.plan.inputs = {x};
  p.plan.outputs = {z, y};
  auto method = p.load();
  ASSERT_TRUE(method.ok());
  ASSERT_TRUE(method->set_input(0, view_of({5}, {1})).ok());
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(method->execute().ok());
    EXPECT_THAT(floats_of(*method->output(0)), ElementsAre(5));
    EXPECT_EQ(method->output(1)->data, nullptr);
  }
  TestProgram number;
  const int32_t n = number.value(int64_t{1});
  number.add(format::FreeCall{n});
  auto bad = number.load();
  ASSERT_TRUE(bad.ok());
  EXPECT_EQ(bad->execute().code(), Code::invalid_data);
}

TEST(Executor, ErrorsNameTheInstructionAndLeaveTheMethodUsable) {
  TestProgram p;
  const int32_t x = p.planned({2}), index = p.planned({1}, ScalarType::Long), zero = p.value(int64_t{0}), y = p.planned({1});
  p.call("aten::index_select", "out", {x, zero, index, y, y});
  p.plan.inputs = {x, index};
  p.plan.outputs = {y};
  auto method = p.load();
  ASSERT_TRUE(method.ok()) << method.status().message();
  ASSERT_TRUE(method->set_input(0, view_of({5, 6}, {2})).ok());
  const std::vector<int32_t> sizes = {1};
  const int64_t far = 9, near = 1;
  ASSERT_TRUE(method->set_input(1, TensorView{ScalarType::Long, sizes, {}, &far, 8}).ok());
  const Status status = method->execute();
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_THAT(status.message(), HasSubstr("forward instruction 0 aten::index_select.out"));
  ASSERT_TRUE(method->set_input(1, TensorView{ScalarType::Long, sizes, {}, &near, 8}).ok());
  ASSERT_TRUE(method->execute().ok());
  EXPECT_THAT(floats_of(*method->output(0)), ElementsAre(6));
}

}  // namespace
}  // namespace pteron::runtime::testing
