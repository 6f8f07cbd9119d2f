#include "format/program_checks.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/checked.h"
#include "format/malformed.h"
#include "format/tensor_shape.h"
#include "format/text_checks.h"

namespace pteron::format {
namespace {

constexpr size_t kMaxOperatorName = 99;  // name and overload with the dot between them, as registries store it
// The arenas of a method may hold this much beyond twice of what is planned in them. Planners add slack of less than a page.
constexpr uint64_t kArenaSlack = uint64_t{64} << 20;

Status index_error(std::string field, std::string_view of, int64_t index, size_t count) {
  return malformed(field, count == 0 ? "no " + std::string(of) : std::string(of) + " 0.." + std::to_string(count - 1), std::to_string(index));
}

bool inside(int64_t index, size_t count) { return index >= 0 && static_cast<uint64_t>(index) < count; }

// The first name that appears twice, or null.
const std::string* repeated_name(std::vector<const std::string*> names) {
  const auto less = [](const std::string* a, const std::string* b) { return *a < *b; };
  std::sort(names.begin(), names.end(), less);
  const auto at = std::adjacent_find(names.begin(), names.end(), [](const std::string* a, const std::string* b) { return *a == *b; });
  return at == names.end() ? nullptr : *at;
}

// Bytes that are planned in each arena, over all plans: methods may share arenas of one size.
std::vector<uint64_t> planned_extents(const Program& program) {
  std::vector<uint64_t> extents;
  for (const Plan& plan : program.plans) {
    extents.resize(std::max(extents.size(), plan.non_const_buffer_sizes.size()));
    for (const Value& value : plan.values) {
      const Tensor* tensor = std::get_if<Tensor>(&value);
      if (!tensor || !tensor->allocation) continue;
      uint64_t& extent = extents[tensor->allocation->memory_id];
      extent = std::max(extent, tensor->allocation->offset + tensor->nbytes);
    }
  }
  return extents;
}

class PlanChecker {
 public:
  PlanChecker(const Program& program, Plan& plan) : program_(program), plan_(plan) {}

  Status check() {
    PTERON_TRY(check_text(plan_.encoded_inp_str, "container_meta_type.encoded_inp_str"));
    PTERON_TRY(check_text(plan_.encoded_out_str, "container_meta_type.encoded_out_str"));
    PTERON_TRY(check_arenas());
    for (size_t i = 0; i < plan_.values.size(); ++i) {
      if (Status s = check_value(i); !s.ok()) return std::move(s).in_field(indexed("values", i));
    }
    PTERON_TRY(check_ends("inputs", plan_.inputs));
    PTERON_TRY(check_ends("outputs", plan_.outputs));
    PTERON_TRY(check_operators());
    for (size_t i = 0; i < plan_.delegates.size(); ++i) {
      if (Status s = check_delegate(plan_.delegates[i]); !s.ok()) return std::move(s).in_field(indexed("delegates", i));
    }
    return check_chains();
  }

