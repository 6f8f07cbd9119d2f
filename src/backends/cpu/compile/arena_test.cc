#include "backends/cpu/compile/arena.h"

#include <gtest/gtest.h>

namespace pteron::cpu_backend {
namespace {

TEST(Arena, BuffersShareMemoryOnlyWhenNoStepNeedsBoth) {
  std::vector<Step> steps;
  for (int32_t i = 0; i < 5; ++i) steps.push_back(MapStep{MapKind::copy, Activation::none, 1, i, i + 1});
  std::vector<Buffer> buffers(6);
  for (size_t i = 0; i < buffers.size(); ++i) buffers[i].width = static_cast<uint32_t>(100 + 50 * (i % 3));
  const uint64_t bytes = lay_out(steps, 4, buffers);
  for (size_t i = 0; i + 1 < buffers.size(); ++i) {
    const uint64_t a = buffers[i].offset, b = buffers[i + 1].offset;
    const uint64_t a_end = a + buffers[i].width * 16, b_end = b + buffers[i + 1].width * 16;
    EXPECT_TRUE(a_end <= b || b_end <= a) << i;
    EXPECT_EQ(a % 64, 0u);
    EXPECT_LE(a_end, bytes);
  }
  uint64_t all = 0;
  for (const Buffer& buffer : buffers) all += buffer.width * 16;
  EXPECT_LT(bytes, all);
}

TEST(Arena, ArgumentsTakeNoRoom) {
  std::vector<Step> steps = {MapStep{MapKind::copy, Activation::none, 1, 0, 1}};
  std::vector<Buffer> buffers(2);
  buffers[0].width = buffers[1].width = 16;
  buffers[0].argument = 0;
  EXPECT_EQ(lay_out(steps, 2, buffers), 128u);
}

}  // namespace
}  // namespace pteron::cpu_backend
