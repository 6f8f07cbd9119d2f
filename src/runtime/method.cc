#include "runtime/method.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "runtime/method_impl.h"

namespace pteron::runtime {
namespace {

struct DescribeValue {
  SlotInfo& slot;
  void operator()(const format::None&) const { slot.kind = ValueKind::none; }
  void operator()(int64_t value) const { slot.kind = ValueKind::number_int, slot.int_value = value; }
  void operator()(bool value) const { slot.kind = ValueKind::boolean, slot.bool_value = value; }
  void operator()(double value) const { slot.kind = ValueKind::number_double, slot.double_value = value; }
  void operator()(const std::string& value) const { slot.kind = ValueKind::string, slot.string_value = value; }
  void operator()(const format::Tensor& tensor) const {
    slot.kind = ValueKind::tensor;
    slot.dtype = tensor.dtype;
    slot.sizes = tensor.sizes;
    slot.dim_order = tensor.dim_order;
    slot.nbytes = tensor.nbytes;
    slot.dynamic = tensor.dynamism == format::ShapeDynamism::bound;
    slot.planned = tensor.allocation.has_value() || tensor.data_buffer_idx > 0 || tensor.external;
    slot.name = tensor.name;
  }
  template <class List>
  void operator()(const List&) const { slot.kind = ValueKind::list; }
};

std::vector<SlotInfo> describe_slots(const format::Plan& plan, std::span<const int32_t> indices) {
  std::vector<SlotInfo> slots(indices.size());
  for (size_t i = 0; i < indices.size(); ++i) std::visit(DescribeValue{slots[i]}, plan.values[static_cast<size_t>(indices[i])]);
  return slots;
}

}  // namespace

MethodInfo describe_plan(const format::Plan& plan) {
  MethodInfo info;
  info.name = plan.name;
  info.inputs = describe_slots(plan, plan.inputs);
  info.outputs = describe_slots(plan, plan.outputs);
  if (!plan.non_const_buffer_sizes.empty())
    info.arena_bytes.assign(plan.non_const_buffer_sizes.begin() + 1, plan.non_const_buffer_sizes.end());
  for (const format::Delegate& delegate : plan.delegates) info.delegates.push_back(delegate.id);
  for (const format::Operator& op : plan.operators) info.operators.push_back(op.overload.empty() ? op.name : op.name + "." + op.overload);
  info.constant =
      plan.inputs.empty() && std::ranges::all_of(plan.chains, [](const format::Chain& chain) { return chain.instructions.empty(); });
  return info;
}

std::vector<MethodInfo> method_infos(const format::VerifiedProgram& program) {
  std::vector<MethodInfo> infos;
  for (const format::Plan& plan : program.program().plans) infos.push_back(describe_plan(plan));
  return infos;
}

}  // namespace pteron::runtime

