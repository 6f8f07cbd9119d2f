// The blocks that one method owns: arenas, aligned copies of constants, scratch. Given back when the method goes.
#pragma once

#include <set>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "pteron/allocator.h"

namespace pteron::runtime {

class MethodMemory {
 public:
  MethodMemory() = default;
  MethodMemory(const MethodMemory&) = delete;
  MethodMemory& operator=(const MethodMemory&) = delete;
  ~MethodMemory();

  // Before anything else; `allocator` outlives this.
  void use(Allocator& allocator) { allocator_ = &allocator; }
  Allocator& allocator() const { return *allocator_; }

  // Arena k (1-based, in file order) of `sizes[k]` bytes, zeroed; or, where `shared` has it, the caller's memory as it is.
  Status make_arenas(std::span<const int64_t> sizes, std::span<const MutableByteSpan> shared);
  MutableByteSpan arena(uint32_t memory_id) const { return arenas_[memory_id - 1]; }
  // Tells the allocator of an address in an arena of its own, once.
  Status bind(uint32_t memory_id, void* address);
  void zero_arenas();

  // Memory of the method for anything else; zeroed.
  Result<MutableByteSpan> allocate(size_t bytes, Purpose purpose);

 private:
  Allocator* allocator_ = nullptr;
  std::vector<Block> blocks_;
  std::vector<MutableByteSpan> arenas_;
  std::vector<ptrdiff_t> arena_blocks_;  // -1: the caller's
  std::set<void*> bound_;
};

}  // namespace pteron::runtime
