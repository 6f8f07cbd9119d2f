// Places buffers with known lifetimes in one arena.
#pragma once

#include <cstdint>
#include <vector>

namespace pteron::emit {

// A buffer that is written first by step `first` and read last by step `last`, both included.
struct Buffer {
  uint64_t bytes = 0;
  int64_t first = 0, last = 0;
  uint64_t offset = 0;  // the result: a multiple of the alignment
};

// Gives each buffer an offset so that no two with overlapping lifetimes share a byte; largest first, each at the lowest place that is free. Depends
// on the input alone. Returns the arena's size, a multiple of `alignment` (a power of two).
uint64_t plan_memory(std::vector<Buffer>& buffers, uint64_t alignment = 64);

}  // namespace pteron::emit
