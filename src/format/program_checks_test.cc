#include "format/program_checks.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>

namespace pteron::format {
namespace {

Tensor tensor(std::vector<int32_t> sizes) {
  Tensor t;
  for (size_t i = 0; i < sizes.size(); ++i) t.dim_order.push_back(static_cast<uint8_t>(i));
  t.sizes = std::move(sizes);
  return t;
}

Tensor planned(std::vector<int32_t> sizes, uint64_t offset) {
  Tensor t = tensor(std::move(sizes));
  t.allocation = {1, offset};
  return t;
}

// Every kind of value and instruction, a constant, initial state, a delegate and named data; nothing wrong with it.
Program sound() {
  Tensor constant = tensor({4});
  constant.data_buffer_idx = 1;
  Tensor state = planned({2}, 64);
  state.data_buffer_idx = 1;
  Plan plan;
  plan.name = "forward";
  plan.values = {planned({4}, 0), constant,           state,           int64_t{1},       true,           0.5, std::string("none"), None{}, IntList{{3, 3}}, BoolList{{true}}, DoubleList{{1.0}},
                 TensorList{{0, 1}}, OptionalTensorList{{-1, 7, 2}}};
  plan.inputs = {0, 3};
  plan.outputs = {0, 7};
  plan.operators = {{"aten::add", "out"}};
  plan.delegates = {{"Backend", true, 2, {}}};
  plan.chains = {{{KernelCall{0, {0, 1, 3, 0, 0}}, DelegateCall{0, {0, 1}}, MoveCall{3, 3}, JumpFalseCall{4, 5}, FreeCall{0}}}};
  plan.non_const_buffer_sizes = {0, 128};
  Program program;
  program.plans = {plan};
  program.segments = {{128, 16}, {256, 8}, {384, 32}};
  program.constants = Subsegments{0, {0, 0}};
  program.mutable_data = Subsegments{1, {0, 0}};
  program.named_data = {{"tokenizer", 2}};
  return program;
}

TEST(ProgramChecks, FillsInByteCounts) {
  Program program = sound();
  const Status status = check_program(program);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(std::get<Tensor>(program.plans[0].values[0]).nbytes, 16u);
  EXPECT_EQ(std::get<Tensor>(program.plans[0].values[2]).nbytes, 8u);
}

struct Defect {
  std::string field;  // of the error
  std::function<void(Program&, Plan&)> make;
};

Tensor& tensor_at(Plan& plan, size_t i) { return std::get<Tensor>(plan.values[i]); }

void expect_refused(const std::vector<Defect>& defects) {
  for (size_t i = 0; i < defects.size(); ++i) {
    Program program = sound();
    defects[i].make(program, program.plans[0]);
    const Status status = check_program(program);
    EXPECT_FALSE(status.ok()) << i << " " << defects[i].field;
    EXPECT_EQ(status.detail().field, defects[i].field) << status.message();
  }
}

TEST(ProgramChecks, RefusesUnsoundTensors) {
  const std::string v0 = "execution_plan[0].values[0].", v1 = "execution_plan[0].values[1].", v2 = "execution_plan[0].values[2].";
  expect_refused({
      {v0 + "scalar_type", [](Program&, Plan& p) { tensor_at(p, 0).dtype = static_cast<ScalarType>(30); }},
      {v0 + "sizes[0]", [](Program&, Plan& p) { tensor_at(p, 0).sizes[0] = -1; }},
      {v0 + "dim_order[0]", [](Program&, Plan& p) { tensor_at(p, 0).dim_order[0] = 1; }},
      {v0 + "shape_dynamism", [](Program&, Plan& p) { tensor_at(p, 0).dynamism = ShapeDynamism::unbound; }},
      {v0 + "shape_dynamism", [](Program&, Plan& p) { tensor_at(p, 0).dynamism = static_cast<ShapeDynamism>(7); }},
      {v0 + "allocation_info.memory_id", [](Program&, Plan& p) { tensor_at(p, 0).allocation->memory_id = 0; }},
      {v0 + "allocation_info.memory_id", [](Program&, Plan& p) { tensor_at(p, 0).allocation->memory_id = 2; }},
      {v0 + "allocation_info.memory_offset", [](Program&, Plan& p) { tensor_at(p, 0).allocation->offset = 113; }},
      {v0 + "allocation_info.memory_offset", [](Program&, Plan& p) { tensor_at(p, 0).allocation->offset = ~uint64_t{0} - 7; }},
      {v0 + "extra_tensor_info.fully_qualified_name", [](Program&, Plan& p) { tensor_at(p, 0).external = true; }},
      {v0 + "extra_tensor_info.fully_qualified_name", [](Program&, Plan& p) { tensor_at(p, 0).name = "\xff"; }},
      {v1 + "data_buffer_idx", [](Program&, Plan& p) { tensor_at(p, 1).data_buffer_idx = 2; }},
      {v1 + "data_buffer_idx", [](Program&, Plan& p) { tensor_at(p, 1).sizes[0] = 5; }},
      {v1 + "data_buffer_idx", [](Program& g, Plan&) { g.constants->offsets[1] = 1; }},
      {v1 + "data_buffer_idx", [](Program& g, Plan&) { g.constants->offsets[1] = ~uint64_t{0} - 3; }},
      {v1 + "data_buffer_idx", [](Program& g, Plan&) { g.segments[0].offset = 130; }},
      {v1 + "data_buffer_idx", [](Program& g, Plan&) { g.constants.reset(); }},
      {v1 + "data_buffer_idx", [](Program& g, Plan&) { g.constants->offsets = {0}; }},
      {v2 + "data_buffer_idx", [](Program& g, Plan&) { g.mutable_data.reset(); }},
      {v2 + "data_buffer_idx", [](Program& g, Plan&) { g.mutable_data->offsets[1] = 4; }},
  });
}

TEST(ProgramChecks, RefusesIndicesOutOfRange) {
  const std::string plan = "execution_plan[0].", at = "execution_plan[0].chains[0].instructions";
  expect_refused({
      {plan + "inputs[1]", [](Program&, Plan& p) { p.inputs[1] = 13; }},
      {plan + "inputs[0]", [](Program&, Plan& p) { p.inputs[0] = -1; }},
      {plan + "inputs[0]", [](Program&, Plan& p) { p.inputs[0] = 8; }},   // a list
      {plan + "outputs[1]", [](Program&, Plan& p) { p.outputs[1] = 11; }},
      {plan + "values[8].items[1]", [](Program&, Plan& p) { std::get<IntList>(p.values[8]).items[1] = 13; }},
      {plan + "values[11].items[0]", [](Program&, Plan& p) { std::get<TensorList>(p.values[11]).items[0] = -1; }},
      {plan + "values[11].items[0]", [](Program&, Plan& p) { std::get<TensorList>(p.values[11]).items[0] = 3; }},
      {plan + "values[11].items[0]", [](Program&, Plan& p) { std::get<TensorList>(p.values[11]).items[0] = 11; }},
      {plan + "values[12].items[0]", [](Program&, Plan& p) { std::get<OptionalTensorList>(p.values[12]).items[0] = -2; }},
      {plan + "values[12].items[1]", [](Program&, Plan& p) { std::get<OptionalTensorList>(p.values[12]).items[1] = 3; }},
      {plan + "values[0].items[0]", [](Program&, Plan& p) { p.values[0] = TensorList{{1}}; }},  // comes later
      {at + "[0].op_index", [](Program&, Plan& p) { std::get<KernelCall>(p.chains[0].instructions[0]).op_index = 1; }},
      {at + "[0].args[2]", [](Program&, Plan& p) { std::get<KernelCall>(p.chains[0].instructions[0]).args[2] = 99; }},
      {at + "[1].delegate_index", [](Program&, Plan& p) { std::get<DelegateCall>(p.chains[0].instructions[1]).delegate_index = -1; }},
      {at + "[1].args[0]", [](Program&, Plan& p) { std::get<DelegateCall>(p.chains[0].instructions[1]).args[0] = -1; }},
      {at + "[2].move_from", [](Program&, Plan& p) { std::get<MoveCall>(p.chains[0].instructions[2]).from = 13; }},
      {at + "[2].move_to", [](Program&, Plan& p) { std::get<MoveCall>(p.chains[0].instructions[2]).to = 13; }},
      {at + "[3].cond_value_index", [](Program&, Plan& p) { std::get<JumpFalseCall>(p.chains[0].instructions[3]).condition = 13; }},
      {at + "[3].destination_instruction", [](Program&, Plan& p) { std::get<JumpFalseCall>(p.chains[0].instructions[3]).destination = 6; }},
      {at + "[3].destination_instruction", [](Program&, Plan& p) { std::get<JumpFalseCall>(p.chains[0].instructions[3]).destination = -1; }},
      {at + "[4].value_index", [](Program&, Plan& p) { std::get<FreeCall>(p.chains[0].instructions[4]).value = 13; }},
      {plan + "delegates[0].processed.index", [](Program&, Plan& p) { p.delegates[0].index = 3; }},
      {plan + "delegates[0].processed.index", [](Program&, Plan& p) { p.delegates[0] = {"Backend", false, 0, {}}; }},
      {"constant_segment.segment_index", [](Program& g, Plan&) { g.constants->segment_index = 3; }},
      {"mutable_data_segments[0].segment_index", [](Program& g, Plan&) { g.mutable_data->segment_index = 3; }},
      {"named_data[0].segment_index", [](Program& g, Plan&) { g.named_data[0].segment_index = 3; }},
      {plan + "non_const_buffer_device[0].buffer_idx", [](Program&, Plan& p) { p.non_const_buffer_device = {{0, 1, 0}}; }},
      {plan + "non_const_buffer_device[0].buffer_idx", [](Program&, Plan& p) { p.non_const_buffer_device = {{2, 1, 0}}; }},
  });
}

TEST(ProgramChecks, RefusesUnsoundNames) {
  const std::string plan = "execution_plan[0].";
  expect_refused({
      {"execution_plan", [](Program& g, Plan&) { g.plans.clear(); }},
      {"execution_plan[0].name", [](Program&, Plan& p) { p.name.clear(); }},
      {"execution_plan.name", [](Program& g, Plan& p) { g.plans.push_back(Plan(p)); }},
      {"named_data[0].key", [](Program& g, Plan&) { g.named_data[0].key.clear(); }},
      {"named_data.key", [](Program& g, Plan&) { g.named_data.push_back({"tokenizer", 1}); }},
      {plan + "operators[0].name", [](Program&, Plan& p) { p.operators[0].name.clear(); }},
      {plan + "operators[0].name", [](Program&, Plan& p) { p.operators[0].name.assign(96, 'x'); }},
      {plan + "operators[0].name", [](Program&, Plan& p) { p.operators[0].name = std::string("a\0b", 3); }},
      {plan + "operators[0].overload", [](Program&, Plan& p) { p.operators[0].overload = "\x80"; }},
      {plan + "delegates[0].id", [](Program&, Plan& p) { p.delegates[0].id.clear(); }},
      {plan + "delegates[0].compile_specs[0].key", [](Program&, Plan& p) { p.delegates[0].compile_specs = {{"\xc0", {}}}; }},
      {plan + "values[6].string_val", [](Program&, Plan& p) { p.values[6] = std::string("\xe2\x96"); }},
      {plan + "container_meta_type.encoded_out_str", [](Program&, Plan& p) { p.encoded_out_str = "\xff"; }},
      {plan + "chains", [](Program&, Plan& p) { p.chains.clear(); }},
      {"constant_buffer", [](Program& g, Plan&) { g.inline_constants.resize(1); }},
  });
  Program longest = sound();
  longest.plans[0].operators[0].name.assign(95, 'x');  // and ".out"
  EXPECT_TRUE(check_program(longest).ok());
}

TEST(ProgramChecks, RefusesArenasOutOfProportion) {
  const std::string sizes = "execution_plan[0].non_const_buffer_sizes";
  expect_refused({
      {sizes, [](Program&, Plan& p) { p.non_const_buffer_sizes.clear(); }},
      {sizes + "[1]", [](Program&, Plan& p) { p.non_const_buffer_sizes[1] = -1; }},
      {sizes + "[1]", [](Program&, Plan& p) { p.non_const_buffer_sizes[1] = int64_t{1} << 40; }},
      {sizes + "[1]", [](Program&, Plan& p) { p.non_const_buffer_sizes[1] = std::numeric_limits<int64_t>::max(); }},
      {sizes + "[3]", [](Program&, Plan& p) { p.non_const_buffer_sizes.resize(9, 40 << 20); }},  // each within the slack, not all together
  });
  // What one method plans in an arena excuses its size in another: methods may share it.
  Program shared = sound();
  shared.plans[0].non_const_buffer_sizes.push_back(int64_t{1} << 32);
  Plan other = shared.plans[0];
  other.name = "decode";
  Tensor cache = tensor({1 << 15, 1 << 15});
  cache.allocation = {2, 0};
  other.values.emplace_back(cache);
  shared.plans.push_back(other);
  const Status status = check_program(shared);
  EXPECT_TRUE(status.ok()) << status.message();
  shared.plans[1].values.pop_back();
  EXPECT_FALSE(check_program(shared).ok());
}

TEST(ProgramChecks, EmptyConstantsNeedNoBytes) {
  Program program = sound();
  tensor_at(program.plans[0], 1).sizes[0] = 0;
  program.segments[0].size = 0;
  EXPECT_TRUE(check_program(program).ok());
}

}  // namespace
}  // namespace pteron::format
