#include "format/program_reader.h"

#include <utility>

#include "base/checked.h"
#include "format/flatbuffer_reader.h"
#include "format/program_checks.h"
#include "format/program_generated.h"
#include "format/program_layout.h"

namespace pteron::format {
namespace {

namespace fb = executorch_flatbuffer;

// Segments are read in place by kernels and delegates, so they must be aligned at least to the largest element.
constexpr uint64_t kLeastSegmentAlignment = 8;

class ProgramReader {
 public:
  explicit ProgramReader(ByteSpan region) : fields_(region.size()) {}

  Status read(const fb::Program& from, const ProgramLayout& layout, Program& to);

 private:
  Status read_segments(const fb::Program& from, const ProgramLayout& layout, Program& to);
  Status read_offsets(const fb::SubsegmentOffsets& from, Subsegments& to);
  Status read_plan(const fb::ExecutionPlan& from, Plan& to);
  Status read_value(const fb::EValue& from, std::vector<Value>& to);
  Status read_tensor(const fb::Tensor& from, Tensor& to);
  Status read_extra(const fb::ExtraTensorInfo& from, Tensor& to);
  Status read_int_list(const fb::IntList& from, IntList& to);
  Status read_operator(const fb::Operator& from, Operator& to);
  Status read_delegate(const fb::BackendDelegate& from, Delegate& to);
  Status read_chain(const fb::Chain& from, Chain& to);
  Status read_instruction(const fb::Instruction& from, std::vector<Instruction>& to);

  // The items of a list value, which must be there.
  template <class T>
  Status items(const flatbuffers::Vector<T>* from, std::vector<T>& to) {
    PTERON_TRY(fields_.present(from, "items"));
    return fields_.numbers(from, "items", to);
  }

