#include <cstdlib>
#include <string>

#include "base/checked.h"
#include "pteron/allocator.h"

namespace pteron {
namespace {

class HostAllocator final : public Allocator {
 public:
  Result<Block> allocate(size_t bytes, size_t alignment, Purpose purpose) override {
    if (bytes == 0) return Block{nullptr, 0, purpose, 0};
    const auto rounded = checked_align(bytes, alignment);
    void* data = rounded ? std::aligned_alloc(alignment, *rounded) : nullptr;
    if (data == nullptr) return Status::error(Code::out_of_memory, "host memory is exhausted", {"", "", std::to_string(bytes) + " bytes", ""});
    return Block{data, bytes, purpose, 0};
  }
  void release(const Block& block) override { std::free(block.data); }
};

}  // namespace

Allocator& host_allocator() {
  static Allocator* const allocator = new HostAllocator;  // never destroyed: methods may outlive other statics
  return *allocator;
}

}  // namespace pteron
