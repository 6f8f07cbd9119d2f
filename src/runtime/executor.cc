// Runs the instructions of a loaded method.
#include <algorithm>
#include <string>

#include "runtime/method_impl.h"

namespace pteron::runtime {
namespace {

constexpr size_t kMaxInstructions = 10'000'000;  // of one execution: a program that loops for ever ends with an error

// Whether a condition holds: a bool, or a bool tensor all of whose elements are true.
Result<bool> condition_holds(const Value& value) {
  if (value.is(Value::Kind::boolean)) return value.boolean();
  if (!value.is(Value::Kind::tensor) || value.tensor().dtype() != ScalarType::Bool) {
    const std::string found =
        value.is(Value::Kind::tensor) ? std::string(dtype_name(value.tensor().dtype())) + " tensor" : std::string(kind_name(value.kind()));
    return Status::error(Code::invalid_data, "jump condition is no bool", {"", "", "bool or bool tensor", found});
  }
  const Tensor& tensor = value.tensor();
  if (tensor.data() == nullptr) return Status::error(Code::invalid_argument, "jump condition has no memory");
  const uint8_t* elements = tensor.data<uint8_t>();
  return std::all_of(elements, elements + tensor.numel(), [](uint8_t element) { return element != 0; });
}

// Runs one instruction and says which one follows.
Result<size_t> step(MethodState& method, KernelContext& context, const Instruction& instruction, size_t index) {
  switch (instruction.kind) {
    case Instruction::Kind::kernel: PTERON_TRY(instruction.kernel->run(context, instruction.args)); break;
    case Instruction::Kind::delegate: PTERON_TRY(instruction.delegate->execute(instruction.args)); break;
    case Instruction::Kind::move:
      method.values[static_cast<size_t>(instruction.to)] = method.values[static_cast<size_t>(instruction.from)];
      break;
    case Instruction::Kind::jump_false: {
      PTERON_ASSIGN(const bool holds, condition_holds(method.values[static_cast<size_t>(instruction.from)]));
      if (!holds) return static_cast<size_t>(instruction.to);
      break;
    }
    case Instruction::Kind::free: {
      const Value& value = method.values[static_cast<size_t>(instruction.from)];
      if (!value.is(Value::Kind::tensor)) {
        return Status::error(Code::invalid_data, "freed value is no tensor", {"", "", "tensor", std::string(kind_name(value.kind()))});
      }
      value.tensor().set_data(nullptr);
      break;
    }
  }
  return index + 1;
}

Result<size_t> counted_step(MethodState& method, KernelContext& context, const Instruction& instruction, size_t index) {
  const Profile::Clock::time_point begin = Profile::Clock::now();
  Result<size_t> next = step(method, context, instruction, index);
  instruction.row->add(Profile::Clock::now() - begin);
  return next;
}

Status name_instruction(Status status, const MethodState& method, const Instruction& instruction, size_t index) {
  std::string where = method.info.name + " instruction " + std::to_string(index);
  if (instruction.kernel != nullptr) where += " " + std::string(instruction.kernel->name);
  return std::move(status).in_field(where).in_file(method.program.path());
}

}  // namespace

Status execute_chains(MethodState& method) {
  for (const FreedTensor& freed : method.freed) freed.tensor->set_data(freed.data, freed.writable);
  KernelContext context(*method.threads, method.scratch);
  size_t executed = 0;
  for (const auto& chain : method.chains) {
    for (size_t index = 0; index < chain.size();) {
      if (++executed > kMaxInstructions) {
        return Status::error(
            Code::invalid_data, "program does not end",
            {method.program.path(), method.info.name, "at most " + std::to_string(kMaxInstructions) + " instructions", "more"});
      }
      auto next = chain[index].row == nullptr ? step(method, context, chain[index], index) : counted_step(method, context, chain[index], index);
      if (!next.ok()) return name_instruction(std::move(next).status(), method, chain[index], index);
      index = *next;
    }
  }
  return {};
}

}  // namespace pteron::runtime
