#include "runtime/memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "runtime/counting_allocator_for_test.h"

namespace pteron::runtime {
namespace {

TEST(MethodMemory, ArenasAreZeroedAndGivenBack) {
  testing::CountingAllocator allocator;
  {
    MethodMemory memory;
    memory.use(allocator);
    ASSERT_TRUE(memory.make_arenas(std::vector<int64_t>{0, 100, 0, 10}, {}).ok());
    EXPECT_EQ(memory.arena(1).size(), 100u);
    EXPECT_TRUE(memory.arena(2).empty());
    for (std::byte b : memory.arena(1)) EXPECT_EQ(b, std::byte{0});
    EXPECT_EQ(allocator.live, 2);
    ASSERT_TRUE(memory.bind(1, memory.arena(1).data()).ok());
    ASSERT_TRUE(memory.bind(1, memory.arena(1).data()).ok());
    EXPECT_EQ(allocator.bound, 1);
  }
  EXPECT_EQ(allocator.live, 0);
}

TEST(MethodMemory, SharedArenasStayTheCallers) {
  testing::CountingAllocator allocator;
  std::vector<std::byte> mine(64, std::byte{7});
  const std::vector<MutableByteSpan> shared = {mine};
  {
    MethodMemory memory;
    memory.use(allocator);
    ASSERT_TRUE(memory.make_arenas(std::vector<int64_t>{0, 64}, shared).ok());
    EXPECT_EQ(memory.arena(1).data(), mine.data());
    EXPECT_EQ(mine[0], std::byte{7});
    memory.zero_arenas();
    EXPECT_EQ(mine[0], std::byte{0});
  }
  MethodMemory memory;
  memory.use(allocator);
  EXPECT_EQ(memory.make_arenas(std::vector<int64_t>{0, 65}, shared).code(), Code::invalid_argument);
  EXPECT_EQ(allocator.live, 0);
}

TEST(MethodMemory, AFailingAllocatorIsAnError) {
  testing::CountingAllocator allocator;
  allocator.fail_from = 1;
  MethodMemory memory;
  memory.use(allocator);
  EXPECT_EQ(memory.make_arenas(std::vector<int64_t>{0, 8, 8}, {}).code(), Code::out_of_memory);
}

}  // namespace
}  // namespace pteron::runtime
