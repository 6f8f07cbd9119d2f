// Recorded programs: every operator, small networks, programs that break off at run time; and what an execution allocates.
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/allocations_for_test.h"
#include "runtime/program_cases_for_test.h"

namespace pteron::runtime::testing {
namespace {

const std::filesystem::path kFolder = std::filesystem::path(PTERON_TEST_DATA) / "ops";

TEST(ProgramCases, OutputsAreTheRecordedOnes) {
  Cases cases(kFolder);
  size_t programs = 0;
  const Json index = cases.index();
  for (const Json& program : index["programs"]) {
    EXPECT_EQ(cases.run(program), "");
    ++programs;
  }
  EXPECT_EQ(programs, index["programs"].size());
  EXPECT_GT(programs, 100u);
}

// What a program needs is set aside when it is loaded: executing it takes nothing from the heap, except for the message of an error.
TEST(ProgramCases, ExecutionAllocatesNothing) {
  if (!pteron::testing::kCountsAllocations) GTEST_SKIP() << "a sanitizer allocates";
  Cases cases(kFolder);
  size_t executions = 0;
  std::map<std::string, size_t> allocating;
  cases.around_execution = [&](const std::string& id, const std::function<void()>& execute) {
    const size_t before = pteron::testing::allocations;
    execute();
    ++executions;
    if (pteron::testing::allocations != before) allocating[id] = pteron::testing::allocations - before;
  };
  const Json index = cases.index();
  for (const Json& program : index["programs"]) {
    bool refused = false;
    for (const Json& call : program["runs"]) refused = refused || call["status"] == "refused";
    if (refused) continue;
    EXPECT_EQ(cases.run(program), "");
  }
  EXPECT_GT(executions, 100u);
  for (const auto& [id, count] : allocating) ADD_FAILURE() << id << " allocated " << count << " times";
}

// Each is one change away from a program that runs; all must end in an error.
TEST(ProgramCases, ProgramsThatBreakOffAreErrors) {
  const std::filesystem::path folder = kFolder / "negative";
  const KernelTable table{portable::all_kernels()};
  const Json negatives = Json::parse(read_file(folder / "index.json"));
  for (const Json& file : negatives["files"]) {
    auto opened = package::open((folder / file["file"].get<std::string>()).string());
    if (!opened.ok()) continue;
    LoadOptions options;
    options.kernels = &table;
    auto method = load_method(opened->program, "forward", options);
    if (!method.ok()) {
      EXPECT_FALSE(method.status().message().empty());
      continue;
    }
    const auto tensors = read_tensors(folder / file["inputs"].get<std::string>());
    Status status;
    for (size_t i = 0; i < method->info().inputs.size() && status.ok(); ++i) {
      const TensorData& data = tensors.at("in" + std::to_string(i));
      status = method->set_input(i, TensorView{data.dtype, data.sizes, {}, data.bytes.data(), data.bytes.size()});
    }
    if (status.ok()) status = method->execute();
    EXPECT_FALSE(status.ok()) << file["file"];
  }
}

}  // namespace
}  // namespace pteron::runtime::testing
