#include "runtime/profile.h"

#include <thread>
#include <vector>

#include "runtime/program_for_test.h"

namespace pteron::runtime::testing {
namespace {

TEST(Profile, RowsAreMadeOnceAndAddUp) {
  Profile profile;
  Profile::Row& project = profile.row("decode", "project");
  profile.row("prefill", "project").add(std::chrono::microseconds(7));
  for (int i = 0; i < 100; ++i) profile.row("decode", std::to_string(i));
  EXPECT_EQ(&profile.row("decode", "project"), &project);
  project.add(std::chrono::microseconds(2), {100, 10});
  project.add(std::chrono::microseconds(3), {50, 5});
  EXPECT_EQ(project.totals().calls, 2u);
  EXPECT_EQ(project.totals().time, std::chrono::microseconds(5));
  EXPECT_EQ(project.totals().work.bytes, 150u);
  EXPECT_EQ(project.totals().work.operations, 15u);
  profile.each([](Profile::Row& row) { row.clear(); });
  EXPECT_EQ(project.totals().calls, 0u);
  EXPECT_EQ(profile.row("prefill", "project").totals().calls, 0u);
}

TEST(Profile, ThreadsMayCountTogether) {
  Profile profile;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) profile.row("forward", "add").add(std::chrono::nanoseconds(1), {1, 2});
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(profile.row("forward", "add").totals().calls, 3000u);
  EXPECT_EQ(profile.row("forward", "add").totals().work.operations, 6000u);
}

TEST(Profile, TheExecutorCountsOperatorsByName) {
  TestProgram p;
  const int32_t i = p.value(int64_t{0}), one = p.value(int64_t{1}), limit = p.value(int64_t{5}), done = p.value(false);
  p.call("executorch_prim::add", "Scalar", {i, one, i});
  p.call("executorch_prim::eq", "Scalar", {i, limit, done});
  p.add(format::JumpFalseCall{done, 0});
  p.plan.outputs = {i};
  Profile profile;
  LoadOptions options;
  options.profile = &profile;
  auto method = p.load(options);
  ASSERT_TRUE(method.ok()) << method.status().message();
  ASSERT_TRUE(method->execute().ok());
  EXPECT_EQ(profile.row("forward", "executorch_prim::add.Scalar").totals().calls, 5u);
  EXPECT_EQ(profile.row("forward", "executorch_prim::eq.Scalar").totals().calls, 5u);
}

}  // namespace
}  // namespace pteron::runtime::testing
