#include "pteron/conformance.h"

#include <algorithm>

#include "api/tiny_model.h"

namespace pteron {
namespace {

class Conformance : public TinyModel {};

TEST_F(Conformance, AnExportedProgramPassesEveryCase) {
  const Result<Program> program = Program::open(model());
  ASSERT_TRUE(program.ok());
  std::vector<std::string> seen;
  ConformanceOptions options;
  options.threads = 1;
  options.on_case = [&](const ConformanceCase& result) { seen.push_back(result.name); };
  const auto results = run_conformance(*program, options);
  ASSERT_TRUE(results.ok()) << results.status().message();
  EXPECT_EQ(seen, conformance_cases());
  size_t passed = 0;
  for (const ConformanceCase& result : *results) {
    EXPECT_NE(result.result, "failed") << result.name << ": " << result.detail;
    passed += result.result == "ok" ? 1 : 0;
  }
  EXPECT_GT(passed, results->size() / 2);
}

TEST_F(Conformance, OneCaseOrNone) {
  const Result<Program> program = Program::open(model());
  ASSERT_TRUE(program.ok());
  ConformanceOptions options;
  options.only = conformance_cases().front();
  EXPECT_EQ(run_conformance(*program, options)->size(), 1u);
  options.only = "no such case";
  EXPECT_EQ(run_conformance(*program, options).code(), Code::not_found);
}

}  // namespace
}  // namespace pteron