 private:
  Status check_arenas() {
    const std::vector<int64_t>& sizes = plan_.non_const_buffer_sizes;
    if (sizes.empty()) return malformed("non_const_buffer_sizes", "at least the reserved entry", "an empty list");
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] < 0) return malformed(indexed("non_const_buffer_sizes", i), "0 or more bytes", std::to_string(sizes[i]));
    }
    for (size_t i = 0; i < plan_.non_const_buffer_device.size(); ++i) {
      const BufferDevice& device = plan_.non_const_buffer_device[i];
      if (device.buffer_idx == 0 || !inside(device.buffer_idx, sizes.size())) {
        return malformed(indexed("non_const_buffer_device", i) + ".buffer_idx", "1.." + std::to_string(sizes.size() - 1), std::to_string(device.buffer_idx));
      }
    }
    return {};
  }

  Status check_value(size_t index) {
    Value& value = plan_.values[index];
    if (Tensor* tensor = std::get_if<Tensor>(&value)) return check_tensor(*tensor);
    if (const auto* text = std::get_if<std::string>(&value)) return is_utf8(*text) ? Status() : malformed("string_val", "UTF-8", "other bytes");
    if (const IntList* list = std::get_if<IntList>(&value)) return check_indices("items", list->items);
    if (const TensorList* list = std::get_if<TensorList>(&value)) return check_tensor_items(list->items, index, false);
    if (const OptionalTensorList* list = std::get_if<OptionalTensorList>(&value)) return check_tensor_items(list->items, index, true);
    return {};
  }

  Status check_tensor(Tensor& tensor) {
    PTERON_TRY(check_shape(tensor));
    PTERON_TRY(check_text(tensor.name, "extra_tensor_info.fully_qualified_name"));
    if (tensor.allocation) PTERON_TRY(check_placement(tensor));
    if (tensor.external) return tensor.name.empty() ? malformed("extra_tensor_info.fully_qualified_name", "the key of the external data", "nothing") : Status();
    if (tensor.data_buffer_idx == 0) return {};
    return tensor.allocation ? check_initial_state(tensor) : check_constant(tensor);
  }

  Status check_shape(Tensor& tensor) {
    PTERON_ASSIGN(tensor.nbytes, checked_nbytes(tensor.dtype, tensor.sizes, tensor.dim_order));
    if (tensor.dynamism == ShapeDynamism::fixed || tensor.dynamism == ShapeDynamism::bound) return {};
    const bool unbound = tensor.dynamism == ShapeDynamism::unbound;
    return malformed("shape_dynamism", "0 or 1", std::to_string(static_cast<int>(tensor.dynamism)), unbound ? Code::unsupported : Code::invalid_data);
  }

  Status check_placement(const Tensor& tensor) {
    const std::vector<int64_t>& sizes = plan_.non_const_buffer_sizes;
    const Allocation& place = *tensor.allocation;
    if (place.memory_id == 0 || place.memory_id >= sizes.size()) {
      return malformed("allocation_info.memory_id", sizes.size() == 1 ? "no arena" : "1.." + std::to_string(sizes.size() - 1), std::to_string(place.memory_id));
    }
    const auto arena = static_cast<uint64_t>(sizes[place.memory_id]);
    if (!range_inside(place.offset, tensor.nbytes, arena)) {
      return malformed("allocation_info.memory_offset", "a place in the arena's " + std::to_string(arena) + " bytes",
                       std::to_string(tensor.nbytes) + " bytes at " + std::to_string(place.offset));
    }
    return {};
  }

  // Whether entry `tensor.data_buffer_idx` of `entries` holds the tensor; its place in the file otherwise.
  Status find_entry(const Subsegments& entries, std::string_view owner, const Tensor& tensor, uint64_t& offset) {
    if (tensor.data_buffer_idx >= entries.offsets.size()) {
      return index_error("data_buffer_idx", std::string("entries of ") + std::string(owner), tensor.data_buffer_idx, entries.offsets.size());
    }
    const Segment& segment = program_.segments[entries.segment_index];
    offset = entries.offsets[tensor.data_buffer_idx];
    if (!range_inside(offset, tensor.nbytes, segment.size)) {
      return malformed("data_buffer_idx", "data within the " + std::to_string(segment.size) + " bytes of " + std::string(owner),
                       std::to_string(tensor.nbytes) + " bytes at " + std::to_string(offset));
    }
    offset += segment.offset;
    return {};
  }

  Status check_initial_state(const Tensor& tensor) {
    if (!program_.mutable_data) return malformed("data_buffer_idx", "0 in a program without mutable_data_segments", std::to_string(tensor.data_buffer_idx));
    uint64_t offset = 0;
    return find_entry(*program_.mutable_data, "mutable_data_segments[0]", tensor, offset);
  }

  Status check_constant(const Tensor& tensor) {
    uint64_t place = 0;
    if (program_.constants && program_.constants->offsets.size() > 1) {
      PTERON_TRY(find_entry(*program_.constants, "constant_segment", tensor, place));
    } else {
      if (tensor.data_buffer_idx >= program_.inline_constants.size()) {
        return index_error("data_buffer_idx", "constants", tensor.data_buffer_idx, program_.inline_constants.size());
      }
      const ByteSpan bytes = program_.inline_constants[tensor.data_buffer_idx];
      if (bytes.size() < tensor.nbytes) {
        return malformed("data_buffer_idx", std::to_string(tensor.nbytes) + " bytes of constant", std::to_string(bytes.size()));
      }
      place = reinterpret_cast<uintptr_t>(bytes.data());
    }
    if (tensor.nbytes > 0 && place % element_alignment(tensor.dtype) != 0) {
      return malformed("data_buffer_idx", "constant data aligned to " + std::to_string(element_alignment(tensor.dtype)) + " bytes", "offset " + std::to_string(place));
    }
    return {};
  }

  Status check_indices(std::string_view field, const std::vector<int32_t>& indices) {
    for (size_t i = 0; i < indices.size(); ++i) {
      if (!inside(indices[i], plan_.values.size())) return index_error(indexed(field, i), "values", indices[i], plan_.values.size());
    }
    return {};
  }

  Status check_tensor_items(const std::vector<int32_t>& items, size_t list, bool optional) {
    for (size_t i = 0; i < items.size(); ++i) {
      if (optional && items[i] == -1) continue;
      if (!inside(items[i], list)) return index_error(indexed("items", i), "values before the list:", items[i], list);
      const Value& item = plan_.values[static_cast<size_t>(items[i])];
      if (std::holds_alternative<Tensor>(item) || (optional && std::holds_alternative<None>(item))) continue;
      return malformed(indexed("items", i), optional ? "a Tensor or None" : "a Tensor", "another kind of value");
    }
    return {};
  }

  // Inputs and outputs: single values, never lists.
  Status check_ends(std::string_view field, const std::vector<int32_t>& indices) {
    PTERON_TRY(check_indices(field, indices));
    for (size_t i = 0; i < indices.size(); ++i) {
      const Value& value = plan_.values[static_cast<size_t>(indices[i])];
      const bool list = std::holds_alternative<IntList>(value) || std::holds_alternative<BoolList>(value) || std::holds_alternative<DoubleList>(value) ||
                        std::holds_alternative<TensorList>(value) || std::holds_alternative<OptionalTensorList>(value);
      if (list) return malformed(indexed(field, i), "a tensor, scalar, string or None", "a list");
    }
    return {};
  }

  Status check_operators() {
    for (size_t i = 0; i < plan_.operators.size(); ++i) {
      const Operator& op = plan_.operators[i];
      const size_t length = op.name.size() + (op.overload.empty() ? 0 : 1 + op.overload.size());
      PTERON_TRY(check_name(op.name, indexed("operators", i) + ".name"));
      PTERON_TRY(check_text(op.overload, indexed("operators", i) + ".overload"));
      if (length > kMaxOperatorName) return malformed(indexed("operators", i) + ".name", "at most 99 characters with its overload", std::to_string(length));
    }
    return {};
  }

  Status check_delegate(const Delegate& delegate) {
    PTERON_TRY(check_name(delegate.id, "id"));
    for (size_t i = 0; i < delegate.compile_specs.size(); ++i) PTERON_TRY(check_text(delegate.compile_specs[i].key, indexed("compile_specs", i) + ".key"));
    const size_t count = delegate.in_segment ? program_.segments.size() : program_.inline_delegate_data.size();
    if (delegate.index >= count) return index_error("processed.index", delegate.in_segment ? "segments" : "backend_delegate_data", delegate.index, count);
    return {};
  }

  Status check_chains() {
    if (plan_.chains.empty()) return malformed("chains", "at least one", "none");
    for (size_t c = 0; c < plan_.chains.size(); ++c) {
      const std::vector<Instruction>& instructions = plan_.chains[c].instructions;
      for (size_t i = 0; i < instructions.size(); ++i) {
        if (Status s = check_instruction(instructions[i], instructions.size()); !s.ok()) {
          return std::move(s).in_field(indexed("chains", c) + "." + indexed("instructions", i));
        }
      }
    }
    return {};
  }

  Status check_instruction(const Instruction& instruction, size_t instruction_count) {
    const auto value_at = [&](std::string_view field, int32_t index) {
      return inside(index, plan_.values.size()) ? Status() : index_error(std::string(field), "values", index, plan_.values.size());
    };
    if (const auto* call = std::get_if<KernelCall>(&instruction)) {
      if (!inside(call->op_index, plan_.operators.size())) return index_error("op_index", "operators", call->op_index, plan_.operators.size());
      return check_indices("args", call->args);
    }
    if (const auto* call = std::get_if<DelegateCall>(&instruction)) {
      if (!inside(call->delegate_index, plan_.delegates.size())) {
        return index_error("delegate_index", "delegates", call->delegate_index, plan_.delegates.size());
      }
      return check_indices("args", call->args);
    }
    if (const auto* move = std::get_if<MoveCall>(&instruction)) {
      PTERON_TRY(value_at("move_from", move->from));
      return value_at("move_to", move->to);
    }
    if (const auto* jump = std::get_if<JumpFalseCall>(&instruction)) {
      PTERON_TRY(value_at("cond_value_index", jump->condition));
      if (inside(jump->destination, instruction_count + 1)) return {};
      return index_error("destination_instruction", "instructions", jump->destination, instruction_count + 1);
    }
    return value_at("value_index", std::get_if<FreeCall>(&instruction)->value);
  }

  const Program& program_;
  Plan& plan_;
};

