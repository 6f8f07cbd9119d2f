#include "backends/cpu/compile/arena.h"

#include <algorithm>
#include <numeric>

#include "backends/cpu/payload/step_values.h"
#include "base/checked.h"

namespace pteron::cpu_backend {
namespace {

struct Life {
  size_t first = ~size_t{0}, last = 0;
  bool meets(const Life& other) const { return first <= other.last && other.first <= last; }
};

}  // namespace

uint64_t lay_out(std::vector<Step>& steps, uint32_t rows, std::vector<Buffer>& buffers) {
  std::vector<Life> lives(buffers.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    each_buffer(steps[i], [&](int32_t index, Access) {
      Life& life = lives[static_cast<size_t>(index)];
      life.first = std::min(life.first, i);
      life.last = std::max(life.last, i);
    });
  }
  const auto bytes = [&](size_t i) { return align_up((buffers[i].single_row ? 1 : rows) * buffer_row_bytes(buffers[i]), 64); };
  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return bytes(a) > bytes(b); });
  uint64_t end = 0;
  std::vector<size_t> placed;  // by offset
  for (const size_t i : order) {
    if (buffers[i].argument != kAbsent) continue;
    uint64_t offset = 0;
    for (const size_t other : placed) {
      if (!lives[i].meets(lives[other])) continue;
      if (offset + bytes(i) <= buffers[other].offset) break;
      offset = std::max<uint64_t>(offset, buffers[other].offset + bytes(other));
    }
    buffers[i].offset = offset;
    end = std::max(end, offset + bytes(i));
    placed.insert(std::upper_bound(placed.begin(), placed.end(), offset, [&](uint64_t at, size_t p) { return at < buffers[p].offset; }), i);
  }
  return end;
}

}  // namespace pteron::cpu_backend
