// One stored integer, scale or offset of a packed record, the plain way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/dtype.h"
#include "core/packed_weight.h"

namespace pteron::kernels::cpu {

inline uint16_t record_half(const std::byte* record, size_t offset, size_t index) {
  uint16_t bits = 0;
  std::memcpy(&bits, record + offset + index * 2, sizeof bits);
  return bits;
}

// The unsigned integer of `row` (below 16) and `column` (below 32) in a record of an integer encoding.
inline int stored_integer(const PackedLayout& layout, const std::byte* record, size_t row, size_t column) {
  const size_t block = column / 4, lane = row * 4 + column % 4;
  if (layout.bits == 8) return std::to_integer<int>(record[block * 64 + lane]);
  const int low = (std::to_integer<int>(record[block / 2 * 64 + lane]) >> (block % 2 * 4)) & 15;
  if (layout.bits == 4) return low;
  const std::byte* plane = record + layout.plane_offset;
  if (layout.bits == 5) return low | ((std::to_integer<int>(plane[lane]) >> block & 1) << 4);
  return low | ((std::to_integer<int>(plane[block / 4 * 64 + lane]) >> (block % 4 * 2) & 3) << 4);
}

inline float stored_scale(const PackedLayout& layout, const std::byte* record, size_t row, size_t column) {
  const size_t set = layout.bits == 6 ? column / 16 : 0;
  return half_to_float(record_half(record, layout.scale_offset, set * kTileRows + row));
}

inline float stored_offset(const PackedLayout& layout, const std::byte* record, size_t row) {
  return layout.affine ? half_to_float(record_half(record, layout.scale_offset, kTileRows + row)) : 0.0f;
}

}  // namespace pteron::kernels::cpu
