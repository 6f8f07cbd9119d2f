// Element type, sizes and dim order of a stored tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.h"
#include "pteron/tensor.h"

namespace pteron::format {

// The bytes of a dense tensor, once it is clear that dtype is an element type, rank <= 16, sizes are non-negative, dim_order is a
// permutation of the dimensions, and the byte count is below 2^63. Error fields are `scalar_type`, `sizes` and `dim_order`.
Result<size_t> checked_nbytes(ScalarType dtype, std::span<const int32_t> sizes, std::span<const uint8_t> dim_order);

// What an element's address must be a multiple of: its size, at most 8.
size_t element_alignment(ScalarType dtype);

}  // namespace pteron::format
