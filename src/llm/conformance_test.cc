#include "llm/conformance.h"

#include <vector>

#include <gtest/gtest.h>

#include "llm/testing/conformance_check.h"

namespace pteron::llm {
namespace {

using testing::failures;
using testing::joined;
using testing::ringed;
using testing::States;
using testing::TinyConfig;
using testing::TinyProgram;

TEST(Conformance, RightProgramsPassWhateverTheirForm) {
  std::vector<TinyConfig> configs(10, ringed());
  configs[1].layers = {{}, {}};
  configs[2].C = 0;
  configs[3].states = States::planned;
  configs[3].counter = true;
  configs[4].states = States::aliased;
  configs[4].mask = ScalarType::Bool;
  configs[5].states = States::separate;
  configs[5].prefill_all = true;
  configs[5].decode_selected = true;
  configs[6].cache = configs[6].logits = ScalarType::Half;
  configs[7].C = 7;
  configs[7].ids = configs[7].positions = ScalarType::Int;
  configs[8].layers = {{.window = 40}};
  configs[9].verify_rows = 3;
  for (size_t i = 0; i < configs.size(); ++i) {
    const auto failed = failures(TinyProgram(configs[i]));
    EXPECT_TRUE(failed.empty()) << "program " << i << joined(failed);
  }
}

TEST(Conformance, EveryResultHasAKnownNameAndOnlyPicks) {
  const TinyProgram program(ringed());
  const auto names = conformance_cases();
  ConformanceOptions options;
  size_t seen = 0;
  options.on_case = [&](const CaseResult& result) { EXPECT_EQ(result.name, names[seen++]); };
  auto all = run_conformance(program, options);
  EXPECT_EQ(all->size(), names.size());
  EXPECT_EQ(seen, names.size());
  options.on_case = nullptr;
  options.only = "driver";
  auto drivers = run_conformance(program, options);
  EXPECT_GT(drivers->size(), 3u);
  options.only = "program.chunks";
  EXPECT_EQ(run_conformance(program, options)->size(), 1u);
  options.only = "nothing";
  EXPECT_EQ(run_conformance(program, options).code(), Code::not_found);
  EXPECT_EQ(outcome_name(Outcome::not_applicable), "not applicable");
}

TEST(Conformance, WithoutAContractOnlyThatFails) {
  TinyProgram program(ringed());
  program.set_contract("{}");
  auto results = run_conformance(program);
  for (const CaseResult& result : *results) {
    EXPECT_EQ(result.outcome, result.name == "contract.opens" ? Outcome::failed : Outcome::not_applicable) << result.name;
  }
}

}  // namespace
}  // namespace pteron::llm
