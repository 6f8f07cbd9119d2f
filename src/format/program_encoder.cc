#include "format/program_encoder.h"

#include <utility>

#include "format/program_generated.h"

namespace pteron::format {
namespace {

namespace fb = executorch_flatbuffer;
using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
using flatbuffers::Vector;

// The vector of tables that `encode` makes of each item.
template <class Items, class Encode>
auto encode_each(FlatBufferBuilder& builder, const Items& items, Encode&& encode) {
  std::vector<decltype(encode(items[0]))> offsets;
  offsets.reserve(items.size());
  for (const auto& item : items) offsets.push_back(encode(item));
  return builder.CreateVector(offsets);
}

Offset<fb::ExtraTensorInfo> encode_extra(FlatBufferBuilder& builder, const Tensor& tensor) {
  if (tensor.name.empty() && !tensor.external) return 0;
  const auto name = tensor.name.empty() ? Offset<flatbuffers::String>() : builder.CreateString(tensor.name);
  return fb::CreateExtraTensorInfo(builder, 0, name, tensor.external ? fb::TensorDataLocation::EXTERNAL : fb::TensorDataLocation::SEGMENT);
}

Offset<fb::Tensor> encode_tensor(FlatBufferBuilder& builder, const Tensor& tensor) {
  const auto sizes = builder.CreateVector(tensor.sizes);
  const auto dim_order = builder.CreateVector(tensor.dim_order);
  Offset<fb::AllocationDetails> place;
  if (tensor.allocation) {
    const uint64_t offset = tensor.allocation->offset;
    place = fb::CreateAllocationDetails(builder, tensor.allocation->memory_id, static_cast<uint32_t>(offset), static_cast<uint32_t>(offset >> 32));
  }
  const auto extra = encode_extra(builder, tensor);
  return fb::CreateTensor(builder, static_cast<fb::ScalarType>(tensor.dtype), 0, sizes, dim_order, false, tensor.data_buffer_idx, place, 0,
                          static_cast<fb::TensorShapeDynamism>(tensor.dynamism), extra);
}

// By get_if, since std::visit would bring in a way to abort.
Offset<fb::EValue> encode_value(FlatBufferBuilder& builder, const Value& value) {
  const auto wrap = [&](fb::KernelTypes type, auto table) { return fb::CreateEValue(builder, type, table.Union()); };
  if (const auto* number = std::get_if<int64_t>(&value)) return wrap(fb::KernelTypes::Int, fb::CreateInt(builder, *number));
  if (const auto* flag = std::get_if<bool>(&value)) return wrap(fb::KernelTypes::Bool, fb::CreateBool(builder, *flag));
  if (const auto* number = std::get_if<double>(&value)) return wrap(fb::KernelTypes::Double, fb::CreateDouble(builder, *number));
  if (const auto* tensor = std::get_if<Tensor>(&value)) return wrap(fb::KernelTypes::Tensor, encode_tensor(builder, *tensor));
  if (const auto* text = std::get_if<std::string>(&value)) {
    return wrap(fb::KernelTypes::String, fb::CreateString(builder, builder.CreateString(*text)));
  }
  if (const auto* list = std::get_if<IntList>(&value)) {
    const std::vector<int64_t> wide(list->items.begin(), list->items.end());
    return wrap(fb::KernelTypes::IntList, fb::CreateIntList(builder, builder.CreateVector(wide)));
  }
  if (const auto* list = std::get_if<DoubleList>(&value)) {
    return wrap(fb::KernelTypes::DoubleList, fb::CreateDoubleList(builder, builder.CreateVector(list->items)));
  }
  if (const auto* list = std::get_if<BoolList>(&value)) {
    return wrap(fb::KernelTypes::BoolList, fb::CreateBoolList(builder, builder.CreateVector(list->items)));
  }
  if (const auto* list = std::get_if<TensorList>(&value)) {
    return wrap(fb::KernelTypes::TensorList, fb::CreateTensorList(builder, builder.CreateVector(list->items)));
  }
  if (const auto* list = std::get_if<OptionalTensorList>(&value)) {
    return wrap(fb::KernelTypes::OptionalTensorList, fb::CreateOptionalTensorList(builder, builder.CreateVector(list->items)));
  }
  return wrap(fb::KernelTypes::Null, fb::CreateNull(builder));
}

Offset<fb::Instruction> encode_instruction(FlatBufferBuilder& builder, const Instruction& instruction) {
  using Arguments = fb::InstructionArguments;
  const auto wrap = [&](Arguments type, auto table) { return fb::CreateInstruction(builder, type, table.Union()); };
  if (const auto* call = std::get_if<KernelCall>(&instruction)) {
    return wrap(Arguments::KernelCall, fb::CreateKernelCall(builder, call->op_index, builder.CreateVector(call->args)));
  }
  if (const auto* call = std::get_if<DelegateCall>(&instruction)) {
    return wrap(Arguments::DelegateCall, fb::CreateDelegateCall(builder, call->delegate_index, builder.CreateVector(call->args)));
  }
  if (const auto* move = std::get_if<MoveCall>(&instruction)) return wrap(Arguments::MoveCall, fb::CreateMoveCall(builder, move->from, move->to));
  if (const auto* jump = std::get_if<JumpFalseCall>(&instruction)) {
    return wrap(Arguments::JumpFalseCall, fb::CreateJumpFalseCall(builder, jump->condition, jump->destination));
  }
  return wrap(Arguments::FreeCall, fb::CreateFreeCall(builder, std::get_if<FreeCall>(&instruction)->value));
}

Offset<fb::Operator> encode_operator(FlatBufferBuilder& builder, const Operator& op) {
  const auto name = builder.CreateString(op.name);
  return fb::CreateOperator(builder, name, builder.CreateString(op.overload));
}

Offset<fb::CompileSpec> encode_compile_spec(FlatBufferBuilder& builder, const CompileSpec& spec) {
  const auto key = builder.CreateString(spec.key);
  return fb::CreateCompileSpec(builder, key, builder.CreateVector(reinterpret_cast<const uint8_t*>(spec.value.data()), spec.value.size()));
}

Offset<fb::BackendDelegate> encode_delegate(FlatBufferBuilder& builder, const Delegate& delegate) {
  const auto id = builder.CreateString(delegate.id);
  const auto location = delegate.in_segment ? fb::DataLocation::SEGMENT : fb::DataLocation::INLINE;
  const auto processed = fb::CreateBackendDelegateDataReference(builder, location, delegate.index);
  const auto specs = encode_each(builder, delegate.compile_specs, [&](const CompileSpec& spec) { return encode_compile_spec(builder, spec); });
  return fb::CreateBackendDelegate(builder, id, processed, specs);
}

Offset<fb::Chain> encode_chain(FlatBufferBuilder& builder, const Chain& chain) {
  const std::vector<int32_t> none;
  const auto inputs = builder.CreateVector(none);
  const auto outputs = builder.CreateVector(none);
  return fb::CreateChain(builder, inputs, outputs,
                         encode_each(builder, chain.instructions, [&](const Instruction& i) { return encode_instruction(builder, i); }));
}

Offset<Vector<Offset<fb::NonConstBufferDevice>>> encode_devices(FlatBufferBuilder& builder, const std::vector<BufferDevice>& devices) {
  if (devices.empty()) return 0;
  return encode_each(builder, devices, [&](const BufferDevice& device) {
    return fb::CreateNonConstBufferDevice(builder, device.buffer_idx, static_cast<fb::DeviceType>(device.device_type), device.device_index);
  });
}

Offset<fb::ExecutionPlan> encode_plan(FlatBufferBuilder& builder, const Plan& plan) {
  const auto name = builder.CreateString(plan.name);
  const auto input_tree = builder.CreateString(plan.encoded_inp_str);
  const auto output_tree = builder.CreateString(plan.encoded_out_str);
  const auto container = fb::CreateContainerMetadata(builder, input_tree, output_tree);
  const auto values = encode_each(builder, plan.values, [&](const Value& value) { return encode_value(builder, value); });
  const auto inputs = builder.CreateVector(plan.inputs);
  const auto outputs = builder.CreateVector(plan.outputs);
  const auto chains = encode_each(builder, plan.chains, [&](const Chain& chain) { return encode_chain(builder, chain); });
  const auto operators = encode_each(builder, plan.operators, [&](const Operator& op) { return encode_operator(builder, op); });
  const auto delegates = encode_each(builder, plan.delegates, [&](const Delegate& delegate) { return encode_delegate(builder, delegate); });
  const auto sizes = builder.CreateVector(plan.non_const_buffer_sizes);
  const auto devices = encode_devices(builder, plan.non_const_buffer_device);
  return fb::CreateExecutionPlan(builder, name, container, values, inputs, outputs, chains, operators, delegates, sizes, devices);
}

Offset<fb::SubsegmentOffsets> encode_offsets(FlatBufferBuilder& builder, const Subsegments& entries) {
  return fb::CreateSubsegmentOffsets(builder, entries.segment_index, builder.CreateVector(entries.offsets));
}

Offset<Vector<Offset<fb::NamedData>>> encode_named_data(FlatBufferBuilder& builder, const std::vector<NamedData>& named) {
  if (named.empty()) return 0;
  return encode_each(builder, named, [&](const NamedData& data) { return fb::CreateNamedData(builder, builder.CreateString(data.key), data.segment_index); });
}

Offset<Vector<Offset<fb::SubsegmentOffsets>>> encode_mutable_data(FlatBufferBuilder& builder, const std::optional<Subsegments>& entries) {
  if (!entries) return 0;
  const std::vector<Offset<fb::SubsegmentOffsets>> one = {encode_offsets(builder, *entries)};
  return builder.CreateVector(one);
}

}  // namespace

std::vector<std::byte> encode_program(const Program& program) {
  FlatBufferBuilder builder;
  const auto bytes_of_inline = [&](ByteSpan bytes) {
    builder.ForceVectorAlignment(bytes.size(), 1, 16);
    return builder.CreateVector(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  };
  const auto plans = encode_each(builder, program.plans, [&](const Plan& plan) { return encode_plan(builder, plan); });
  const auto constants = encode_each(builder, program.inline_constants, [&](ByteSpan bytes) { return fb::CreateBuffer(builder, bytes_of_inline(bytes)); });
  const auto delegates = encode_each(builder, program.inline_delegate_data,
                                     [&](ByteSpan bytes) { return fb::CreateBackendDelegateInlineData(builder, bytes_of_inline(bytes)); });
  const auto segments = encode_each(builder, program.segments, [&](const Segment& s) { return fb::CreateDataSegment(builder, s.offset, s.size); });
  const auto constant_segment = program.constants ? encode_offsets(builder, *program.constants) : Offset<fb::SubsegmentOffsets>();
  const auto mutable_data = encode_mutable_data(builder, program.mutable_data);
  const auto named_data = encode_named_data(builder, program.named_data);
  builder.Finish(fb::CreateProgram(builder, 0, plans, constants, delegates, segments, constant_segment, mutable_data, named_data), fb::ProgramIdentifier());
  const auto* bytes = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  return {bytes, bytes + builder.GetSize()};
}

}  // namespace pteron::format
