#include "llm/geometry.h"

#include <algorithm>

namespace pteron::llm {
namespace {

template <class Element>
void fill(const Geometry& geometry, size_t position, size_t rows, Element show, Element hide, Element* out) {
  const size_t end = position + rows;
  std::fill_n(out, rows * geometry.slots, hide);
  for (size_t r = 0; r < rows; ++r, out += geometry.slots) {
    // The positions that the row sees follow each other, so their slots are one run, or two where the ring wraps.
    const size_t query = position + r;
    size_t first = end > geometry.slots ? end - geometry.slots : 0;
    if (query >= geometry.window) first = std::max(first, query - geometry.window + 1);
    if (first > query) continue;
    const size_t count = query - first + 1, slot = geometry.slot_of(first);
    const size_t before_wrap = std::min(count, geometry.slots - slot);
    std::fill_n(out + slot, before_wrap, show);
    std::fill_n(out, count - before_wrap, show);
  }
}

}  // namespace

Geometry Geometry::of(const LayerSpec& layer) {
  Geometry geometry;
  geometry.slots = static_cast<size_t>(layer.slots);
  if (layer.kind == LayerKind::sliding) geometry.window = static_cast<size_t>(layer.window);
  return geometry;
}

bool Geometry::holds_for(size_t position, size_t written) const {
  if (position == 0 || written <= slots) return true;  // nothing is needed, or nothing was overwritten
  const size_t oldest_needed = position >= window ? position - window + 1 : 0;
  return oldest_needed >= written - slots;
}

uint32_t most_negative_bits(ScalarType dtype) {
  switch (dtype) {
    case ScalarType::Half: return 0xFBFF;
    case ScalarType::BFloat16: return 0xFF7F;
    default: return 0xFF7FFFFF;
  }
}

void fill_mask(const Geometry& geometry, size_t position, size_t rows, ScalarType dtype, void* out) {
  switch (element_size(dtype)) {
    case 1: return fill<uint8_t>(geometry, position, rows, 1, 0, static_cast<uint8_t*>(out));
    case 2: return fill<uint16_t>(geometry, position, rows, 0, static_cast<uint16_t>(most_negative_bits(dtype)), static_cast<uint16_t*>(out));
    default: return fill<uint32_t>(geometry, position, rows, 0, most_negative_bits(dtype), static_cast<uint32_t*>(out));
  }
}

}  // namespace pteron::llm
