// Buffers of one session from the allocator hook: bound once, released once.
#pragma once

#include <cstddef>
#include <vector>

#include "base/status.h"
#include "pteron/allocator.h"

namespace pteron::llm {

// Owns blocks and gives them back when it dies. Addresses never change.
class Buffers {
 public:
  explicit Buffers(Allocator& allocator) : allocator_(&allocator) {}
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;
  ~Buffers();

  // `bytes` (above 0) of zeros, aligned to 64 and apart from all others, told to the allocator as a tensor's memory.
  Result<void*> allocate(size_t bytes, Purpose purpose);
  size_t bytes() const { return bytes_; }

 private:
  Allocator* allocator_;
  std::vector<Block> blocks_;
  size_t bytes_ = 0;
};

}  // namespace pteron::llm
