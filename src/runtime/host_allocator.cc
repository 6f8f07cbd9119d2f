#include <sys/mman.h>

#include <cstdlib>
#include <string>

#include "base/checked.h"
#include "pteron/allocator.h"

namespace pteron {
namespace {

// Blocks at least this large are mappings of their own: the kernel gives them as zeros, page by page as they are touched.
constexpr size_t kMappedBytes = size_t{1} << 20;
constexpr size_t kPageBytes = 4096;
constexpr uint64_t kMapped = 1;

class HostAllocator final : public Allocator {
 public:
  Result<Block> allocate(size_t bytes, size_t alignment, Purpose purpose) override {
    if (bytes == 0) return Block{nullptr, 0, purpose, 0};
    if (bytes >= kMappedBytes && alignment <= kPageBytes) {
      void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (data != MAP_FAILED) return Block{data, bytes, purpose, kMapped, true};
    }
    const auto rounded = checked_align(bytes, alignment);
    void* data = rounded ? std::aligned_alloc(alignment, *rounded) : nullptr;
    if (data == nullptr)
      return Status::error(Code::out_of_memory, "host memory is exhausted", {"", "", std::to_string(bytes) + " bytes", ""});
    return Block{data, bytes, purpose, 0};
  }
  void release(const Block& block) override {
    if (block.handle == kMapped) {
      munmap(block.data, block.bytes);
    } else {
      std::free(block.data);
    }
  }
};

}  // namespace

Allocator& host_allocator() {
  static Allocator* const allocator = new HostAllocator;  // never destroyed: methods may outlive other statics
  return *allocator;
}

}  // namespace pteron
