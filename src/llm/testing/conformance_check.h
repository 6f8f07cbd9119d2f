// Runs the conformance suite over tiny programs; for tests.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "llm/conformance.h"
#include "llm/testing/tiny_program.h"

namespace pteron::llm::testing {

inline TinyConfig ringed(Fault fault = Fault::none) {
  TinyConfig config;
  config.L = 32;
  config.layers = {{}, {.window = 5}};
  config.fault = fault;
  return config;
}

inline std::vector<std::string> failures(const MethodSource& program, const ConformanceOptions& options = {}) {
  std::vector<std::string> names;
  auto results = run_conformance(program, options);
  EXPECT_TRUE(results.ok());
  for (const CaseResult& result : *results) {
    if (result.outcome == Outcome::failed) names.push_back(result.name + ": " + result.detail);
  }
  return names;
}

inline bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& n) { return n.rfind(name + ":", 0) == 0; });
}

inline std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += "\n  " + name;
  return out;
}

}  // namespace pteron::llm::testing
