#include "builtin/run/builtin.h"

#include <gtest/gtest.h>

#include <set>

namespace pteron::builtin {
namespace {

TEST(Builtin, KernelsOfEveryLibraryAreThere) {
  for (std::string_view name : {"aten::add.out", "aten::linear.out", "aten::index_put_", "dim_order_ops::_to_dim_order_copy.out",
                                "quantized_decomposed::embedding_4bit.out", "llama::custom_sdpa.out"}) {
    EXPECT_NE(builtin_kernels().find(name), nullptr) << name;
  }
  EXPECT_EQ(builtin_kernels().find("aten::no_such.out"), nullptr);
}

TEST(Builtin, BackendsHaveIdsOfTheirOwn) {
  std::set<std::string_view> ids;
  for (const runtime::RunBackend* backend : builtin_run_backends()) EXPECT_TRUE(ids.insert(backend->id()).second) << backend->id();
  EXPECT_FALSE(ids.empty());
}

}  // namespace
}  // namespace pteron::builtin
