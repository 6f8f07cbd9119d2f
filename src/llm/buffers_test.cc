#include "llm/buffers.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <gtest/gtest.h>

namespace pteron::llm {
namespace {

// Dirty memory, counted; fails at allocation number `fail_at`.
class TestAllocator final : public Allocator {
 public:
  Result<Block> allocate(size_t bytes, size_t alignment, Purpose purpose) override {
    if (allocated++ == fail_at) return Status::error(Code::out_of_memory, "no memory");
    void* data = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    std::memset(data, 0xA5, bytes);
    ++live;
    return Block{static_cast<char*>(data) + shift, bytes, purpose, 7};
  }
  Status bind(void* address, const Block& block) override {
    EXPECT_EQ(address, block.data);
    EXPECT_EQ(block.handle, 7u);
    ++bound;
    return fail_bind ? Status::error(Code::internal, "the device refuses") : Status();
  }
  void release(const Block& block) override {
    --live;
    std::free(static_cast<char*>(block.data) - shift);
  }
  size_t allocated = 0, bound = 0, fail_at = SIZE_MAX, shift = 0;
  int live = 0;
  bool fail_bind = false;
};

TEST(Buffers, AreZeroedBoundOnceAndReleasedOnce) {
  TestAllocator allocator;
  {
    Buffers buffers(allocator);
    for (size_t bytes : {1, 63, 4096}) {
      auto data = buffers.allocate(bytes, Purpose::cache);
      ASSERT_TRUE(data.ok());
      EXPECT_EQ(reinterpret_cast<uintptr_t>(*data) % 64, 0u);
      for (size_t i = 0; i < bytes; ++i) ASSERT_EQ(static_cast<char*>(*data)[i], 0);
    }
    EXPECT_EQ(allocator.bound, 3u);
    EXPECT_EQ(allocator.live, 3);
    EXPECT_EQ(buffers.bytes(), 1u + 63 + 4096);
  }
  EXPECT_EQ(allocator.live, 0);
}

TEST(Buffers, FailuresReleaseWhatWasThere) {
  for (const bool bind : {false, true}) {
    TestAllocator allocator;
    allocator.fail_bind = bind;
    if (!bind) allocator.fail_at = 0;
    {
      Buffers buffers(allocator);
      EXPECT_FALSE(buffers.allocate(64, Purpose::input).ok());
    }
    EXPECT_EQ(allocator.live, 0);
  }
}

TEST(Buffers, AMisalignedBlockIsRefused) {
  TestAllocator allocator;
  allocator.shift = 8;
  Buffers buffers(allocator);
  EXPECT_EQ(buffers.allocate(64, Purpose::input).code(), Code::internal);
}

TEST(Buffers, OverlappingBlocksAreRefused) {
  class Careless final : public Allocator {
   public:
    Result<Block> allocate(size_t bytes, size_t, Purpose purpose) override { return Block{memory + 64 * calls++, bytes, purpose}; }
    void release(const Block&) override { --calls; }
    int calls = 0;

   private:
    alignas(64) std::byte memory[512];
  } allocator;
  {
    Buffers buffers(allocator);
    EXPECT_TRUE(buffers.allocate(64, Purpose::cache).ok());
    EXPECT_TRUE(buffers.allocate(65, Purpose::cache).ok()) << "next to each other";
    EXPECT_EQ(buffers.allocate(64, Purpose::cache).code(), Code::internal);
  }
  EXPECT_EQ(allocator.calls, 0);
}

TEST(Buffers, HostMemoryIsZero) {
  Buffers buffers(host_allocator());
  auto data = buffers.allocate(size_t{3} << 20, Purpose::cache);
  ASSERT_TRUE(data.ok());
  for (size_t i = 0; i < size_t{3} << 20; i += 511) ASSERT_EQ(static_cast<char*>(*data)[i], 0);
}

}  // namespace
}  // namespace pteron::llm
