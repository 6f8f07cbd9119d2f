// Rewriting a graph node by node: each node is kept, or replaced by what a callback builds for it.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "base/status.h"
#include "ir/builder.h"

namespace pteron::passes {

// For a node whose operands are up to date already: the values that take the place of its results, or nothing to keep the node.
using RewriteNode = std::function<std::optional<std::vector<ir::ValueId>>(ir::Builder& builder, const ir::Node& node)>;

// Runs `rewrite_node` over the nodes of `graph` in order.
Status rewrite(ir::Module& module, ir::Graph& graph, const RewriteNode& rewrite_node);

}  // namespace pteron::passes
