#include <gtest/gtest.h>

#include "pteron/allocator.h"

namespace pteron {
namespace {

TEST(HostAllocator, AlignsAsAsked) {
  for (size_t alignment : {64, 128, 4096}) {
    auto block = host_allocator().allocate(100, alignment, Purpose::cache);
    ASSERT_TRUE(block.ok());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block->data) % alignment, 0u);
    EXPECT_EQ(block->bytes, 100u);
    EXPECT_EQ(block->purpose, Purpose::cache);
    host_allocator().release(*block);
  }
}

TEST(HostAllocator, NoBytesNeedNoMemory) {
  auto block = host_allocator().allocate(0, 64, Purpose::scratch);
  ASSERT_TRUE(block.ok());
  EXPECT_EQ(block->data, nullptr);
  host_allocator().release(*block);
}

TEST(HostAllocator, ImpossibleSizesAreErrors) {
  EXPECT_EQ(host_allocator().allocate(SIZE_MAX - 10, 64, Purpose::scratch).code(), Code::out_of_memory);
}

}  // namespace
}  // namespace pteron
