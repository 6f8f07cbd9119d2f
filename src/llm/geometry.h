// Where positions lie in a cache and what a mask shows: chapters 6 and 7 of the contract as functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/status.h"
#include "llm/contract.h"

namespace pteron::llm {

// One layer kind's cache as masks see it. A full layer is a ring of L slots that never wraps, without a window.
struct Geometry {
  size_t slots = 0;
  size_t window = SIZE_MAX;  // W; SIZE_MAX where every earlier token is seen

  static Geometry of(const LayerSpec& layer);

  size_t slot_of(size_t position) const { return position % slots; }
  // The position that slot `slot` holds once positions below `end` were written; nothing where the slot is still empty.
  std::optional<size_t> position_in(size_t slot, size_t end) const {
    if (end == 0) return std::nullopt;
    const size_t newest = end - 1, back = (newest % slots + slots - slot) % slots;
    if (back > newest) return std::nullopt;
    return newest - back;
  }
  // Whether a query at `query` attends to position `position`.
  bool sees(size_t query, size_t position) const { return position <= query && query - position < window; }
  // Whether the keys that a query at `position` may see are still held after positions below `written` were written.
  bool holds_for(size_t position, size_t written) const;
};

// Fills a mask [1, 1, rows, slots] for a call at `position`: row r is the query at position + r, end = position + rows.
// `dtype` is bool (true: attend) or float32, float16, bfloat16 (0: attend, the most negative finite value: hide).
void fill_mask(const Geometry& geometry, size_t position, size_t rows, ScalarType dtype, void* out);

// The bits of a dtype's most negative finite value; only for the float types of masks.
uint32_t most_negative_bits(ScalarType dtype);

}  // namespace pteron::llm
