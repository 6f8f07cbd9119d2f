// The pipeline: a checkpoint in, a program out.
#pragma once

#include "base/status.h"
#include "compiler/request.h"

namespace pteron::compiler {

// Import, build, passes, partition, legalisation, emission. Nothing is left at `request.output` unless all of it succeeds. The same request gives the
// same bytes; memory grows with the largest tensor, not with the checkpoint.
Result<CompileReport> compile(const CompileRequest& request);

// Passes by name and summary, as they can be asked for in `print_after`: "build" (the graphs as built), those that run, "partition".
std::vector<std::pair<std::string, std::string>> printable_passes();

}  // namespace pteron::compiler
