#include "llm/buffers.h"

#include <cstdint>
#include <cstring>
#include <string>

namespace pteron::llm {

constexpr size_t kAlignment = 64;

Buffers::~Buffers() {
  for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block) allocator_->release(*block);
}

Result<void*> Buffers::allocate(size_t bytes, Purpose purpose) {
  blocks_.reserve(blocks_.size() + 1);
  PTERON_ASSIGN(const Block block, allocator_->allocate(bytes, kAlignment, purpose));
  blocks_.push_back(block);
  if (block.data == nullptr || block.bytes < bytes || reinterpret_cast<uintptr_t>(block.data) % kAlignment != 0) {
    return Status::error(Code::internal, "the allocator gave an unusable block",
                         {"", "", std::to_string(bytes) + " bytes aligned to " + std::to_string(kAlignment), std::to_string(block.bytes) + " bytes"});
  }
  for (size_t i = 0; i + 1 < blocks_.size(); ++i) {
    const auto* const begin = static_cast<const std::byte*>(blocks_[i].data);
    const auto* const data = static_cast<const std::byte*>(block.data);
    if (data < begin + blocks_[i].bytes && begin < data + bytes) {
      return Status::error(Code::internal, "the allocator gave a block that overlaps another", {"", "", "memory of its own", std::to_string(bytes) + " bytes inside block " + std::to_string(i)});
    }
  }
  if (!block.zeroed) std::memset(block.data, 0, bytes);
  PTERON_TRY(allocator_->bind(block.data, block));
  bytes_ += bytes;
  return block.data;
}

}  // namespace pteron::llm
