#include "ir/verifier.h"

#include <set>

#include "ir/infer.h"

namespace pteron::ir {
namespace {

Status bad(const Graph& graph, std::string field, std::string expected, std::string found) {
  return Status::error(Code::invalid_data, "graph " + graph.name + " is malformed", {.field = std::move(field), .expected = std::move(expected), .found = std::move(found)});
}

Status check_node(const Graph& graph, const Node& node, std::vector<bool>& defined) {
  const std::string& name = schema(node.op).text_name;
  for (ValueId id : node.operands) {
    if (id == kNone) continue;
    if (id < 0 || static_cast<size_t>(id) >= graph.values.size()) return bad(graph, name, "operands of the graph", "value " + std::to_string(id));
    if (!defined[static_cast<size_t>(id)]) return bad(graph, name, "operands defined before their use", "value " + std::to_string(id));
  }
  for (ValueId id : node.results) {
    if (id < 0 || static_cast<size_t>(id) >= graph.values.size()) return bad(graph, name, "results of the graph", "value " + std::to_string(id));
    if (defined[static_cast<size_t>(id)]) return bad(graph, name, "each value defined once", "value " + std::to_string(id));
    if (graph.values[static_cast<size_t>(id)].def != Def::node) return bad(graph, name, "a result", "value " + std::to_string(id));
    defined[static_cast<size_t>(id)] = true;
  }
  PTERON_ASSIGN(const auto types, infer(graph, node));
  if (types.size() != node.results.size()) return bad(graph, name, std::to_string(types.size()) + " results", std::to_string(node.results.size()));
  for (size_t i = 0; i < types.size(); ++i) {
    if (!(types[i] == graph.type(node.results[i]))) return bad(graph, name, to_string(types[i]), to_string(graph.type(node.results[i])));
  }
  return {};
}

}  // namespace

Status verify(const Module& module, const Graph& graph) {
  std::vector<bool> defined(graph.values.size(), false);
  for (size_t i = 0; i < graph.values.size(); ++i) {
    const Value& value = graph.values[i];
    if (value.def != Def::constant) continue;
    if (value.constant < 0 || static_cast<size_t>(value.constant) >= module.constants.size()) {
      return bad(graph, "constants", "an index below " + std::to_string(module.constants.size()), std::to_string(value.constant));
    }
    const Constant& constant = module.constants[static_cast<size_t>(value.constant)];
    if (!(constant.type() == value.type)) return bad(graph, constant.name, to_string(constant.type()), to_string(value.type));
    defined[i] = true;
  }
  for (const Port& port : graph.inputs) {
    if (port.value < 0 || static_cast<size_t>(port.value) >= graph.values.size() || defined[static_cast<size_t>(port.value)] ||
        graph.values[static_cast<size_t>(port.value)].def != Def::input) {
      return bad(graph, "inputs", "values that are inputs once", port.name + " = " + std::to_string(port.value));
    }
    defined[static_cast<size_t>(port.value)] = true;
  }
  for (const Node& node : graph.nodes) PTERON_TRY(check_node(graph, node, defined));
  for (const Port& port : graph.outputs) {
    if (port.value < 0 || static_cast<size_t>(port.value) >= graph.values.size() || !defined[static_cast<size_t>(port.value)]) {
      return bad(graph, "outputs", "defined values", port.name + " = " + std::to_string(port.value));
    }
    if (port.alias < -1 || port.alias >= static_cast<int32_t>(graph.inputs.size())) return bad(graph, port.name, "an input to alias", std::to_string(port.alias));
    if (port.alias >= 0 && !(graph.type(port.value) == graph.type(graph.inputs[static_cast<size_t>(port.alias)].value))) {
      return bad(graph, port.name, to_string(graph.type(graph.inputs[static_cast<size_t>(port.alias)].value)), to_string(graph.type(port.value)));
    }
  }
  return {};
}

Status verify(const Module& module) {
  std::set<std::string_view> names;
  for (const Constant& constant : module.constants) {
    if (!names.insert(constant.name).second) return Status::error(Code::invalid_data, "two constants have one name", {.field = constant.name});
  }
  names.clear();
  for (const Graph& graph : module.methods) {
    if (!names.insert(graph.name).second) return Status::error(Code::invalid_data, "two methods have one name", {.field = graph.name});
    PTERON_TRY(verify(module, graph));
  }
  return {};
}

}  // namespace pteron::ir
