// Checks that a module is well-formed; passes may rely on it, and each pass leaves it so.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace pteron::ir {

// Every operand is defined before its use and every value once; results have the types that inference gives; inputs, outputs, aliases and
// constants are in range; constant and method names are unique. The error names the method and the operator.
Status verify(const Module& module);
Status verify(const Module& module, const Graph& graph);

}  // namespace pteron::ir
