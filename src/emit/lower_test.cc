#include "emit/lower.h"

#include <gtest/gtest.h>

#include "ir/parser.h"

namespace pteron::emit {
namespace {

struct Lowered {
  ir::Module module;
  std::vector<DelegateBlob> delegates;
  LoweredMethod method;
  std::string error;
};

void lower_text(const char* text, Lowered& out, LowerOptions options = {}) {
  auto module = ir::parse(text);
  ASSERT_TRUE(module.ok()) << module.status().message();
  out.module = std::move(*module);
  ConstantTable constants(out.module);
  auto method = lower(out.module.methods[0], out.delegates, options, constants);
  if (method.ok()) out.method = std::move(*method);
  else out.error = method.status().message();
}

// One instruction as text: "aten::add.out(0, 1, int 1, 2, 2)".
std::string text(const format::Plan& plan, const format::Instruction& instruction) {
  if (const auto* call = std::get_if<format::DelegateCall>(&instruction)) {
    std::string out = "delegate " + std::to_string(call->delegate_index) + "(";
    for (size_t i = 0; i < call->args.size(); ++i) out += (i > 0 ? ", " : "") + std::to_string(call->args[i]);
    return out + ")";
  }
  const auto& call = std::get<format::KernelCall>(instruction);
  const format::Operator& op = plan.operators[static_cast<size_t>(call.op_index)];
  std::string out = op.name + (op.overload.empty() ? "" : "." + op.overload) + "(";
  for (size_t i = 0; i < call.args.size(); ++i) {
    const format::Value& value = plan.values[static_cast<size_t>(call.args[i])];
    if (i > 0) out += ", ";
    if (const auto* n = std::get_if<int64_t>(&value)) out += "int " + std::to_string(*n);
    else if (const auto* d = std::get_if<double>(&value)) out += "double " + std::to_string(*d);
    else if (const auto* b = std::get_if<bool>(&value)) out += *b ? "true" : "false";
    else if (const auto* s = std::get_if<std::string>(&value)) out += "'" + *s + "'";
    else if (std::holds_alternative<format::None>(value)) out += "none";
    else if (const auto* list = std::get_if<format::OptionalTensorList>(&value)) {
      out += "[";
      for (int32_t item : list->items) out += std::to_string(item) + " ";
      out += "]";
    } else if (const auto* ints = std::get_if<format::IntList>(&value)) {
      out += "ints[";
      for (int32_t item : ints->items) out += std::to_string(std::get<int64_t>(plan.values[static_cast<size_t>(item)])) + " ";
      out += "]";
    } else {
      out += std::to_string(call.args[i]);
    }
  }
  return out + ")";
}

const format::Tensor& tensor(const format::Plan& plan, int32_t index) { return std::get<format::Tensor>(plan.values[static_cast<size_t>(index)]); }

TEST(Lower, ArgumentsFollowTheSchemaWithOutAndReturnEntries) {
  Lowered out;
  lower_text(R"(const @w : float32[2] = values [1.0, 2.0]
method @m {
  input %0 "x" user : float32[3,2]
  %1 : float32[3,2] = aten::add.out(%0, @w, alpha=2)
  %2 : float32[3,2], %3 : float32[3,1], %4 : float32[3,1] = aten::native_layer_norm.out(%1, none, none, normalized_shape=[2], eps=0.5)
  %5 : float32[3,2] = aten::gelu.out(%2, approximate="tanh")
  output %5 "y" user
}
)", out);
  const format::Plan& plan = out.method.plan;
  const auto& instructions = plan.chains[0].instructions;
  ASSERT_EQ(instructions.size(), 3u);
  EXPECT_EQ(text(plan, instructions[0]), "aten::add.out(0, 1, int 2, 3, 3)");
  const auto& norm = std::get<format::KernelCall>(instructions[1]);
  ASSERT_EQ(norm.args.size(), 9u) << "five arguments, three outs, one list of them";
  EXPECT_TRUE(std::holds_alternative<format::TensorList>(plan.values[static_cast<size_t>(norm.args[8])]));
  for (int32_t item : std::get<format::TensorList>(plan.values[static_cast<size_t>(norm.args[8])]).items) EXPECT_LT(item, norm.args[8]);
  EXPECT_NE(text(plan, instructions[2]).find("'tanh'"), std::string::npos);
  const format::Tensor& w = tensor(plan, 1);
  EXPECT_EQ(w.data_buffer_idx, 1u);
  EXPECT_EQ(w.name, "w");
}

TEST(Lower, InputsAndOutputsAreNotPlannedTheRestIs) {
  Lowered out;
  lower_text(R"(method @m {
  input %0 "x" user : float32[4]
  %1 : float32[4] = aten::neg.out(%0)
  %2 : float32[4] = aten::tanh.out(%1)
  output %2 "y" user
}
)", out);
  const format::Plan& plan = out.method.plan;
  EXPECT_FALSE(tensor(plan, plan.inputs[0]).allocation.has_value());
  EXPECT_FALSE(tensor(plan, plan.outputs[0]).allocation.has_value());
  EXPECT_EQ(tensor(plan, plan.outputs[0]).name, "y");
  const auto& call = std::get<format::KernelCall>(plan.chains[0].instructions[0]);
  ASSERT_TRUE(tensor(plan, call.args[1]).allocation.has_value());
  EXPECT_EQ(tensor(plan, call.args[1]).allocation->memory_id, 1u);
  EXPECT_EQ(plan.non_const_buffer_sizes, (std::vector<int64_t>{0, 64}));
}

TEST(Lower, ViewsOfPlannedMemoryAndConstantsCostNothingOthersAreRepointed) {
  Lowered out;
  lower_text(R"(const @w : float32[2,2] = values [1.0, 2.0, 3.0, 4.0]
method @m {
  input %0 "x" user : float32[2,2]
  %1 : float32[4] = aten::view_copy.out(%0, size=[4])
  %2 : float32[4] = aten::neg.out(%1)
  %3 : float32[2,2] = aten::view_copy.out(%2, size=[2, 2])
  %4 : float32[4] = aten::view_copy.out(@w, size=[4])
  %5 : float32[2,2] = aten::mul.out(%3, @w)
  %6 : float32[4] = aten::add.out(%2, %4)
  %7 : float32[4] = aten::view_copy.out(%5, size=[4])
  output %6 "y" user
  output %7 "z" user
}
)", out);
  const format::Plan& plan = out.method.plan;
  std::vector<std::string> names;
  for (const auto& instruction : plan.chains[0].instructions) names.push_back(text(plan, instruction));
  ASSERT_EQ(names.size(), 5u);
  EXPECT_NE(names[0].find("executorch_prim::et_view.default(0, ints[4 ], "), std::string::npos) << names[0];
  EXPECT_NE(names[1].find("aten::neg"), std::string::npos);
  EXPECT_NE(names[2].find("aten::mul"), std::string::npos);
  EXPECT_NE(names[3].find("aten::add"), std::string::npos);
  EXPECT_NE(names[4].find("aten::view_copy.out"), std::string::npos) << "an output is memory of the caller's, not a view of the arena";
  const auto& neg = std::get<format::KernelCall>(plan.chains[0].instructions[1]);
  const auto& mul = std::get<format::KernelCall>(plan.chains[0].instructions[2]);
  EXPECT_EQ(tensor(plan, neg.args[1]).allocation->offset, tensor(plan, mul.args[0]).allocation->offset);
  EXPECT_NE(neg.args[1], mul.args[0]);
  const auto& add = std::get<format::KernelCall>(plan.chains[0].instructions[3]);
  EXPECT_EQ(tensor(plan, add.args[1]).data_buffer_idx, 1u) << "a view of a constant is the same constant";
}

TEST(Lower, InPlaceResultsAreTheirArgumentAndStatesAreOptional) {
  const char* text_ir = R"(method @m {
  input %0 "cache" key_cache layer=0 : float32[1,1,4,2]
  input %1 "slot" user : int64[1]
  input %2 "rows" user : float32[1,1,1,2]
  %3 : float32[1,1,4,2] = aten::index_put_(%0, [none, none, %1], %2)
  %4 : float32[1,1,4,2] = aten::neg.out(%3)
  output %4 "y" user
  output %3 "state" key_state layer=0 alias=0
}
)";
  Lowered out;
  lower_text(text_ir, out);
  EXPECT_EQ(text(out.method.plan, out.method.plan.chains[0].instructions[0]), "aten::index_put_(0, [-1 -1 1 ], 2, false, 0)");
  EXPECT_EQ(std::get<format::KernelCall>(out.method.plan.chains[0].instructions[1]).args[0], 0);
  EXPECT_EQ(out.method.plan.outputs.size(), 1u);
  Lowered states;
  lower_text(text_ir, states, {.state_outputs = true});
  ASSERT_EQ(states.method.plan.outputs.size(), 2u);
  EXPECT_EQ(states.method.plan.outputs[1], states.method.plan.inputs[0]);
  EXPECT_EQ(tensor(states.method.plan, 0).name, "cache");
}

