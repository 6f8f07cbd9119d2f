// Instructions of a plan: operators become kernels, indices become pointers.
#include <algorithm>
#include <string>

#include "runtime/method_impl.h"

namespace pteron::runtime {
namespace {

std::string operator_name(const format::Operator& op) { return op.overload.empty() ? op.name : op.name + "." + op.overload; }

// The kernel of every operator of the plan; an error that lists all that are missing.
Result<std::vector<const Kernel*>> find_kernels(const format::Plan& plan, const KernelTable* table) {
  const std::span<const Kernel> prims = prim_kernels();
  const KernelTable prim_table{{&prims, 1}};
  std::vector<const Kernel*> kernels;
  std::string missing;
  for (const format::Operator& op : plan.operators) {
    const std::string name = operator_name(op);
    const Kernel* kernel = table != nullptr ? table->find(name) : nullptr;
    if (kernel == nullptr) kernel = prim_table.find(name);
    if (kernel == nullptr) missing += (missing.empty() ? "" : ", ") + name;
    kernels.push_back(kernel);
  }
  if (!missing.empty()) return Status::error(Code::unsupported, "operators are missing in this build", {"", "operators", "", missing});
  return kernels;
}

class Resolver {
 public:
  Resolver(std::vector<const Kernel*> kernels, const format::Plan& plan, Profile* profile, MethodState& method)
      : kernels_(std::move(kernels)), plan_(plan), profile_(profile), method_(method) {}

  Status resolve() {
    reserve_args();
    for (const format::Chain& chain : plan_.chains) {
      auto& instructions = method_.chains.emplace_back();
      for (const format::Instruction& stored : chain.instructions) {
        Instruction instruction;
        Status status = std::visit([&](const auto& call) { return make(call, instruction); }, stored);
        if (!status.ok()) return std::move(status).in_field("instruction " + std::to_string(instructions.size()));
        instructions.push_back(instruction);
      }
    }
    PTERON_ASSIGN(method_.scratch, method_.memory.allocate(scratch_, Purpose::scratch));
    return {};
  }

 private:
  // All argument pointers lie in one vector that must not move.
  void reserve_args() {
    size_t total = 0;
    for (const format::Chain& chain : plan_.chains) {
      for (const format::Instruction& stored : chain.instructions) {
        if (const auto* kernel = std::get_if<format::KernelCall>(&stored)) total += kernel->args.size();
        if (const auto* delegate = std::get_if<format::DelegateCall>(&stored)) total += delegate->args.size();
      }
    }
    method_.args.reserve(total);
  }

  std::span<Value* const> pointers(std::span<const int32_t> indices) {
    const size_t begin = method_.args.size();
    for (int32_t index : indices) method_.args.push_back(&method_.values[static_cast<size_t>(index)]);
    return std::span<Value* const>(method_.args).subspan(begin);
  }

  Status make(const format::KernelCall& call, Instruction& out) {
    const Kernel& kernel = *kernels_[static_cast<size_t>(call.op_index)];
    if (call.args.size() < kernel.min_args || call.args.size() > kernel.max_args) {
      return Status::error(Code::invalid_data, "kernel call has the wrong number of arguments",
                           {"", std::string(kernel.name), std::to_string(kernel.min_args), std::to_string(call.args.size())});
    }
    out.kind = Instruction::Kind::kernel;
    out.kernel = &kernel;
    if (profile_ != nullptr) out.row = &profile_->row(plan_.name, kernel.name);
    out.args = pointers(call.args);
    if (kernel.scratch != nullptr) {
      auto bytes = kernel.scratch(out.args, method_.threads->size());
      if (!bytes.ok()) return std::move(bytes).status().in_field(kernel.name);
      scratch_ = std::max(scratch_, *bytes);
    }
    return {};
  }
  Status make(const format::DelegateCall& call, Instruction& out) {
    out.kind = Instruction::Kind::delegate;
    out.delegate = method_.delegates[static_cast<size_t>(call.delegate_index)].get();
    out.args = pointers(call.args);
    if (profile_ != nullptr && !out.delegate->counts_steps()) out.row = &profile_->row(plan_.name, plan_.delegates[static_cast<size_t>(call.delegate_index)].id);
    return {};
  }
  Status make(const format::MoveCall& call, Instruction& out) {
    out.kind = Instruction::Kind::move;
    out.from = call.from;
    out.to = call.to;
    return {};
  }
  Status make(const format::JumpFalseCall& call, Instruction& out) {
    out.kind = Instruction::Kind::jump_false;
    out.from = call.condition;
    out.to = call.destination;
    return {};
  }
  Status make(const format::FreeCall& call, Instruction& out) {
    out.kind = Instruction::Kind::free;
    out.from = call.value;
    const Value& value = method_.values[static_cast<size_t>(call.value)];
    if (value.is(Value::Kind::tensor) && value.tensor().data() != nullptr)
      method_.freed.push_back({&value.tensor(), value.tensor().data(), value.tensor().writable()});
    return {};
  }

  std::vector<const Kernel*> kernels_;
  const format::Plan& plan_;
  Profile* profile_;
  MethodState& method_;
  size_t scratch_ = 0;
};

}  // namespace

Status resolve_instructions(const format::Plan& plan, const LoadOptions& options, MethodState& method) {
  PTERON_ASSIGN(auto kernels, find_kernels(plan, options.kernels));
  return Resolver(std::move(kernels), plan, options.profile, method).resolve();
}

}  // namespace pteron::runtime
