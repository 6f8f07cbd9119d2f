#include "api/describe.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "builtin/run/builtin.h"
#include "core/dtype.h"
#include "package/open.h"

namespace pteron::api {
namespace {

using Json = nlohmann::ordered_json;

template <class... F>
struct Overload : F... {
  using F::operator()...;
};
template <class... F>
Overload(F...) -> Overload<F...>;

std::string operator_name(const format::Operator& op) { return op.overload.empty() ? op.name : op.name + "." + op.overload; }

Json describe_tensor(const format::Tensor& tensor) {
  Json json = {{"kind", "tensor"}, {"dtype", dtype_name(tensor.dtype)}, {"shape", tensor.sizes}};
  json["bytes"] = tensor.nbytes;
  bool contiguous = true;
  for (size_t i = 0; i < tensor.dim_order.size(); ++i) contiguous = contiguous && tensor.dim_order[i] == i;
  if (!contiguous) json["dim_order"] = tensor.dim_order;
  if (tensor.dynamism == format::ShapeDynamism::bound) json["dynamic"] = true;
  json["planned"] = tensor.allocation.has_value() || tensor.data_buffer_idx > 0;
  if (tensor.allocation) json["arena"] = {{"id", tensor.allocation->memory_id}, {"offset", tensor.allocation->offset}};
  if (tensor.data_buffer_idx > 0) json["constant"] = tensor.data_buffer_idx;
  if (tensor.external) json["external"] = true;
  if (!tensor.name.empty()) json["name"] = tensor.name;
  return json;
}

Json describe_value(const format::Value& value) {
  return std::visit(Overload{
                        [](const format::None&) { return Json{{"kind", "none"}}; },
                        [](const format::Tensor& v) { return describe_tensor(v); },
                        [](int64_t v) { return Json{{"kind", "int"}, {"value", v}}; },
                        [](bool v) { return Json{{"kind", "bool"}, {"value", v}}; },
                        [](double v) { return Json{{"kind", "double"}, {"value", v}}; },
                        [](const std::string& v) { return Json{{"kind", "string"}, {"value", v}}; },
                        [](const format::IntList& v) { return Json{{"kind", "int_list"}, {"items", v.items}}; },
                        [](const format::BoolList& v) { return Json{{"kind", "bool_list"}, {"items", v.items}}; },
                        [](const format::DoubleList& v) { return Json{{"kind", "double_list"}, {"items", v.items}}; },
                        [](const format::TensorList& v) { return Json{{"kind", "tensor_list"}, {"items", v.items}}; },
                        [](const format::OptionalTensorList& v) { return Json{{"kind", "optional_tensor_list"}, {"items", v.items}}; },
                    },
                    value);
}

Json describe_instruction(const format::Plan& plan, const format::Instruction& instruction) {
  return std::visit(Overload{
                        [&](const format::KernelCall& i) {
                          return Json{{"kind", "kernel_call"}, {"operator", operator_name(plan.operators[static_cast<size_t>(i.op_index)])}, {"args", i.args}};
                        },
                        [&](const format::DelegateCall& i) {
                          return Json{{"kind", "delegate_call"}, {"delegate", plan.delegates[static_cast<size_t>(i.delegate_index)].id}, {"args", i.args}};
                        },
                        [](const format::MoveCall& i) { return Json{{"kind", "move_call"}, {"from", i.from}, {"to", i.to}}; },
                        [](const format::JumpFalseCall& i) { return Json{{"kind", "jump_false_call"}, {"condition", i.condition}, {"destination", i.destination}}; },
                        [](const format::FreeCall& i) { return Json{{"kind", "free_call"}, {"value", i.value}}; },
                    },
                    instruction);
}

// The planned tensors of a method as boxes in memory over the instructions that touch them: what the memory picture is drawn from.
Json describe_memory(const format::Plan& plan) {
  std::map<int32_t, std::pair<size_t, size_t>> life;
  size_t step = 0;
  const auto touch = [&](int32_t value, auto&& self) -> void {
    const format::Value& v = plan.values[static_cast<size_t>(value)];
    if (const auto* list = std::get_if<format::TensorList>(&v)) {
      for (int32_t item : list->items) self(item, self);
    } else if (const auto* tensor = std::get_if<format::Tensor>(&v); tensor != nullptr && tensor->allocation) {
      auto [it, fresh] = life.try_emplace(value, step, step);
      it->second.second = step;
    }
  };
  for (const format::Chain& chain : plan.chains) {
    for (const format::Instruction& instruction : chain.instructions) {
      if (const auto* call = std::get_if<format::KernelCall>(&instruction)) {
        for (int32_t arg : call->args) touch(arg, touch);
      } else if (const auto* delegate = std::get_if<format::DelegateCall>(&instruction)) {
        for (int32_t arg : delegate->args) touch(arg, touch);
      }
      ++step;
    }
  }
  Json boxes = Json::array();
  for (const auto& [value, span] : life) {
    const auto& tensor = std::get<format::Tensor>(plan.values[static_cast<size_t>(value)]);
    boxes.push_back({{"value", value}, {"arena", tensor.allocation->memory_id}, {"offset", tensor.allocation->offset}, {"bytes", tensor.nbytes}, {"first", span.first}, {"last", span.second}});
  }
  return boxes;
}

Json describe_plan(const format::VerifiedProgram& program, const format::Plan& plan, bool instructions) {
  Json json = {{"name", plan.name}};
  Json inputs = Json::array(), outputs = Json::array(), delegates = Json::array(), operators = Json::object();
  for (int32_t i : plan.inputs) inputs.push_back(describe_value(plan.values[static_cast<size_t>(i)]));
  for (int32_t i : plan.outputs) outputs.push_back(describe_value(plan.values[static_cast<size_t>(i)]));
  for (const format::Delegate& delegate : plan.delegates) {
    Json specs = Json::object();
    for (const format::CompileSpec& spec : delegate.compile_specs) specs[spec.key] = spec.value.size();
    delegates.push_back({{"id", delegate.id}, {"bytes", program.delegate_data(delegate).size()}, {"compile_specs", std::move(specs)}});
  }
  std::map<std::string, size_t> counts;
  size_t instruction_count = 0;
  for (const format::Chain& chain : plan.chains) {
    instruction_count += chain.instructions.size();
    for (const format::Instruction& instruction : chain.instructions) {
      if (const auto* call = std::get_if<format::KernelCall>(&instruction)) ++counts[operator_name(plan.operators[static_cast<size_t>(call->op_index)])];
    }
  }
  for (const auto& [name, count] : counts) operators[name] = count;
  std::vector<int64_t> arenas;
  if (!plan.non_const_buffer_sizes.empty()) arenas.assign(plan.non_const_buffer_sizes.begin() + 1, plan.non_const_buffer_sizes.end());
  json["constant"] = plan.inputs.empty() && instruction_count == 0;
  json["inputs"] = std::move(inputs);
  json["outputs"] = std::move(outputs);
  json["arena_bytes"] = arenas;
  json["delegates"] = std::move(delegates);
  json["operators"] = std::move(operators);
  json["instructions"] = instruction_count;
  json["values"] = plan.values.size();
  if (instructions) {
    Json listing = Json::array(), values = Json::array();
    for (const format::Chain& chain : plan.chains) {
      for (const format::Instruction& instruction : chain.instructions) listing.push_back(describe_instruction(plan, instruction));
    }
    for (const format::Value& value : plan.values) values.push_back(describe_value(value));
    json["listing"] = std::move(listing);
    json["value_table"] = std::move(values);
    json["memory"] = describe_memory(plan);
  }
  return json;
}

// Constant tensors by their entry in the constant segment, each once, with a name where some method gives it one.
Json describe_constants(const format::Program& program) {
  std::map<uint32_t, const format::Tensor*> constants;
  for (const format::Plan& plan : program.plans) {
    for (const format::Value& value : plan.values) {
      const auto* tensor = std::get_if<format::Tensor>(&value);
      if (tensor == nullptr || tensor->data_buffer_idx == 0 || tensor->allocation || tensor->external) continue;
      const format::Tensor*& known = constants[tensor->data_buffer_idx];
      if (known == nullptr || tensor->nbytes > known->nbytes) known = tensor;
    }
  }
  Json json = Json::array();
  for (const auto& [index, tensor] : constants) {
    Json row = {{"index", index}, {"dtype", dtype_name(tensor->dtype)}, {"shape", tensor->sizes}, {"bytes", tensor->nbytes}};
    if (!tensor->name.empty()) row["name"] = tensor->name;
    json.push_back(std::move(row));
  }
  return json;
}

uint64_t segment_bytes(const format::Program& program, const std::optional<format::Subsegments>& part) {
  return part && part->segment_index < program.segments.size() ? program.segments[part->segment_index].size : 0;
}

// The weights that backends of this build know to be in named data, each once.
Json describe_weights(const format::VerifiedProgram& verified, bool complete) {
  Json json = Json::array();
  std::set<std::string> seen;
  for (const format::Plan& plan : verified.program().plans) {
    for (const format::Delegate& delegate : plan.delegates) {
      const ByteSpan payload = verified.delegate_data(delegate);
      if (!complete && payload.size() > package::kTablePayloadBytes) continue;
      for (const runtime::RunBackend* backend : builtin::builtin_run_backends()) {
        if (backend->id() != delegate.id) continue;
        const auto weights = backend->weights(payload);
        if (!weights.ok()) continue;  // loading says what is wrong with it
        for (const StoredWeight& weight : *weights) {
          if (!seen.insert(weight.key).second) continue;
          Json row = {{"key", weight.key}, {"encoding", weight.encoding}, {"shape", weight.shape}, {"bytes", weight.bytes}};
          if (weight.error) row["error"] = *weight.error;
          json.push_back(std::move(row));
        }
      }
    }
  }
  return json;
}

}  // namespace

Json describe(const format::VerifiedProgram& verified, bool complete, bool instructions) {
  const format::Program& program = verified.program();
  Json json;
  uint64_t segments = 0, named = 0, delegates = 0;
  std::vector<bool> counted(program.segments.size(), false);
  for (const format::Segment& segment : program.segments) segments += segment.size;
  const auto count_once = [&](uint32_t index, uint64_t& sum) {
    if (index < counted.size() && !counted[index]) {
      counted[index] = true;
      sum += program.segments[index].size;
    }
  };
  Json named_data = Json::array();
  for (const format::NamedData& entry : program.named_data) {
    named_data.push_back({{"key", entry.key}, {"bytes", program.segments[entry.segment_index].size}});
    count_once(entry.segment_index, named);
  }
  for (const format::Plan& plan : program.plans) {
    for (const format::Delegate& delegate : plan.delegates) {
      if (delegate.in_segment) count_once(delegate.index, delegates);
      else delegates += verified.delegate_data(delegate).size();
    }
  }
  const uint64_t total = verified.file().size(), constants = segment_bytes(program, program.constants), mutable_data = segment_bytes(program, program.mutable_data);
  const uint64_t metadata = program.segment_base == 0 ? std::min<uint64_t>(program.program_size, total) : program.program_size;
  json["bytes"] = {{"total", total}, {"metadata", metadata}, {"constants", constants}, {"mutable_data", mutable_data}, {"delegates", delegates}, {"named_data", named},
                   {"padding_and_trailer", total - std::min(total, metadata + segments)}};
  json["methods"] = Json::array();
  for (const format::Plan& plan : program.plans) json["methods"].push_back(describe_plan(verified, plan, instructions));
  json["named_data"] = std::move(named_data);
  json["weights"] = describe_weights(verified, complete);
  json["segments"] = Json::array();
  for (const format::Segment& segment : program.segments) json["segments"].push_back({{"offset", segment.offset}, {"bytes", segment.size}});
  json["constants"] = describe_constants(program);
  return json;
}

}  // namespace pteron::api