TEST(Lower, DelegateCallsListInputsThenOutputsWithMemoryOfTheirOwn) {
  Lowered out;
  out.delegates.push_back({"Backend", {std::byte{1}}, {{"key", {std::byte{2}}}}});
  lower_text(R"(method @m {
  input %0 "cache" key_cache layer=0 : float32[2]
  input %1 "x" user : float32[2]
  %2 : float32[2], %3 : float32[2] = pteron::delegate([%0, %1], index=0, mutates=[0], aliases=[0, -1])
  output %3 "y" user
  output %2 "state" key_state layer=0 alias=0
}
)", out);
  const format::Plan& plan = out.method.plan;
  EXPECT_EQ(text(plan, plan.chains[0].instructions[0]), "delegate 0(0, 1, 2)");
  ASSERT_EQ(plan.delegates.size(), 1u);
  EXPECT_EQ(plan.delegates[0].id, "Backend");
  EXPECT_EQ(plan.delegates[0].compile_specs[0].key, "key");
  Lowered missing;
  lower_text(R"(method @m {
  input %0 "x" user : float32[2]
  %1 : float32[2] = pteron::delegate([%0], index=3, mutates=[], aliases=[-1])
  output %1 "y" user
}
)", missing);
  EXPECT_NE(missing.error.find("no payload"), std::string::npos);
}

