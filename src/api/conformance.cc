#include "pteron/conformance.h"

#include "api/program_impl.h"
#include "base/cpu.h"
#include "llm/conformance.h"
#include "llm/program_methods.h"

namespace pteron {
namespace {

ConformanceCase to_public(const llm::CaseResult& result) { return {result.name, std::string(llm::outcome_name(result.outcome)), result.detail}; }

}  // namespace

std::vector<std::string> conformance_cases() {
  std::vector<std::string> names;
  for (std::string_view name : llm::conformance_cases()) names.emplace_back(name);
  return names;
}

Result<std::vector<ConformanceCase>> run_conformance(const Program& program, const ConformanceOptions& options) {
  const llm::ProgramMethods methods(program.impl().opened.program, program.impl().load_options());
  llm::ConformanceOptions inner;
  inner.only = options.only;
  inner.threads = options.threads == 0 ? usable_cores() : options.threads;
  inner.seconds = options.seconds;
  if (options.on_start) inner.on_start = [&](std::string_view name) { options.on_start(std::string(name)); };
  if (options.on_case) inner.on_case = [&](const llm::CaseResult& result) { options.on_case(to_public(result)); };
  PTERON_ASSIGN(const std::vector<llm::CaseResult> results, llm::run_conformance(methods, inner));
  std::vector<ConformanceCase> cases;
  for (const llm::CaseResult& result : results) cases.push_back(to_public(result));
  return cases;
}

}  // namespace pteron