  FieldReader fields_;
};

Status ProgramReader::read(const fb::Program& from, const ProgramLayout& layout, Program& to) {
  if (from.version() != 0) return malformed("version", "0", std::to_string(from.version()), Code::unsupported);
  to.program_size = layout.program_size;
  to.segment_base = layout.segment_base;
  to.segment_data_size = layout.segment_data_size;
  PTERON_TRY(read_segments(from, layout, to));
  PTERON_TRY(fields_.each(from.constant_buffer(), "constant_buffer", [&](const fb::Buffer& buffer, size_t) {
    to.inline_constants.push_back(bytes_of(buffer.storage()));
    return Status();
  }));
  PTERON_TRY(fields_.each(from.backend_delegate_data(), "backend_delegate_data", [&](const fb::BackendDelegateInlineData& data, size_t) {
    to.inline_delegate_data.push_back(bytes_of(data.data()));
    return Status();
  }));
  if (from.constant_segment()) {
    if (Status s = read_offsets(*from.constant_segment(), to.constants.emplace()); !s.ok()) return std::move(s).in_field("constant_segment");
  }
  // Runtimes use the first entry whatever a tensor says; the others are checked and left.
  PTERON_TRY(fields_.each(from.mutable_data_segments(), "mutable_data_segments", [&](const fb::SubsegmentOffsets& entry, size_t i) {
    Subsegments ignored;
    return read_offsets(entry, i == 0 ? to.mutable_data.emplace() : ignored);
  }));
  PTERON_TRY(fields_.each(from.named_data(), "named_data", [&](const fb::NamedData& entry, size_t) -> Status {
    NamedData& data = to.named_data.emplace_back();
    data.segment_index = entry.segment_index();
    return fields_.required_text(entry.key(), "key", data.key);
  }));
  return fields_.each(from.execution_plan(), "execution_plan", [&](const fb::ExecutionPlan& plan, size_t) { return read_plan(plan, to.plans.emplace_back()); });
}

Status ProgramReader::read_segments(const fb::Program& from, const ProgramLayout& layout, Program& to) {
  if (from.named_data()) PTERON_TRY(fields_.present(from.segments(), "segments"));
  return fields_.each(from.segments(), "segments", [&](const fb::DataSegment& entry, size_t) -> Status {
    Segment& segment = to.segments.emplace_back();
    segment.size = entry.size();
    if (segment.size == 0) {
      segment.offset = layout.segment_base;  // an empty segment is anywhere
      return {};
    }
    if (layout.segment_base == 0) return malformed("size", "0 in a file without a segment base", std::to_string(entry.size()));
    if (!range_inside(entry.offset(), entry.size(), layout.segment_end - layout.segment_base)) {
      return malformed("offset", "a segment within " + std::to_string(layout.segment_end - layout.segment_base) + " bytes of segment data",
                       std::to_string(entry.size()) + " bytes at " + std::to_string(entry.offset()));
    }
    segment.offset = layout.segment_base + entry.offset();
    if (segment.offset % kLeastSegmentAlignment != 0) {
      return malformed("offset", "a place in the file aligned to 8 bytes", std::to_string(segment.offset));
    }
    return {};
  });
}

Status ProgramReader::read_offsets(const fb::SubsegmentOffsets& from, Subsegments& to) {
  to.segment_index = from.segment_index();
  return fields_.numbers(from.offsets(), "offsets", to.offsets);
}

Status ProgramReader::read_plan(const fb::ExecutionPlan& from, Plan& to) {
  PTERON_TRY(fields_.required_text(from.name(), "name", to.name));
  PTERON_TRY(fields_.present(from.values(), "values"));
  PTERON_TRY(fields_.present(from.inputs(), "inputs"));
  PTERON_TRY(fields_.present(from.outputs(), "outputs"));
  PTERON_TRY(fields_.present(from.chains(), "chains"));
  PTERON_TRY(fields_.present(from.delegates(), "delegates"));
  PTERON_TRY(fields_.present(from.non_const_buffer_sizes(), "non_const_buffer_sizes"));
  to.values.reserve(from.values()->size());
  PTERON_TRY(fields_.each(from.values(), "values", [&](const fb::EValue& value, size_t) { return read_value(value, to.values); }));
  PTERON_TRY(fields_.numbers(from.inputs(), "inputs", to.inputs));
  PTERON_TRY(fields_.numbers(from.outputs(), "outputs", to.outputs));
  PTERON_TRY(fields_.each(from.operators(), "operators", [&](const fb::Operator& op, size_t) { return read_operator(op, to.operators.emplace_back()); }));
  PTERON_TRY(fields_.each(from.delegates(), "delegates", [&](const fb::BackendDelegate& d, size_t) { return read_delegate(d, to.delegates.emplace_back()); }));
  PTERON_TRY(fields_.each(from.chains(), "chains", [&](const fb::Chain& chain, size_t) { return read_chain(chain, to.chains.emplace_back()); }));
  PTERON_TRY(fields_.numbers(from.non_const_buffer_sizes(), "non_const_buffer_sizes", to.non_const_buffer_sizes));
  PTERON_TRY(fields_.each(from.non_const_buffer_device(), "non_const_buffer_device", [&](const fb::NonConstBufferDevice& d, size_t) {
    to.non_const_buffer_device.push_back({d.buffer_idx(), static_cast<int8_t>(d.device_type()), d.device_index()});
    return Status();
  }));
  if (const fb::ContainerMetadata* meta = from.container_meta_type()) {
    PTERON_TRY(fields_.text(meta->encoded_inp_str(), "container_meta_type.encoded_inp_str", to.encoded_inp_str));
    PTERON_TRY(fields_.text(meta->encoded_out_str(), "container_meta_type.encoded_out_str", to.encoded_out_str));
  }
  return {};
}

// Appends a default T. Built in place, since assigning to a variant would bring in a way to abort.
template <class T, class Variant>
T& append(std::vector<Variant>& to) {
  return *std::get_if<T>(&to.emplace_back(std::in_place_type<T>));
}

Status ProgramReader::read_value(const fb::EValue& from, std::vector<Value>& to) {
  const fb::KernelTypes type = from.val_type();
  if (type == fb::KernelTypes::NONE || type > fb::KernelTypes::MAX) return malformed("val_type", "1..11", std::to_string(static_cast<int>(type)));
  if (type != fb::KernelTypes::Null) PTERON_TRY(fields_.present(from.val(), "val"));
  switch (type) {
    case fb::KernelTypes::Null: append<None>(to); return {};
    case fb::KernelTypes::Int: append<int64_t>(to) = from.val_as_Int()->int_val(); return {};
    case fb::KernelTypes::Bool: append<bool>(to) = from.val_as_Bool()->bool_val(); return {};
    case fb::KernelTypes::Double: append<double>(to) = from.val_as_Double()->double_val(); return {};
    case fb::KernelTypes::Tensor: return read_tensor(*from.val_as_Tensor(), append<Tensor>(to));
    case fb::KernelTypes::String: return fields_.required_text(from.val_as_String()->string_val(), "string_val", append<std::string>(to));
    case fb::KernelTypes::IntList: return read_int_list(*from.val_as_IntList(), append<IntList>(to));
    case fb::KernelTypes::DoubleList: return items(from.val_as_DoubleList()->items(), append<DoubleList>(to).items);
    case fb::KernelTypes::BoolList: {
      std::vector<uint8_t> bytes;
      PTERON_TRY(items(from.val_as_BoolList()->items(), bytes));
      append<BoolList>(to).items.assign(bytes.begin(), bytes.end());
      return {};
    }
    case fb::KernelTypes::TensorList: return items(from.val_as_TensorList()->items(), append<TensorList>(to).items);
    default: return items(from.val_as_OptionalTensorList()->items(), append<OptionalTensorList>(to).items);
  }
}

// The items are value indices that the schema stores in 64 bits.
Status ProgramReader::read_int_list(const fb::IntList& from, IntList& to) {
  std::vector<int64_t> wide;
  PTERON_TRY(items(from.items(), wide));
  to.items.reserve(wide.size());
  for (size_t i = 0; i < wide.size(); ++i) {
    if (!std::in_range<int32_t>(wide[i])) return malformed(indexed("items", i), "the index of a value", std::to_string(wide[i]));
    to.items.push_back(static_cast<int32_t>(wide[i]));
  }
  return {};
}

Status ProgramReader::read_tensor(const fb::Tensor& from, Tensor& to) {
  to.dtype = static_cast<ScalarType>(from.scalar_type());
  if (from.storage_offset() != 0) return malformed("storage_offset", "0", std::to_string(from.storage_offset()), Code::unsupported);
  PTERON_TRY(fields_.present(from.sizes(), "sizes"));
  PTERON_TRY(fields_.present(from.dim_order(), "dim_order"));
  PTERON_TRY(fields_.numbers(from.sizes(), "sizes", to.sizes));
  PTERON_TRY(fields_.numbers(from.dim_order(), "dim_order", to.dim_order));
  to.dynamism = static_cast<ShapeDynamism>(from.shape_dynamism());
  to.data_buffer_idx = from.data_buffer_idx();
  if (const fb::AllocationDetails* place = from.allocation_info()) {
    to.allocation = {place->memory_id(), place->memory_offset_low() | uint64_t{place->memory_offset_high()} << 32};
  }
  if (const fb::ExtraTensorInfo* extra = from.extra_tensor_info()) return read_extra(*extra, to);
  return {};
}

Status ProgramReader::read_extra(const fb::ExtraTensorInfo& from, Tensor& to) {
  if (from.location() > fb::TensorDataLocation::MAX || from.location() < fb::TensorDataLocation::MIN) {
    return malformed("extra_tensor_info.location", "0 or 1", std::to_string(static_cast<int>(from.location())));
  }
  to.external = from.location() == fb::TensorDataLocation::EXTERNAL;
  return fields_.text(from.fully_qualified_name(), "extra_tensor_info.fully_qualified_name", to.name);
}

Status ProgramReader::read_operator(const fb::Operator& from, Operator& to) {
  PTERON_TRY(fields_.required_text(from.name(), "name", to.name));
  return fields_.text(from.overload(), "overload", to.overload);
}

Status ProgramReader::read_delegate(const fb::BackendDelegate& from, Delegate& to) {
  PTERON_TRY(fields_.required_text(from.id(), "id", to.id));
  PTERON_TRY(fields_.present(from.processed(), "processed"));
  const fb::DataLocation location = from.processed()->location();
  if (location > fb::DataLocation::MAX || location < fb::DataLocation::MIN) {
    return malformed("processed.location", "0 or 1", std::to_string(static_cast<int>(location)));
  }
  to.in_segment = location == fb::DataLocation::SEGMENT;
  to.index = from.processed()->index();
  return fields_.each(from.compile_specs(), "compile_specs", [&](const fb::CompileSpec& spec, size_t) -> Status {
    CompileSpec& into = to.compile_specs.emplace_back();
    PTERON_TRY(fields_.required_text(spec.key(), "key", into.key));
    PTERON_TRY(fields_.present(spec.value(), "value"));
    std::vector<uint8_t> bytes;
    PTERON_TRY(fields_.numbers(spec.value(), "value", bytes));
    into.value.assign(reinterpret_cast<const std::byte*>(bytes.data()), reinterpret_cast<const std::byte*>(bytes.data()) + bytes.size());
    return {};
  });
}

Status ProgramReader::read_chain(const fb::Chain& from, Chain& to) {
  PTERON_TRY(fields_.present(from.instructions(), "instructions"));
  to.instructions.reserve(from.instructions()->size());
  return fields_.each(from.instructions(), "instructions",
                      [&](const fb::Instruction& instruction, size_t) { return read_instruction(instruction, to.instructions); });
}

Status ProgramReader::read_instruction(const fb::Instruction& from, std::vector<Instruction>& to) {
  const auto arguments = [&](const flatbuffers::Vector<int32_t>* args, std::vector<int32_t>& into) -> Status {
    PTERON_TRY(fields_.present(args, "args"));
    return fields_.numbers(args, "args", into);
  };
  const fb::InstructionArguments type = from.instr_args_type();
  if (type == fb::InstructionArguments::NONE || type > fb::InstructionArguments::MAX) {
    return malformed("instr_args_type", "1..5", std::to_string(static_cast<int>(type)));
  }
  PTERON_TRY(fields_.present(from.instr_args(), "instr_args"));
  switch (type) {
    case fb::InstructionArguments::KernelCall: {
      auto& call = append<KernelCall>(to);
      call.op_index = from.instr_args_as_KernelCall()->op_index();
      return arguments(from.instr_args_as_KernelCall()->args(), call.args);
    }
    case fb::InstructionArguments::DelegateCall: {
      auto& call = append<DelegateCall>(to);
      call.delegate_index = from.instr_args_as_DelegateCall()->delegate_index();
      return arguments(from.instr_args_as_DelegateCall()->args(), call.args);
    }
    case fb::InstructionArguments::MoveCall: {
      const fb::MoveCall* move = from.instr_args_as_MoveCall();
      append<MoveCall>(to) = {move->move_from(), move->move_to()};
      return {};
    }
    case fb::InstructionArguments::JumpFalseCall: {
      const fb::JumpFalseCall* jump = from.instr_args_as_JumpFalseCall();
      append<JumpFalseCall>(to) = {jump->cond_value_index(), jump->destination_instruction()};
      return {};
    }
    default: append<FreeCall>(to) = {from.instr_args_as_FreeCall()->value_index()}; return {};
  }
}

}  // namespace

Result<Program> read_program(ByteSpan file) {
  PTERON_ASSIGN(const ProgramLayout layout, read_program_layout(file));
  const ByteSpan region = file.first(layout.program_size);
  PTERON_ASSIGN(const fb::Program* root, verified_root<fb::Program>(region, fb::ProgramIdentifier()));
  Program program;
  PTERON_TRY(ProgramReader(region).read(*root, layout, program));
  PTERON_TRY(check_program(program));
  return program;
}

}  // namespace pteron::format
