// The contract's test cases over any program under it, and over any driver of it: what `pteron conformance` runs, and what the author of
// a backend or of an I/O manager links. Every case has a name; docs/contract.md says what each looks at.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "llm/io_manager.h"

namespace pteron::llm {

enum class Outcome : uint8_t { ok, failed, not_applicable };
std::string_view outcome_name(Outcome outcome);  // "ok", "failed", "not applicable"

struct CaseResult {
  std::string name;     // "program.chunks"
  Outcome outcome = Outcome::ok;
  std::string detail;   // what was wrong, or why the case does not apply; figures where there are any
};

struct ConformanceOptions {
  const IoManagerRegistry* registry = nullptr;      // the drivers under test; null: those of this build
  std::string only;                                 // the name of one case, or the part before a dot; empty: all
  size_t threads = 1;                               // of each session
  double tolerance = 1e-3;                          // between two chunkings, of logits and cached values; relative to the largest, at least 1
  double seconds = 60;                              // a case that would take longer by what calls were seen to take is not applicable
  std::function<void(std::string_view name)> on_start;  // told which case begins
  std::function<void(const CaseResult&)> on_case;   // sees each result as it is there
};

// The names of all cases, in the order they run.
std::vector<std::string_view> conformance_cases();

// Runs the cases. not_found: no case has the name asked for. A program that cannot be opened fails `contract.opens`, and the cases
// that need it are not applicable.
Result<std::vector<CaseResult>> run_conformance(const MethodSource& source, const ConformanceOptions& options = {});

}  // namespace pteron::llm
