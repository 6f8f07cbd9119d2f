#include "passes/rewrite.h"

#include <utility>

namespace pteron::passes {

Status rewrite(ir::Module& module, ir::Graph& graph, const RewriteNode& rewrite_node) {
  std::vector<ir::Node> old = std::exchange(graph.nodes, {});
  std::vector<ir::ValueId> replacement;  // by old value; kNone: itself
  const auto current = [&](ir::ValueId id) {
    const auto i = static_cast<size_t>(id);
    return id != ir::kNone && i < replacement.size() && replacement[i] != ir::kNone ? replacement[i] : id;
  };
  ir::Builder builder(module, graph);
  for (ir::Node& node : old) {
    for (ir::ValueId& id : node.operands) id = current(id);
    const auto made = rewrite_node(builder, node);
    PTERON_TRY(Status(builder.status()));
    if (!made) {
      graph.nodes.push_back(std::move(node));
      continue;
    }
    for (size_t i = 0; i < node.results.size(); ++i) {
      const auto from = static_cast<size_t>(node.results[i]);
      if (replacement.size() <= from) replacement.resize(from + 1, ir::kNone);
      replacement[from] = (*made)[i];
    }
  }
  for (ir::Port& port : graph.outputs) port.value = current(port.value);
  return {};
}

}  // namespace pteron::passes
