#include "runtime/value.h"

#include <algorithm>
#include <string>

#include "base/checked.h"

namespace pteron::runtime {
namespace {

std::string shape_text(std::span<const int32_t> sizes) {
  std::string text = "[";
  for (size_t i = 0; i < sizes.size(); ++i) text += (i ? "," : "") + std::to_string(sizes[i]);
  return text + "]";
}

}  // namespace

Tensor::Tensor(ScalarType dtype, std::span<const int32_t> sizes, std::span<const uint8_t> dim_order, bool dynamic)
    : dtype_(dtype), rank_(static_cast<uint8_t>(sizes.size())), element_bytes_(static_cast<uint8_t>(element_size(dtype))), dynamic_(dynamic) {
  std::copy(sizes.begin(), sizes.end(), sizes_.begin());
  std::copy(dim_order.begin(), dim_order.end(), dim_order_.begin());
  update_layout();
  capacity_ = numel_;
}

void Tensor::update_layout() {
  numel_ = 1;
  int64_t stride = 1;
  for (size_t i = rank_; i-- > 0;) {
    const size_t dim = dim_order_[i];
    strides_[dim] = stride;
    stride *= std::max(sizes_[dim], 1);  // so that an empty dimension leaves the outer strides usable
    numel_ *= static_cast<size_t>(sizes_[i]);
  }
  contiguous_ = true;
  int64_t expected = 1;
  for (size_t dim = rank_; dim-- > 0;) {
    if (sizes_[dim] != 1 && strides_[dim] != expected) contiguous_ = false;
    expected *= std::max(sizes_[dim], 1);
  }
}

Status Tensor::resize(std::span<const int32_t> sizes) {
  if (sizes.size() == rank_ && std::equal(sizes.begin(), sizes.end(), sizes_.begin())) return {};
  if (sizes.size() != rank_ || !dynamic_) {
    return Status::error(Code::unsupported, "tensor cannot take these sizes", {"", "", shape_text(this->sizes()), shape_text(sizes)});
  }
  const auto numel = checked_product<int32_t>(sizes);
  if (!numel) return Status::error(Code::invalid_argument, "sizes are negative or overflow", {"", "", "", shape_text(sizes)});
  if (*numel > capacity_) {
    return Status::error(Code::out_of_capacity, "tensor is too small for these sizes",
                         {"", "", "at most " + std::to_string(capacity_) + " elements", shape_text(sizes)});
  }
  std::copy(sizes.begin(), sizes.end(), sizes_.begin());
  update_layout();
  return {};
}

std::string_view kind_name(Value::Kind kind) {
  switch (kind) {
    case Value::Kind::none: return "none";
    case Value::Kind::tensor: return "tensor";
    case Value::Kind::string: return "string";
    case Value::Kind::number_double: return "double";
    case Value::Kind::number_int: return "int";
    case Value::Kind::boolean: return "bool";
    case Value::Kind::bool_list: return "bool list";
    case Value::Kind::double_list: return "double list";
    case Value::Kind::int_list: return "int list";
    case Value::Kind::tensor_list: return "tensor list";
    case Value::Kind::optional_tensor_list: return "optional tensor list";
  }
  return "unknown";
}

}  // namespace pteron::runtime
