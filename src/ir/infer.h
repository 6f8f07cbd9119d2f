// Shape and element type rules of the operators.
#pragma once

#include <vector>

#include "base/status.h"
#include "ir/graph.h"

namespace pteron::ir {

// The types of a node's results, from its operands' types and its attributes. For operators whose rule is `declared`, the types that its
// results have already. An error names the operator, the argument and what was expected.
Result<std::vector<Type>> infer(const Graph& graph, const Node& node);

// Checks operands and attributes against the schema: number, presence, kinds.
Status check_arguments(const Graph& graph, const Node& node);

// The shape that broadcasting gives, or an error.
Result<std::vector<Dim>> broadcast_dims(const std::vector<Dim>& a, const std::vector<Dim>& b);

}  // namespace pteron::ir
