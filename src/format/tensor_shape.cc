#include "format/tensor_shape.h"

#include <algorithm>
#include <limits>
#include <string>

#include "base/checked.h"
#include "core/dtype.h"
#include "format/malformed.h"

namespace pteron::format {
namespace {

constexpr size_t kMaxRank = 16;
constexpr size_t kMaxElementAlignment = 8;

Status check_dim_order(std::span<const uint8_t> dim_order, size_t rank) {
  if (dim_order.size() != rank) return malformed("dim_order", std::to_string(rank) + " entries", std::to_string(dim_order.size()));
  uint32_t seen = 0;
  for (size_t i = 0; i < rank; ++i) {
    const uint8_t dim = dim_order[i];
    if (dim >= rank || (seen >> dim & 1) != 0) return malformed(indexed("dim_order", i), "a permutation of the dimensions", std::to_string(dim));
    seen |= 1u << dim;
  }
  return {};
}

}  // namespace

Result<size_t> checked_nbytes(ScalarType dtype, std::span<const int32_t> sizes, std::span<const uint8_t> dim_order) {
  if (!is_scalar_type(static_cast<int>(dtype))) return malformed("scalar_type", "0..29", std::to_string(static_cast<int>(dtype)));
  if (sizes.size() > kMaxRank) return malformed("sizes", "at most 16 dimensions", std::to_string(sizes.size()));
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0) return malformed(indexed("sizes", i), "0 or more", std::to_string(sizes[i]));
  }
  PTERON_TRY(check_dim_order(dim_order, sizes.size()));
  // Zeros are left out first, so that strides are sound as well.
  size_t bytes = element_size(dtype);
  bool empty = false;
  for (int32_t size : sizes) {
    empty = empty || size == 0;
    const auto product = checked_mul(bytes, static_cast<size_t>(std::max(size, 1)));
    if (!product || *product > static_cast<size_t>(std::numeric_limits<int64_t>::max())) return malformed("sizes", "fewer than 2^63 bytes", "more");
    bytes = *product;
  }
  return empty ? 0 : bytes;
}

size_t element_alignment(ScalarType dtype) { return std::min(element_size(dtype), kMaxElementAlignment); }

}  // namespace pteron::format
