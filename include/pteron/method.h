// Methods of a program: what they take and give, and a loaded one that runs.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pteron/allocator.h"
#include "pteron/status.h"
#include "pteron/tensor.h"

namespace pteron {

enum class ValueKind : uint8_t { none, tensor, string, number_double, number_int, boolean, list };

// One input or output of a method, before and without loading it.
struct SlotInfo {
  ValueKind kind = ValueKind::none;
  ScalarType dtype = ScalarType::Float;
  std::vector<int32_t> sizes;        // upper bounds where `dynamic`
  std::vector<uint8_t> dim_order;
  size_t nbytes = 0;
  bool dynamic = false;
  bool planned = false;              // lives in an arena or is a constant: inputs are copied, output buffers cannot be supplied
  std::string name;                  // fully qualified, where the file has one
  int64_t int_value = 0;             // the value that a scalar input is specialised to
  double double_value = 0;
  bool bool_value = false;
  std::string string_value;
};

struct MethodInfo {
  std::string name;
  std::vector<SlotInfo> inputs, outputs;
  std::vector<int64_t> arena_bytes;      // planned memory, arena 1 first
  std::vector<std::string> delegates;    // backend ids
  std::vector<std::string> operators;    // "aten::add.out"
  bool constant = false;                 // no inputs and no instructions: outputs are stored values
};

/// Drives one loaded method. One thread at a time. Addresses of planned memory never change; nothing is allocated after load.
class Method {
 public:
  Method(Method&&) noexcept;
  Method& operator=(Method&&) noexcept;
  ~Method();

  const MethodInfo& info() const;

  // Gives input `index` its value. A tensor's dtype must match, and its sizes must fit the stored ones. Planned inputs copy the bytes;
  // others keep `value.data`, which must stay valid and in place until it is replaced (dim_order is not compared: see docs/runtime.md).
  Status set_input(size_t index, const TensorView& value);
  Status set_input(size_t index, int64_t value);
  Status set_input(size_t index, double value);
  Status set_input(size_t index, bool value);
  Status set_input(size_t index, std::string_view value);
  Status set_input_none(size_t index);

  // Makes `buffer` the memory of output `index`, which must be an unplanned tensor of at most `buffer.nbytes`.
  Status bind_output(size_t index, const MutableTensorView& buffer);

  // Gives memory to every unplanned tensor output that has none and is no input: for callers that bring no buffers of their own.
  Status allocate_outputs();

  // Runs the instructions. After an error the method may be executed again; memory is left as it is.
  Status execute();

  // The output after `execute`: data aliases the method's memory (or the bound buffer) until the next execution.
  Result<TensorView> output(size_t index) const;
  Result<int64_t> output_int(size_t index) const;
  Result<double> output_double(size_t index) const;
  Result<bool> output_bool(size_t index) const;
  Result<std::string_view> output_string(size_t index) const;
  ValueKind output_kind(size_t index) const;

  // Puts planned memory back to its state at load (zeros and stored initial data). Inputs stay set.
  Status reset();

  struct Impl;
  explicit Method(std::unique_ptr<Impl> impl);

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace pteron
