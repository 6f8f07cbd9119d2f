// The passes of the compiler.
#pragma once

#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "ir/pass.h"

namespace pteron::passes {

// Each leaves a module that verifies. `notes` receives what the report should say.
#define PTERON_PASS(function, name, summary) Status function(ir::Module& module, ir::Notes& notes);
#include "passes/passes.def"
#undef PTERON_PASS

// All passes of passes.def, in its order.
const std::vector<ir::Pass>& all_passes();
// A pass by name; null for an unknown one.
const ir::Pass* find_pass(std::string_view name);

}  // namespace pteron::passes
