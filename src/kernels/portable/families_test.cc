#include "kernels/portable/families.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>
#include <vector>

namespace pteron::portable {
namespace {

TEST(Families, NamesAreUniqueAndEntriesComplete) {
  std::set<std::string_view> names;
  for (const auto& family : all_kernels()) {
    EXPECT_FALSE(family.empty());
    for (const runtime::Kernel& kernel : family) {
      EXPECT_TRUE(names.insert(kernel.name).second) << kernel.name;
      EXPECT_NE(kernel.run, nullptr) << kernel.name;
      EXPECT_LE(kernel.min_args, kernel.max_args) << kernel.name;
      EXPECT_NE(kernel.name.find("::"), std::string_view::npos) << kernel.name;
    }
  }
  EXPECT_GE(names.size(), 230u);
}

TEST(Families, NoKernelTrustsItsArguments) {
  // Calls of the right length whose values are all None, and all the same int: errors, not crashes.
  ThreadPool pool(1);
  runtime::KernelContext context(pool, {});
  for (const auto& family : all_kernels()) {
    for (const runtime::Kernel& kernel : family) {
      for (const runtime::Value& value : {runtime::Value(), runtime::Value(int64_t{1}), runtime::Value(0.5), runtime::Value(true)}) {
        runtime::Value slot = value;
        std::vector<runtime::Value*> args(kernel.max_args, &slot);
        EXPECT_TRUE(kernel.scratch == nullptr || kernel.scratch(args, 2).ok()) << kernel.name;
        EXPECT_FALSE(kernel.run(context, args).ok()) << kernel.name;
      }
    }
  }
}

}  // namespace
}  // namespace pteron::portable
