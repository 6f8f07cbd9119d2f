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
  size_t nbytes = 0;                // of `sizes`; filled in by the reader, checked for overflow
};

struct None {};
struct IntList { std::vector<int32_t> items; };             // indices of Int values
struct BoolList { std::vector<bool> items; };
struct DoubleList { std::vector<double> items; };
struct TensorList { std::vector<int32_t> items; };          // indices of Tensor values, each smaller than the list's own
struct OptionalTensorList { std::vector<int32_t> items; };  // the same; -1 is None

using Value = std::variant<None, Tensor, int64_t, bool, double, std::string, IntList, BoolList, DoubleList, TensorList, OptionalTensorList>;

struct KernelCall { int32_t op_index = 0; std::vector<int32_t> args; };
struct DelegateCall { int32_t delegate_index = 0; std::vector<int32_t> args; };
struct MoveCall { int32_t from = 0, to = 0; };
struct JumpFalseCall { int32_t condition = 0, destination = 0; };
struct FreeCall { int32_t value = 0; };
using Instruction = std::variant<KernelCall, DelegateCall, MoveCall, JumpFalseCall, FreeCall>;

struct Operator {
  std::string name;      // with its namespace: "aten::add"
  std::string overload;  // "out"; empty for the overload called default
};

struct CompileSpec {
  std::string key;
  std::vector<std::byte> value;
};

struct Delegate {
  std::string id;
  bool in_segment = false;   // else inline
  uint32_t index = 0;        // into Program::segments or Program::inline_delegate_data
  std::vector<CompileSpec> compile_specs;
};

struct BufferDevice { int32_t buffer_idx = 0; int8_t device_type = 0; int8_t device_index = 0; };

struct Chain { std::vector<Instruction> instructions; };

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
};

// In a program that was read, `offset` counts from byte 0 of the file; in one to be written the writer assigns it.
struct Segment { uint64_t offset = 0, size = 0; };

struct NamedData {
  std::string key;
  uint32_t segment_index = 0;
};

// Offsets of entries inside a segment; entry 0 is reserved.
struct Subsegments {
  uint32_t segment_index = 0;
  std::vector<uint64_t> offsets;
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