Status check_entries(const Program& program, const std::optional<Subsegments>& entries, std::string_view field) {
  // Without entries behind the reserved one nothing is ever read, and writers leave any segment index.
  if (!entries || entries->offsets.size() <= 1 || entries->segment_index < program.segments.size()) return {};
  return index_error(std::string(field) + ".segment_index", "segments", entries->segment_index, program.segments.size());
}

Status check_arena_sizes(const Program& program) {
  const std::vector<uint64_t> extents = planned_extents(program);
  for (size_t p = 0; p < program.plans.size(); ++p) {
    const std::vector<int64_t>& sizes = program.plans[p].non_const_buffer_sizes;
    uint64_t unexplained = 0;
    for (size_t i = 0; i < sizes.size(); ++i) {
      const uint64_t explained = std::min(2 * extents[i], static_cast<uint64_t>(sizes[i]));
      unexplained += static_cast<uint64_t>(sizes[i]) - explained;
      if (unexplained <= kArenaSlack) continue;
      return malformed(indexed("execution_plan", p) + "." + indexed("non_const_buffer_sizes", i),
                       "an arena for the " + std::to_string(extents[i]) + " bytes planned in it", std::to_string(sizes[i]) + " bytes");
    }
  }
  return {};
}

Status check_names(const Program& program) {
  std::vector<const std::string*> names;
  for (size_t i = 0; i < program.plans.size(); ++i) {
    PTERON_TRY(check_name(program.plans[i].name, indexed("execution_plan", i) + ".name"));
    names.push_back(&program.plans[i].name);
  }
  if (const std::string* name = repeated_name(std::move(names))) return malformed("execution_plan.name", "different names", "'" + *name + "' twice");
  names.clear();
  for (size_t i = 0; i < program.named_data.size(); ++i) {
    const NamedData& data = program.named_data[i];
    PTERON_TRY(check_name(data.key, indexed("named_data", i) + ".key"));
    if (data.segment_index >= program.segments.size()) {
      return index_error(indexed("named_data", i) + ".segment_index", "segments", data.segment_index, program.segments.size());
    }
    names.push_back(&data.key);
  }
  if (const std::string* key = repeated_name(std::move(names))) return malformed("named_data.key", "different keys", "'" + *key + "' twice");
  return {};
}

}  // namespace

Status check_program(Program& program) {
  if (program.plans.empty()) return malformed("execution_plan", "at least one method", "none");
  PTERON_TRY(check_names(program));
  PTERON_TRY(check_entries(program, program.constants, "constant_segment"));
  PTERON_TRY(check_entries(program, program.mutable_data, "mutable_data_segments[0]"));
  if (program.constants && program.constants->offsets.size() > 1 && !program.inline_constants.empty()) {
    return malformed("constant_buffer", "no inline constants beside a constant segment", std::to_string(program.inline_constants.size()) + " entries");
  }
  for (size_t i = 0; i < program.plans.size(); ++i) {
    if (Status s = PlanChecker(program, program.plans[i]).check(); !s.ok()) return std::move(s).in_field(indexed("execution_plan", i));
  }
  return check_arena_sizes(program);
}

}  // namespace pteron::format
