// Tensors between files (row-major) and methods (any dim order).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pteron/tensor.h"

namespace pteron::tools {

// A tensor with memory of its own.
struct OwnedTensor {
  ScalarType dtype = ScalarType::Float;
  std::vector<int32_t> sizes;
  std::vector<uint8_t> dim_order;
  std::vector<std::byte> data;

  TensorView view() const { return {dtype, sizes, dim_order, data.data(), data.size()}; }
};

// The same values laid out by `dim_order` (empty: row-major).
OwnedTensor with_dim_order(const TensorView& tensor, std::vector<uint8_t> dim_order);

}  // namespace pteron::tools
