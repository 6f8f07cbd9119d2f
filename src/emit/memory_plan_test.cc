#include "emit/memory_plan.h"

#include <gtest/gtest.h>

#include <random>

namespace pteron::emit {
namespace {

bool sound(const std::vector<Buffer>& buffers, uint64_t arena) {
  for (size_t i = 0; i < buffers.size(); ++i) {
    const Buffer& a = buffers[i];
    if (a.offset % 64 != 0 || a.offset + a.bytes > arena) return false;
    for (size_t j = 0; j < i; ++j) {
      const Buffer& b = buffers[j];
      const bool together = a.first <= b.last && b.first <= a.last;
      if (together && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes) return false;
    }
  }
  return true;
}

TEST(MemoryPlan, BuffersThatNeverMeetShareBytes) {
  std::vector<Buffer> buffers{{100, 0, 1, 0}, {100, 1, 2, 0}, {100, 2, 3, 0}};
  EXPECT_EQ(plan_memory(buffers), 256u);
  EXPECT_TRUE(sound(buffers, 256));
  EXPECT_EQ(buffers[0].offset, buffers[2].offset);
}

TEST(MemoryPlan, GapsAreFilled) {
  std::vector<Buffer> buffers{{640, 0, 9, 0}, {128, 0, 3, 0}, {64, 4, 9, 0}, {64, 4, 9, 0}};
  EXPECT_EQ(plan_memory(buffers), 768u) << "the two small ones follow each other where the middle one was";
  EXPECT_TRUE(sound(buffers, 768));
}

TEST(MemoryPlan, EmptyBuffersHavePlacesOfTheirOwn) {
  std::vector<Buffer> buffers{{0, 0, 1, 0}, {0, 0, 1, 0}};
  EXPECT_EQ(plan_memory(buffers), 128u);
  std::vector<Buffer> none;
  EXPECT_EQ(plan_memory(none), 0u);
}

TEST(MemoryPlan, RandomLifetimesNeverOverlapAndPlansRepeat) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<Buffer> buffers;
    for (int i = 0; i < 60; ++i) {
      const auto first = static_cast<int64_t>(random() % 80);
      buffers.push_back({random() % 5000, first, first + static_cast<int64_t>(random() % 20), 0});
    }
    auto again = buffers;
    const uint64_t arena = plan_memory(buffers);
    ASSERT_TRUE(sound(buffers, arena));
    EXPECT_EQ(plan_memory(again), arena);
    for (size_t i = 0; i < buffers.size(); ++i) EXPECT_EQ(buffers[i].offset, again[i].offset);
  }
}

}  // namespace
}  // namespace pteron::emit
