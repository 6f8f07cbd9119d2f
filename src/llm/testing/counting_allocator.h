// An allocator for tests: counts, hands out dirty memory, checks its callers, fails on request.
#pragma once

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>

#include "pteron/allocator.h"

namespace pteron::llm::testing {

class CountingAllocator final : public Allocator {
 public:
  static constexpr size_t kGuard = 64;

  Result<Block> allocate(size_t bytes, size_t alignment, Purpose purpose) override {
    const std::lock_guard lock(mutex_);
    if (calls++ == fail_at) return Status::error(Code::out_of_memory, "made to fail");
    const size_t whole = (bytes + 2 * kGuard + alignment - 1) / alignment * alignment;
    auto* memory = static_cast<std::byte*>(std::aligned_alloc(alignment < kGuard ? kGuard : alignment, whole));
    std::memset(memory, 0xA5, whole);
    live_[memory + kGuard] = bytes;
    most_bytes += bytes;
    return Block{memory + kGuard, bytes, purpose, calls};
  }
  Status bind(void* address, const Block& block) override {
    const std::lock_guard lock(mutex_);
    if (calls++ == fail_at) return Status::error(Code::internal, "made to fail to bind");
    // An arena holds many tensors, so an address lies anywhere in its block; it is told once as long as the block lives.
    auto* const at = static_cast<std::byte*>(address);
    auto* const data = static_cast<std::byte*>(block.data);
    const auto known = live_.find(data);
    if (known == live_.end() || at < data || at >= data + known->second) ++mistakes;
    if (!bound_.insert(at).second) ++mistakes;
    return {};
  }
  void release(const Block& block) override {
    const std::lock_guard lock(mutex_);
    auto* const data = static_cast<std::byte*>(block.data);
    const auto at = live_.find(data);
    if (at == live_.end()) {
      ++mistakes;  // released twice, or never given
      return;
    }
    for (size_t i = 0; i < kGuard; ++i) {
      if (data[at->second + i] != std::byte{0xA5} || data[-1 - static_cast<std::ptrdiff_t>(i)] != std::byte{0xA5}) ++mistakes;
    }
    std::memset(data, 0xDD, at->second);
    bound_.erase(bound_.lower_bound(data), bound_.lower_bound(data + at->second));
    live_.erase(at);
    std::free(data - kGuard);
  }
  size_t live() const { return live_.size(); }

  size_t calls = 0;             // of allocate and bind
  size_t fail_at = SIZE_MAX;    // the call that fails
  size_t mistakes = 0;          // of the caller
  size_t most_bytes = 0;

 private:
  std::mutex mutex_;
  std::map<std::byte*, size_t> live_;
  std::set<std::byte*> bound_;
};

}  // namespace pteron::llm::testing
