#include "emit/memory_plan.h"

#include <algorithm>
#include <numeric>

#include "base/checked.h"

namespace pteron::emit {

uint64_t plan_memory(std::vector<Buffer>& buffers, uint64_t alignment) {
  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return buffers[a].bytes > buffers[b].bytes; });
  std::vector<const Buffer*> placed;  // by offset
  uint64_t arena = 0;
  for (size_t i : order) {
    Buffer& buffer = buffers[i];
    const uint64_t size = align_up(std::max<uint64_t>(buffer.bytes, 1), alignment);
    uint64_t at = 0;
    for (const Buffer* other : placed) {
      if (other->last < buffer.first || buffer.last < other->first) continue;
      if (at + size <= other->offset) break;
      at = std::max(at, other->offset + align_up(std::max<uint64_t>(other->bytes, 1), alignment));
    }
    buffer.offset = at;
    arena = std::max(arena, at + size);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), &buffer, [](const Buffer* a, const Buffer* b) { return a->offset < b->offset; }), &buffer);
  }
  return arena;
}

}  // namespace pteron::emit
