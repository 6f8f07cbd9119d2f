#include "runtime/arguments.h"

#include <cmath>
#include <limits>

namespace pteron::runtime {

int64_t Scalar::as_int() const {
  if (!is_number()) return i;
  if (std::isnan(d)) return 0;
  if (d >= 0x1p63) return std::numeric_limits<int64_t>::max();
  if (d <= -0x1p63) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(d);
}

namespace internal {

bool has_memory(const Tensor& tensor, bool written) {
  if ((written ? tensor.capacity() : tensor.numel()) == 0) return true;
  return tensor.data() != nullptr && (!written || tensor.writable());
}

bool read_scalar(const Value& value, Scalar& out) {
  switch (value.kind()) {
    case Value::Kind::number_int: out = {Scalar::Kind::integer, value.integer(), 0}; return true;
    case Value::Kind::number_double: out = {Scalar::Kind::number, 0, value.number()}; return true;
    case Value::Kind::boolean: out = {Scalar::Kind::boolean, value.boolean(), 0}; return true;
    default: return false;
  }
}

bool read_int_list(const Value& value, IntList& out) {
  if (!value.is(Value::Kind::int_list)) return false;
  for (int32_t item : value.boxed().items) {
    if (!value.boxed().table[item].is(Value::Kind::number_int)) return false;
  }
  out = IntList(value.boxed());
  return true;
}

bool read_tensor_list(const Value& value, TensorList& out) {
  if (!value.is(Value::Kind::tensor_list)) return false;
  for (int32_t item : value.boxed().items) {
    const Value& element = value.boxed().table[item];
    if (!element.is(Value::Kind::tensor) || !has_memory(element.tensor(), false)) return false;
  }
  out = TensorList(value.boxed());
  return true;
}

bool read_optional_tensor_list(const Value& value, OptionalTensorList& out) {
  if (!value.is(Value::Kind::optional_tensor_list)) return false;
  for (int32_t item : value.boxed().items) {
    if (item < 0) continue;
    const Value& element = value.boxed().table[item];
    if (element.is(Value::Kind::none)) continue;
    if (!element.is(Value::Kind::tensor) || !has_memory(element.tensor(), false)) return false;
  }
  out = OptionalTensorList(value.boxed());
  return true;
}

Status wrong_argument(size_t index, Value::Kind expected, const Value& found) {
  Detail detail{"", "argument " + std::to_string(index), std::string(kind_name(expected)), std::string(kind_name(found.kind()))};
  if (found.is(Value::Kind::tensor) && expected == Value::Kind::tensor) {
    detail.expected = found.tensor().data() != nullptr ? "tensor that may be written" : "tensor with memory";
    detail.found = found.tensor().data() != nullptr ? "constant" : "input that is not set, or output that is not bound";
    return Status::error(Code::invalid_argument, "tensor has no memory for this", std::move(detail));
  }
  if (found.kind() == expected) detail.found += " with unusable elements";
  return Status::error(Code::invalid_data, "kernel argument has the wrong kind", std::move(detail));
}

}  // namespace internal
}  // namespace pteron::runtime
