// The cases that every program under the `hf_static` contract must pass, run against one: docs/contract.md explains each.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "pteron/program.h"
#include "pteron/status.h"

namespace pteron {

struct ConformanceCase {
  std::string name;    ///< "program.chunks"
  std::string result;  ///< "ok", "failed" or "not applicable"
  std::string detail;  ///< what was wrong, or why the case does not apply
};

struct ConformanceOptions {
  std::string only = {};  ///< the name of one case, or the part before a dot; empty: all
  size_t threads = 0;     ///< of each session; 0: the cores that this process may use
  double seconds = 60;    ///< a case that would take longer is not applicable
  std::function<void(const std::string& name)> on_start = {};  ///< told which case begins
  std::function<void(const ConformanceCase&)> on_case = {};  ///< sees each result as it is there
};

/// Names of all cases, in the order they run.
std::vector<std::string> conformance_cases();

/// Runs the cases on any backend of this build. `not_found`: no case has the name asked for.
Result<std::vector<ConformanceCase>> run_conformance(const Program& program, const ConformanceOptions& options = {});

}  // namespace pteron
