// A program as plain values: what the reader makes of a `.pte`, and what the writer takes. No schema code reaches beyond this folder.
// Field names follow ExecuTorch's program schema (identifier ET12); docs/pte.md describes the bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "pteron/tensor.h"

namespace pteron::format {

enum class ShapeDynamism : int8_t { fixed = 0, bound = 1, unbound = 2 };

// Where a planned tensor lies: arena `memory_id` (1-based; 0 is reserved) at `offset`.
struct Allocation {
  uint32_t memory_id = 0;
  uint64_t offset = 0;
  bool operator==(const Allocation&) const = default;
};

struct Tensor {
  ScalarType dtype = ScalarType::Float;
  std::vector<int32_t> sizes;       // upper bounds where dynamism is `bound`
  std::vector<uint8_t> dim_order;
  ShapeDynamism dynamism = ShapeDynamism::fixed;
  uint32_t data_buffer_idx = 0;     // > 0: constant (or initial state, with an allocation)
  std::optional<Allocation> allocation;
  bool external = false;            // data comes from a .ptd under `name`
  std::string name;                 // fully qualified name; may be empty
  size_t nbytes = 0;                // of `sizes`; filled in by `check_program`, checked for overflow
  bool operator==(const Tensor&) const = default;
};

struct None {
  bool operator==(const None&) const = default;
};
struct IntList {
  std::vector<int32_t> items;  // indices of Int values
  bool operator==(const IntList&) const = default;
};
struct BoolList {
  std::vector<bool> items;
  bool operator==(const BoolList&) const = default;
};
struct DoubleList {
  std::vector<double> items;
  bool operator==(const DoubleList&) const = default;
};
struct TensorList {
  std::vector<int32_t> items;  // indices of Tensor values, each smaller than the list's own
  bool operator==(const TensorList&) const = default;
};
struct OptionalTensorList {
  std::vector<int32_t> items;  // the same; -1 is None
  bool operator==(const OptionalTensorList&) const = default;
};

using Value = std::variant<None, Tensor, int64_t, bool, double, std::string, IntList, BoolList, DoubleList, TensorList, OptionalTensorList>;

struct KernelCall {
  int32_t op_index = 0;
  std::vector<int32_t> args;
  bool operator==(const KernelCall&) const = default;
};
struct DelegateCall {
  int32_t delegate_index = 0;
  std::vector<int32_t> args;
  bool operator==(const DelegateCall&) const = default;
};
struct MoveCall {
  int32_t from = 0, to = 0;
  bool operator==(const MoveCall&) const = default;
};
struct JumpFalseCall {
  int32_t condition = 0, destination = 0;
  bool operator==(const JumpFalseCall&) const = default;
};
struct FreeCall {
  int32_t value = 0;
  bool operator==(const FreeCall&) const = default;
};
using Instruction = std::variant<KernelCall, DelegateCall, MoveCall, JumpFalseCall, FreeCall>;

struct Operator {
  std::string name;      // with its namespace: "aten::add"
  std::string overload;  // "out"; empty for the overload called default
  bool operator==(const Operator&) const = default;
};

struct CompileSpec {
  std::string key;
  std::vector<std::byte> value;
  bool operator==(const CompileSpec&) const = default;
};

struct Delegate {
  std::string id;
  bool in_segment = false;   // else inline
  uint32_t index = 0;        // into Program::segments or Program::inline_delegate_data
  std::vector<CompileSpec> compile_specs;
  bool operator==(const Delegate&) const = default;
};

struct BufferDevice {
  int32_t buffer_idx = 0;
  int8_t device_type = 0;
  int8_t device_index = 0;
  bool operator==(const BufferDevice&) const = default;
};

struct Chain {
  std::vector<Instruction> instructions;
  bool operator==(const Chain&) const = default;
};

struct Plan {
  std::string name;
  std::vector<Value> values;
  std::vector<int32_t> inputs, outputs;
  std::vector<Chain> chains;
  std::vector<Operator> operators;
  std::vector<Delegate> delegates;
  std::vector<int64_t> non_const_buffer_sizes;  // [0] is reserved
  std::vector<BufferDevice> non_const_buffer_device;
  std::string encoded_inp_str, encoded_out_str;
  bool operator==(const Plan&) const = default;
};

// In a program that was read, `offset` counts from byte 0 of the file; in one to be written the writer assigns it.
struct Segment {
  uint64_t offset = 0, size = 0;
  bool operator==(const Segment&) const = default;
};

struct NamedData {
  std::string key;
  uint32_t segment_index = 0;
  bool operator==(const NamedData&) const = default;
};

// Offsets of entries inside a segment; entry 0 is reserved.
struct Subsegments {
  uint32_t segment_index = 0;
  std::vector<uint64_t> offsets;
  bool operator==(const Subsegments&) const = default;
};

struct Program {
  std::vector<Plan> plans;  // constant methods included
  std::vector<Segment> segments;
  std::vector<ByteSpan> inline_delegate_data;
  std::vector<ByteSpan> inline_constants;  // deprecated home of constants; entry 0 is reserved
  std::optional<Subsegments> constants;
  std::optional<Subsegments> mutable_data;
  std::vector<NamedData> named_data;
  uint64_t program_size = 0, segment_base = 0, segment_data_size = 0;  // as the extended header says; 0 base: no segments
};

}  // namespace pteron::format
