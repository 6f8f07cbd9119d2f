#include "format/verified_program.h"

#include <gtest/gtest.h>

#include "format/data_for_test.h"
#include "package/open.h"

namespace pteron::format {
namespace {

static_assert(!std::is_default_constructible_v<PackageKey>, "only package makes one");
static_assert(!std::is_default_constructible_v<VerifiedProgram>);

VerifiedProgram opened(const std::string& name) {
  auto result = package::open(data_path("valid/" + name));
  EXPECT_TRUE(result.ok()) << result.status().message();
  return std::move(result).value().program;
}

const Tensor& first_tensor(const VerifiedProgram& program, bool planned) {
  for (const Value& value : program.program().plans[0].values) {
    const auto* tensor = std::get_if<Tensor>(&value);
    if (tensor && tensor->data_buffer_idx > 0 && tensor->allocation.has_value() == planned) return *tensor;
  }
  ADD_FAILURE();
  static const Tensor none;
  return none;
}

TEST(VerifiedProgram, CopiesKeepTheBytesAlive) {
  auto program = std::make_unique<VerifiedProgram>(opened("asm.constants_in_segment.pte"));
  const VerifiedProgram copy = *program;
  program.reset();
  const Tensor& tensor = first_tensor(copy, false);
  const ByteSpan bytes = copy.constant(tensor.data_buffer_idx, tensor.nbytes);
  EXPECT_EQ(bytes.size(), 12u);
  EXPECT_GE(bytes.data(), copy.file().data());
  EXPECT_EQ(load_unaligned<float>(bytes.data()), load_unaligned<float>(copy.segment(0)->data() + copy.program().constants->offsets[tensor.data_buffer_idx]));
  EXPECT_TRUE(copy.path().ends_with("asm.constants_in_segment.pte"));
}

TEST(VerifiedProgram, FindsMethodsByName) {
  const VerifiedProgram program = opened("methods.constants.pte");
  EXPECT_EQ(program.find_plan("forward"), &program.program().plans[0]);
  EXPECT_EQ(program.find_plan("backward"), nullptr);
}

TEST(VerifiedProgram, GivesInitialStateAndDelegateData) {
  const VerifiedProgram state = opened("state.partly_initialised.pte");
  const Tensor& tensor = first_tensor(state, true);
  EXPECT_EQ(state.initial_state(tensor.data_buffer_idx, tensor.nbytes).size(), tensor.nbytes);
  EXPECT_EQ(state.initial_state(tensor.data_buffer_idx, 1).data(), state.segment(1)->data() + state.program().mutable_data->offsets[tensor.data_buffer_idx]);

  const VerifiedProgram delegated = opened("xnnpack.two_delegates.pte");
  const auto& delegates = delegated.program().plans[0].delegates;
  ASSERT_EQ(delegates.size(), 2u);
  for (const Delegate& delegate : delegates) EXPECT_EQ(delegated.delegate_data(delegate).size(), 720u);
}

TEST(VerifiedProgram, LooksUpNamedData) {
  const VerifiedProgram program = opened("xnnpack.linear_f32.pte");
  const NamedData& last = program.program().named_data.back();
  auto bytes = program.named_data(last.key);
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ(bytes->data(), program.segment(last.segment_index)->data());
  EXPECT_EQ(program.named_data("no such key").status().code(), Code::not_found);
  EXPECT_EQ(program.segment(99).status().code(), Code::invalid_argument);
}

}  // namespace
}  // namespace pteron::format
