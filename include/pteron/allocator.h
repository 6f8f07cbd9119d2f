// Where buffers come from: the hook through which an application or a backend supplies memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "pteron/status.h"

namespace pteron {

/// What a block is for, so that an allocator can put caches where a device sees them and scratch elsewhere.
enum class Purpose : uint8_t { input, output, cache, arena, scratch, delegate };

/// Memory from an allocator. `data` is null only for a block of no bytes.
struct Block {
  void* data = nullptr;
  size_t bytes = 0;
  Purpose purpose = Purpose::scratch;
  uint64_t handle = 0;  ///< the allocator's own number (a file descriptor, a device handle); pteron only carries it
  bool zeroed = false;  ///< the allocator vouches that every byte is zero, so that pages need not be touched to clear them
};

/// The allocator hook. Blocks outlive the methods that use them and never move between `allocate` and `release`.
/// Calls come from the thread that loads or destroys; an allocator shared by engines on several threads must lock.
class Allocator {
 public:
  virtual ~Allocator() = default;
  /// `bytes` of memory aligned to `alignment` (a power of two, at least 64). Contents are undefined unless `Block::zeroed` says otherwise.
  virtual Result<Block> allocate(size_t bytes, size_t alignment, Purpose purpose) = 0;
  /// Told once for each address inside a block that becomes a tensor's data, before its first use.
  virtual Status bind(void* address, const Block& block) { (void)address; (void)block; return {}; }
  /// Takes a block back; called exactly once for each block.
  virtual void release(const Block& block) = 0;
};

/// Host memory, zero-filled pages where the platform gives them. Static lifetime, safe from any thread.
Allocator& host_allocator();

}  // namespace pteron
