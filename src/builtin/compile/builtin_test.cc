#include "builtin/compile/builtin.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace pteron::builtin {
namespace {

TEST(BuiltinCompile, BackendsHaveNamesOfTheirOwn) {
  std::set<std::string> names, ids;
  for (const partition::CompileBackend* backend : builtin_compile_backends()) {
    ASSERT_NE(backend, nullptr);
    EXPECT_FALSE(backend->summary().empty());
    EXPECT_NE(backend->name(), "portable");
    EXPECT_TRUE(names.emplace(backend->name()).second) << backend->name();
    EXPECT_TRUE(ids.emplace(backend->delegate_id()).second) << backend->delegate_id();
  }
  EXPECT_TRUE(names.count("cpu"));
}

TEST(BuiltinCompile, UnknownOptionsAreErrorsThatListTheKnownOnes) {
  for (const partition::CompileBackend* backend : builtin_compile_backends()) {
    const partition::KeyValue option{"no_such_option", "1"};
    const auto parsed = backend->parse_options({&option, 1});
    ASSERT_FALSE(parsed.ok()) << backend->name();
    EXPECT_EQ(parsed.status().code(), Code::invalid_argument);
    EXPECT_NE(parsed.status().message().find("no_such_option"), std::string::npos);
  }
}

}  // namespace
}  // namespace pteron::builtin