namespace pteron {

using runtime::kind_name;
using runtime::InitialState;
using runtime::MethodState;
using runtime::Tensor;
using runtime::Value;

namespace {

ValueKind public_kind(Value::Kind kind) {
  switch (kind) {
    case Value::Kind::none: return ValueKind::none;
    case Value::Kind::tensor: return ValueKind::tensor;
    case Value::Kind::string: return ValueKind::string;
    case Value::Kind::number_double: return ValueKind::number_double;
    case Value::Kind::number_int: return ValueKind::number_int;
    case Value::Kind::boolean: return ValueKind::boolean;
    default: return ValueKind::list;
  }
}

Status wrong_kind(std::string_view what, std::string_view expected, std::string_view found) {
  return Status::error(Code::invalid_argument, what, {"", "", std::string(expected), std::string(found)});
}

bool nearly_equal(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return a == b;
  return std::abs(a - b) <= 1e-4 + 1e-5 * std::abs(b);
}

// The value behind input `index`, if it is of `kind`.
Result<Value*> input_slot(MethodState& method, size_t index, Value::Kind kind) {
  if (index >= method.inputs.size()) {
    return Status::error(Code::invalid_argument, "no such input",
                         {"", "input " + std::to_string(index), "below " + std::to_string(method.inputs.size()), ""});
  }
  Value& value = method.values[static_cast<size_t>(method.inputs[index])];
  if (!value.is(kind))
    return wrong_kind("input has another kind", kind_name(value.kind()), kind_name(kind)).in_field("input " + std::to_string(index));
  return &value;
}

// A scalar input is a specialisation: it can only be confirmed.
template <class T>
Status confirm(MethodState& method, size_t index, bool equal, const T& stored, const T& given) {
  if (!equal) {
    std::string expected, found;
    if constexpr (std::is_same_v<T, std::string_view>) expected = stored, found = given;
    else expected = std::to_string(stored), found = std::to_string(given);
    return Status::error(Code::invalid_argument, "program is specialised to another value",
                         {"", "input " + std::to_string(index), expected, found});
  }
  method.input_set[index] = 1;
  return {};
}

Status set_tensor(MethodState& method, size_t index, Tensor& tensor, const TensorView& given) {
  if (given.dtype != tensor.dtype()) return wrong_kind("input has another dtype", dtype_name(tensor.dtype()), dtype_name(given.dtype));
  PTERON_TRY(tensor.resize(given.sizes));
  if (given.nbytes < tensor.nbytes()) {
    return wrong_kind("input has too few bytes", std::to_string(tensor.nbytes()), std::to_string(given.nbytes));
  }
  if (given.data == nullptr && tensor.nbytes() > 0) return wrong_kind("input has no data", "an address", "null");
  if (method.info.inputs[index].planned) {
    if (!tensor.writable()) return Status::error(Code::invalid_argument, "input is a constant of the program");
    if (tensor.nbytes() > 0) std::memmove(tensor.data(), given.data, tensor.nbytes());
  } else {
    if (reinterpret_cast<uintptr_t>(given.data) % std::min<size_t>(tensor.element_bytes(), 8) != 0) {
      return Status::error(Code::invalid_argument, "input is not aligned to its element");
    }
    tensor.set_data(const_cast<void*>(given.data));
  }
  method.input_set[index] = 1;
  return {};
}

// The value that output `index` is now.
Result<const Value*> output_slot(const MethodState& method, size_t index) {
  if (index >= method.outputs.size()) {
    return Status::error(Code::invalid_argument, "no such output",
                         {"", "output " + std::to_string(index), "below " + std::to_string(method.outputs.size()), ""});
  }
  return &method.values[static_cast<size_t>(method.outputs[index])];
}

Result<const Value*> output_of_kind(const MethodState& method, size_t index, Value::Kind kind) {
  PTERON_ASSIGN(const Value* value, output_slot(method, index));
  if (!value->is(kind)) {
    const Code code = public_kind(value->kind()) == ValueKind::list ? Code::unsupported : Code::invalid_argument;
    return Status::error(code, "output has another kind",
                         {"", "output " + std::to_string(index), std::string(kind_name(kind)), std::string(kind_name(value->kind()))});
  }
  return value;
}

}  // namespace

Method::Method(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Method::Method(Method&&) noexcept = default;
Method& Method::operator=(Method&&) noexcept = default;
Method::~Method() = default;

const MethodInfo& Method::info() const { return impl_->info; }

Status Method::set_input(size_t index, const TensorView& given) {
  PTERON_ASSIGN(Value* value, input_slot(*impl_, index, Value::Kind::tensor));
  Status status = set_tensor(*impl_, index, value->tensor(), given);
  return status.ok() ? Status() : std::move(status).in_field("input " + std::to_string(index));
}

Status Method::set_input(size_t index, int64_t given) {
  PTERON_ASSIGN(Value* value, input_slot(*impl_, index, Value::Kind::number_int));
  return confirm(*impl_, index, value->integer() == given, value->integer(), given);
}

Status Method::set_input(size_t index, double given) {
  PTERON_ASSIGN(Value* value, input_slot(*impl_, index, Value::Kind::number_double));
  return confirm(*impl_, index, nearly_equal(given, value->number()), value->number(), given);
}

Status Method::set_input(size_t index, bool given) {
  PTERON_ASSIGN(Value* value, input_slot(*impl_, index, Value::Kind::boolean));
  return confirm(*impl_, index, value->boolean() == given, value->boolean(), given);
}

Status Method::set_input(size_t index, std::string_view given) {
  PTERON_ASSIGN(Value* value, input_slot(*impl_, index, Value::Kind::string));
  return confirm(*impl_, index, value->string() == given, value->string(), given);
}

Status Method::set_input_none(size_t index) {
  PTERON_TRY(input_slot(*impl_, index, Value::Kind::none).status());
  impl_->input_set[index] = 1;
  return {};
}

Status Method::bind_output(size_t index, const MutableTensorView& buffer) {
  PTERON_ASSIGN(const Value* value, output_of_kind(*impl_, index, Value::Kind::tensor));
  const std::string field = "output " + std::to_string(index);
  if (impl_->info.outputs[index].planned)
    return Status::error(Code::invalid_argument, "output has memory of its own", {"", field, "an unplanned output", "a planned one"});
  Tensor& tensor = value->tensor();
  if (buffer.dtype != tensor.dtype())
    return wrong_kind("output has another dtype", dtype_name(tensor.dtype()), dtype_name(buffer.dtype)).in_field(field);
  const size_t needed = impl_->info.outputs[index].nbytes;
  if (buffer.nbytes < needed || (buffer.data == nullptr && needed > 0)) {
    return Status::error(Code::invalid_argument, "output buffer is too small",
                         {"", field, std::to_string(needed) + " bytes", std::to_string(buffer.data == nullptr ? 0 : buffer.nbytes)});
  }
  if (reinterpret_cast<uintptr_t>(buffer.data) % std::min<size_t>(tensor.element_bytes(), 8) != 0) {
    return Status::error(Code::invalid_argument, "output buffer is not aligned to its element", {"", field, "", ""});
  }
  tensor.set_data(buffer.data);
  return {};
}

Status Method::allocate_outputs() {
  for (size_t i = 0; i < impl_->outputs.size(); ++i) {
    const Value& value = impl_->values[static_cast<size_t>(impl_->outputs[i])];
    if (!value.is(Value::Kind::tensor) || value.tensor().data() != nullptr || impl_->info.outputs[i].planned) continue;
    if (std::ranges::find(impl_->inputs, impl_->outputs[i]) != impl_->inputs.end()) continue;
    PTERON_ASSIGN(MutableByteSpan memory,
                  impl_->memory.allocate(value.tensor().capacity() * value.tensor().element_bytes(), Purpose::output));
    value.tensor().set_data(memory.data());
  }
  return {};
}

Status Method::execute() {
  for (size_t i = 0; i < impl_->input_set.size(); ++i) {
    if (impl_->input_set[i] == 0) {
      return Status::error(Code::invalid_argument, "input is not set",
                           {impl_->program.path(), impl_->info.name + " input " + std::to_string(i), "a value", "none"});
    }
  }
  return execute_chains(*impl_);
}

Result<TensorView> Method::output(size_t index) const {
  PTERON_ASSIGN(const Value* value, output_of_kind(*impl_, index, Value::Kind::tensor));
  return value->tensor().view();
}

Result<int64_t> Method::output_int(size_t index) const {
  PTERON_ASSIGN(const Value* value, output_of_kind(*impl_, index, Value::Kind::number_int));
  return value->integer();
}

Result<double> Method::output_double(size_t index) const {
  PTERON_ASSIGN(const Value* value, output_of_kind(*impl_, index, Value::Kind::number_double));
  return value->number();
}

Result<bool> Method::output_bool(size_t index) const {
  PTERON_ASSIGN(const Value* value, output_of_kind(*impl_, index, Value::Kind::boolean));
  return value->boolean();
}

Result<std::string_view> Method::output_string(size_t index) const {
  PTERON_ASSIGN(const Value* value, output_of_kind(*impl_, index, Value::Kind::string));
  return value->string();
}

ValueKind Method::output_kind(size_t index) const {
  return index < impl_->outputs.size() ? public_kind(impl_->values[static_cast<size_t>(impl_->outputs[index])].kind()) : ValueKind::none;
}

Status Method::reset() {
  impl_->memory.zero_arenas();
  for (const InitialState& state : impl_->initial_states) std::memcpy(state.to, state.bytes.data(), state.bytes.size());
  for (const auto& delegate : impl_->delegates) PTERON_TRY(delegate->reset());
  return {};
}

}  // namespace pteron
