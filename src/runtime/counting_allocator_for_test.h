// An allocator that counts, poisons and can refuse.
#pragma once

#include <cstring>

#include "pteron/allocator.h"

namespace pteron::runtime::testing {

class CountingAllocator final : public Allocator {
 public:
  Result<Block> allocate(size_t bytes, size_t alignment, Purpose purpose) override {
    if (calls++ == fail_from) return Status::error(Code::out_of_memory, "test allocator refuses");
    auto block = host_allocator().allocate(bytes, alignment, purpose);
    if (block.ok()) {
      std::memset(block->data, 0xa5, bytes);
      ++live;
    }
    return block;
  }
  Status bind(void*, const Block&) override {
    ++bound;
    return {};
  }
  void release(const Block& block) override {
    --live;
    host_allocator().release(block);
  }
  int calls = 0, live = 0, bound = 0, fail_from = -1;
};

}  // namespace pteron::runtime::testing
