#include "passes/passes.h"

namespace pteron::passes {
namespace {

// Whether a node does more than make its results.
bool has_effect(const ir::Node& node) { return ir::schema(node.op).in_place || !node.integers("mutates").empty(); }

void remove_dead_nodes(ir::Graph& graph) {
  std::vector<bool> live(graph.values.size(), false);
  for (const ir::Port& port : graph.outputs) live[static_cast<size_t>(port.value)] = true;
  std::vector<ir::Node> kept;
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    ir::Node& node = graph.nodes[i];
    bool needed = has_effect(node);
    for (ir::ValueId id : node.results) needed = needed || live[static_cast<size_t>(id)];
    if (!needed) continue;
    for (ir::ValueId id : node.operands) {
      if (id != ir::kNone) live[static_cast<size_t>(id)] = true;
    }
    kept.push_back(std::move(node));
  }
  graph.nodes.assign(std::make_move_iterator(kept.rbegin()), std::make_move_iterator(kept.rend()));
}

// Numbers values anew, leaving out those that nothing mentions, and marks the constants in use.
void compact_values(ir::Graph& graph, std::vector<bool>& constants) {
  std::vector<ir::ValueId> number(graph.values.size(), ir::kNone);
  std::vector<ir::Value> values;
  const auto use = [&](ir::ValueId& id) {
    if (id == ir::kNone) return;
    const auto i = static_cast<size_t>(id);
    if (number[i] == ir::kNone) {
      number[i] = static_cast<ir::ValueId>(values.size());
      values.push_back(graph.values[i]);
      if (values.back().def == ir::Def::constant) constants[static_cast<size_t>(values.back().constant)] = true;
    }
    id = number[i];
  };
  for (ir::Port& port : graph.inputs) use(port.value);
  for (ir::Node& node : graph.nodes) {
    for (ir::ValueId& id : node.operands) use(id);
    for (ir::ValueId& id : node.results) use(id);
  }
  for (ir::Port& port : graph.outputs) use(port.value);
  graph.values = std::move(values);
}

}  // namespace

Status dce(ir::Module& module, ir::Notes&) {
  std::vector<bool> used(module.constants.size(), false);
  for (ir::Graph& graph : module.methods) {
    remove_dead_nodes(graph);
    compact_values(graph, used);
  }
  std::vector<int32_t> number(module.constants.size(), -1);
  std::vector<ir::Constant> kept;
  for (size_t i = 0; i < module.constants.size(); ++i) {
    if (!used[i]) continue;
    number[i] = static_cast<int32_t>(kept.size());
    kept.push_back(std::move(module.constants[i]));
  }
  module.constants = std::move(kept);
  for (ir::Graph& graph : module.methods) {
    for (ir::Value& value : graph.values) {
      if (value.def == ir::Def::constant) value.constant = number[static_cast<size_t>(value.constant)];
    }
  }
  return {};
}

}  // namespace pteron::passes