TEST(Lower, CompositesAreRefused) {
  Lowered out;
  lower_text(R"(method @m {
  input %0 "x" user : float32[2]
  %1 : float32[2] = pteron::softcap(%0, cap=2.0)
  output %1 "y" user
}
)", out);
  EXPECT_NE(out.error.find("pteron::softcap"), std::string::npos) << out.error;
}

TEST(Lower, LiteralsAreSharedByKindAndValue) {
  Lowered out;
  lower_text(R"(method @m {
  input %0 "x" user : float32[2]
  %1 : float32[2] = aten::mul.Scalar_out(%0, other=1)
  %2 : float32[2] = aten::mul.Scalar_out(%1, other=1.0)
  %3 : float32[2] = aten::mul.Scalar_out(%2, other=1)
  output %3 "y" user
}
)", out);
  const format::Plan& plan = out.method.plan;
  EXPECT_EQ(text(plan, plan.chains[0].instructions[0]).find("int 1") != std::string::npos, true);
  EXPECT_NE(text(plan, plan.chains[0].instructions[1]).find("double 1.0"), std::string::npos) << "a double stays a double";
  EXPECT_EQ(std::get<format::KernelCall>(plan.chains[0].instructions[0]).args[1], std::get<format::KernelCall>(plan.chains[0].instructions[2]).args[1]);
}

}  // namespace
}  // namespace pteron::emit
