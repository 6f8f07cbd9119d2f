// Indices that come in tensors.
#pragma once

#include "kernels/portable/convert.h"
#include "kernels/portable/loops.h"
#include "kernels/portable/shape.h"

namespace pteron::portable {

inline bool is_index_type(ScalarType t) { return t == ScalarType::Long || t == ScalarType::Int; }

// The index at `offset` of an int64 or int32 tensor.
inline int64_t index_at(const Tensor& indices, int64_t offset) {
  return indices.dtype() == ScalarType::Long ? indices.data<int64_t>()[offset] : indices.data<int32_t>()[offset];
}

// An error for an index outside [-size, size), or outside [0, size) where negative ones do not count from the end.
Status index_error(std::string_view field, int64_t index, int64_t size);

// Checks and wraps `index`.
inline bool wrap_index(int64_t& index, int64_t size) {
  if (index < 0) index += size;
  return index >= 0 && index < size;
}

}  // namespace pteron::portable
