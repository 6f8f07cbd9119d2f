// What can be done with the bytes of caches: clear, copy, save, load, and take tokens out of the middle.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "base/bytes.h"
#include "base/status.h"
#include "llm/contract.h"
#include "llm/geometry.h"
#include "llm/io_manager.h"

namespace pteron::llm {

// How far caches are filled.
struct CacheExtent {
  size_t position = 0;  // t: committed tokens
  size_t written = 0;   // one more than the highest position ever written, padding included
};

// Positions [first, last).
struct PositionRange {
  size_t first = 0, last = 0;
};

// The committed positions whose keys a cache still holds.
PositionRange held_range(const Geometry& geometry, size_t position, size_t written);

// Zeroes every slot that a position below `written` can have touched.
void clear_slots(const CacheView& cache, size_t written);
// Copies the slots of a range of positions between caches of one geometry.
void copy_slots(const CacheView& from, const CacheView& to, PositionRange range);

// Caches as bytes: a geometry header, the extent, then the committed slots of key and value of each layer, head by head.
Status save_caches(const Contract& contract, std::span<const CacheView> caches, CacheExtent extent, const StateSink& sink);

// A checked view of bytes that `save_caches` wrote.
struct SavedCaches {
  CacheExtent extent;
  ByteSpan slots;
};
Result<SavedCaches> read_saved_caches(const Contract& contract, size_t position, ByteSpan bytes);
void load_caches(const Contract& contract, const SavedCaches& saved, std::span<const CacheView> caches);

// Removes the positions [from, to) of `position` committed ones: what follows moves down and its keys are turned back by to - from.
// unsupported where a layer does not hold everything, or the contract does not say how keys were rotated.
Status evict_slots(const Contract& contract, std::span<const CacheView> caches, size_t position, size_t from, size_t to);

}  // namespace pteron::llm
