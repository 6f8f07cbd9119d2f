#include "runtime/memory.h"

#include <cstring>
#include <string>

namespace pteron::runtime {

MethodMemory::~MethodMemory() {
  for (const Block& block : blocks_) allocator_->release(block);
}

Result<MutableByteSpan> MethodMemory::allocate(size_t bytes, Purpose purpose) {
  if (bytes == 0) return MutableByteSpan{};
  PTERON_ASSIGN(Block block, allocator_->allocate(bytes, 64, purpose));
  blocks_.push_back(block);
  if (block.data == nullptr || block.bytes < bytes) {
    return Status::error(Code::out_of_memory, "allocator gave no memory",
                         {"", "", std::to_string(bytes) + " bytes", std::to_string(block.bytes)});
  }
  std::memset(block.data, 0, bytes);
  return MutableByteSpan(static_cast<std::byte*>(block.data), bytes);
}

Status MethodMemory::make_arenas(std::span<const int64_t> sizes, std::span<const MutableByteSpan> shared) {
  for (size_t i = 1; i < sizes.size(); ++i) {
    const auto bytes = static_cast<size_t>(sizes[i]);
    if (i - 1 < shared.size() && !shared[i - 1].empty()) {
      if (shared[i - 1].size() < bytes) {
        return Status::error(Code::invalid_argument, "shared arena is too small",
                             {"", "arena " + std::to_string(i), std::to_string(bytes) + " bytes", std::to_string(shared[i - 1].size())});
      }
      arenas_.push_back(shared[i - 1]);
      arena_blocks_.push_back(-1);
      continue;
    }
    PTERON_ASSIGN(MutableByteSpan arena, allocate(bytes, Purpose::arena));
    arenas_.push_back(arena);
    arena_blocks_.push_back(static_cast<ptrdiff_t>(blocks_.size()) - 1);
  }
  return {};
}

Status MethodMemory::bind(uint32_t memory_id, void* address) {
  const ptrdiff_t block = arena_blocks_[memory_id - 1];
  if (block < 0 || arenas_[memory_id - 1].empty() || !bound_.insert(address).second) return {};
  return allocator_->bind(address, blocks_[static_cast<size_t>(block)]);
}

void MethodMemory::zero_arenas() {
  for (MutableByteSpan arena : arenas_) {
    if (!arena.empty()) std::memset(arena.data(), 0, arena.size());
  }
}

}  // namespace pteron::runtime
