#include <algorithm>
#include <map>
#include <utility>

#include "ir/builder.h"
#include "passes/passes.h"

namespace pteron::passes {
namespace {

using ir::Graph;
using ir::Node;
using ir::Op;
using ir::Port;
using ir::Role;
using ir::ValueId;

Status wrong(const Graph& graph, std::string field, std::string expected, std::string found) {
  return Status::error(Code::invalid_data, "a cache of method " + graph.name + " cannot be made an input",
                       {.field = std::move(field), .expected = std::move(expected), .found = std::move(found)});
}

// Where a cache stands among the inputs: by layer, keys before values.
struct Slot {
  int64_t layer = 0;
  bool value = false;
  auto operator<=>(const Slot&) const = default;
  std::string named(const char* what) const { return std::string(value ? "value_" : "key_") + what + "_" + std::to_string(layer); }
};

bool writes(const Node& node, ValueId cache) {
  return (node.op == Op::cache_write || node.op == Op::aten_index_put || node.op == Op::aten_index_put_) && node.operands[0] == cache;
}

// What a cache holds after the call. Two writes to one value leave open which of them is kept.
Result<ValueId> last_write(const Graph& graph, const Slot& slot, ValueId cache) {
  ValueId now = cache;
  for (const Node& node : graph.nodes) {
    if (!writes(node, now)) continue;
    const auto count = std::count_if(graph.nodes.begin(), graph.nodes.end(), [&](const Node& other) { return writes(other, now); });
    if (count > 1) return wrong(graph, slot.named("cache"), "each write to go on from the one before", std::to_string(count) + " writes to one value");
    now = node.result();
  }
  if (now == cache) return wrong(graph, slot.named("cache"), "a write to it", "none");
  return now;
}

// Takes the `cache` nodes out of the graph: each slot's value.
Result<std::map<Slot, ValueId>> take_caches(Graph& graph) {
  std::map<Slot, ValueId> out;
  for (const Node& node : graph.nodes) {
    if (node.op != Op::cache) continue;
    const std::string& kind = node.string("kind");
    if (kind != "key" && kind != "value") return wrong(graph, "kind", "key or value", kind);
    const Slot slot{node.integer("layer"), kind == "value"};
    if (slot.layer < 0 || slot.layer > INT32_MAX) return wrong(graph, "layer", "0 or more", std::to_string(slot.layer));
    if (!out.emplace(slot, node.result()).second) return wrong(graph, slot.named("cache"), "one of its layer and kind", "a second one");
  }
  std::erase_if(graph.nodes, [](const Node& node) { return node.op == Op::cache; });
  return out;
}

Status make_static(Graph& graph) {
  PTERON_ASSIGN(const auto caches, take_caches(graph));
  // Behind the other inputs; the row to read stays the last one.
  const auto last_row = std::find_if(graph.inputs.begin(), graph.inputs.end(), [](const Port& port) { return port.role == Role::last_row; });
  const auto first = static_cast<int32_t>(last_row - graph.inputs.begin());
  for (Port& port : graph.outputs) port.alias += port.alias >= first ? static_cast<int32_t>(caches.size()) : 0;
  std::vector<Port> inputs;
  for (const auto& [slot, value] : caches) {
    const auto layer = static_cast<int32_t>(slot.layer);
    const int32_t alias = first + static_cast<int32_t>(inputs.size());
    PTERON_ASSIGN(const ValueId after, last_write(graph, slot, value));
    graph.values[static_cast<size_t>(value)].def = ir::Def::input;
    inputs.push_back({.value = value, .name = slot.named("cache"), .role = slot.value ? Role::value_cache : Role::key_cache, .layer = layer});
    graph.outputs.push_back({.value = after, .name = slot.named("state"), .role = slot.value ? Role::value_state : Role::key_state, .layer = layer, .alias = alias});
  }
  graph.inputs.insert(graph.inputs.begin() + first, std::make_move_iterator(inputs.begin()), std::make_move_iterator(inputs.end()));
  return {};
}

}  // namespace

Status static_cache(ir::Module& module, ir::Notes&) {
  for (Graph& graph : module.methods) PTERON_TRY(make_static(graph));
  return {};
}

}  // namespace pteron::passes
