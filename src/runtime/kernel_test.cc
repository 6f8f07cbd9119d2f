#include "runtime/kernel.h"

#include <gtest/gtest.h>

#include <array>

namespace pteron::runtime {
namespace {

Status nothing(KernelContext&, std::span<Value* const>) { return {}; }

TEST(Kernel, TablesAreSearchedInOrder) {
  const Kernel first[] = {{"a::x.out", &nothing, 1, 1, nullptr}},
               second[] = {{"a::x.out", &nothing, 2, 2, nullptr}, {"a::y", &nothing, 3, 3, nullptr}};
  const std::array<std::span<const Kernel>, 2> families = {first, second};
  const KernelTable table{families};
  EXPECT_EQ(table.find("a::x.out"), &first[0]);
  EXPECT_EQ(table.find("a::y"), &second[1]);
  EXPECT_EQ(table.find("a::z"), nullptr);
}

TEST(Kernel, ScratchIsWhatWasReserved) {
  ThreadPool pool(1);
  std::array<std::byte, 64> memory;
  KernelContext context(pool, memory);
  ASSERT_TRUE(context.scratch(64).ok());
  EXPECT_EQ(*context.scratch(10), memory.data());
  EXPECT_EQ(context.scratch(65).code(), Code::internal);
}

}  // namespace
}  // namespace pteron::runtime
