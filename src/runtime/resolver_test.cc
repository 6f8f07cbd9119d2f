#include <gmock/gmock.h>

#include "runtime/program_for_test.h"

namespace pteron::runtime::testing {
namespace {

using ::testing::HasSubstr;

TEST(Resolver, AllMissingOperatorsAreListedAtOnce) {
  TestProgram p;
  const int32_t x = p.planned({1});
  p.call("aten::no_such", "out", {x, x});
  p.call("aten::neg", "out", {x, x, x});
  p.call("custom::also_missing", "", {x, x});
  const auto method = p.load();
  EXPECT_EQ(method.code(), Code::unsupported);
  EXPECT_THAT(method.status().message(), HasSubstr("aten::no_such.out, custom::also_missing"));
}

TEST(Resolver, CallsWithTheWrongNumberOfArgumentsAreRefused) {
  for (size_t count : {0, 2, 4}) {
    TestProgram p;
    const int32_t x = p.planned({1});
    p.call("aten::neg", "out", std::vector<int32_t>(count, x));
    const auto method = p.load();
    EXPECT_EQ(method.code(), Code::invalid_data) << count;
    EXPECT_THAT(method.status().message(), HasSubstr("instruction 0"));
  }
}

TEST(Resolver, PrimOperatorsNeedNoTable) {
  TestProgram p;
  const int32_t x = p.planned({3}), dim = p.value(int64_t{0}), out = p.value(int64_t{0});
  p.call("aten::sym_size", "int", {x, dim, out});
  p.plan.outputs = {out};
  auto method = load_method(p.open(), "forward");
  ASSERT_TRUE(method.ok()) << method.status().message();
  ASSERT_TRUE(method->execute().ok());
  EXPECT_EQ(*method->output_int(0), 3);
}

}  // namespace
}  // namespace pteron::runtime::testing
