#include <algorithm>
#include <set>

#include "ir/builder.h"
#include "passes/passes.h"

namespace pteron::passes {
namespace {

using ir::Graph;
using ir::Node;
using ir::Op;
using ir::ValueId;

// For each value, the first node and output position after which it (or a view of it) may still be read.
class Liveness {
 public:
  explicit Liveness(const Graph& graph) : last_(graph.values.size(), -1) {
    const auto end = static_cast<int64_t>(graph.nodes.size());
    for (const ir::Port& port : graph.outputs) last_[static_cast<size_t>(port.value)] = end;
    // Backwards, so that the uses of views are known when their sources are met.
    for (int64_t i = end; i-- > 0;) {
      const Node& node = graph.nodes[static_cast<size_t>(i)];
      const int64_t through = node.op == Op::aten_view_copy ? last_[static_cast<size_t>(node.result())] : -1;
      for (ValueId id : node.operands) {
        if (id != ir::kNone) last_[static_cast<size_t>(id)] = std::max({last_[static_cast<size_t>(id)], i, through});
      }
    }
  }
  int64_t last_read(ValueId id) const { return last_[static_cast<size_t>(id)]; }

 private:
  std::vector<int64_t> last_;
};

// The index of the input whose memory a value is: the input itself or an in-place result of it; -1 for any other.
int32_t input_of(const Graph& graph, const std::vector<int32_t>& producers, ValueId id) {
  while (producers[static_cast<size_t>(id)] >= 0) {
    const Node& node = graph.nodes[static_cast<size_t>(producers[static_cast<size_t>(id)])];
    if (!ir::schema(node.op).in_place) return -1;
    id = node.operands[0];
  }
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    if (graph.inputs[i].value == id) return static_cast<int32_t>(i);
  }
  return -1;
}

// Whether input `index` is one that the method is to leave updated.
bool is_state(const Graph& graph, int32_t index) {
  return index >= 0 && std::any_of(graph.outputs.begin(), graph.outputs.end(), [&](const ir::Port& port) { return port.alias == index; });
}

// The value whose memory a value may be: through views and writes in place.
ValueId origin(const Graph& graph, const std::vector<int32_t>& producers, ValueId id) {
  while (id != ir::kNone && producers[static_cast<size_t>(id)] >= 0) {
    const Node& node = graph.nodes[static_cast<size_t>(producers[static_cast<size_t>(id)])];
    if (node.op != Op::aten_view_copy && !ir::schema(node.op).in_place) break;
    id = node.operands[0];
  }
  return id;
}

// Whether what a node writes comes out of the memory that it would write to.
bool reads_itself(const Graph& graph, const std::vector<int32_t>& producers, const Node& node) {
  const ValueId target = origin(graph, producers, node.operands[0]);
  return std::any_of(node.operands.begin() + 1, node.operands.end(), [&](ValueId id) { return id != ir::kNone && origin(graph, producers, id) == target; });
}

// Copying a state back at the end would change another output that is the same memory.
Status check_shown(const Graph& graph, const std::vector<int32_t>& producers, const ir::Port& state) {
  const ValueId input = graph.inputs[static_cast<size_t>(state.alias)].value;
  for (const ir::Port& other : graph.outputs) {
    if (&other == &state || static_cast<size_t>(other.value) >= producers.size() || origin(graph, producers, other.value) != input) continue;
    return Status::error(Code::unsupported, "method " + graph.name + " shows the old value of a state beside the new one",
                         {.field = other.name, .expected = "a value of its own", .found = "the memory of " + state.name});
  }
  return {};
}

Status reinplace_method(ir::Module& module, Graph& graph, ir::Notes& notes) {
  const auto producers = graph.producers();
  const Liveness liveness(graph);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    Node& node = graph.nodes[i];
    if (node.op != Op::aten_index_put) continue;
    const int32_t input = input_of(graph, producers, node.operands[0]);
    if (!is_state(graph, input)) continue;
    const bool read_later = liveness.last_read(node.operands[0]) > static_cast<int64_t>(i);
    if (read_later || reads_itself(graph, producers, node)) {
      notes.push_back("method " + graph.name + ": a write to " + graph.inputs[static_cast<size_t>(input)].name + " stays a copy, its old value is read " +
                      (read_later ? "afterwards" : "by the write itself"));
      continue;
    }
    node.op = Op::aten_index_put_;
  }
  // What did not become in place is copied back at the end.
  ir::Builder builder(module, graph);
  for (ir::Port& port : graph.outputs) {
    if (port.alias < 0) continue;
    const auto now = graph.producers();
    if (static_cast<size_t>(port.value) < now.size() && input_of(graph, now, port.value) == port.alias) continue;
    const auto made = static_cast<size_t>(port.value) < now.size() ? now[static_cast<size_t>(port.value)] : -1;
    if (made >= 0 && graph.nodes[static_cast<size_t>(made)].op == Op::delegate) continue;  // in place inside the delegate
    PTERON_TRY(check_shown(graph, now, port));
    port.value = builder.op(Op::aten_copy_, {graph.inputs[static_cast<size_t>(port.alias)].value, port.value});
  }
  return {};
}

}  // namespace

Status reinplace(ir::Module& module, ir::Notes& notes) {
  for (Graph& graph : module.methods) PTERON_TRY(reinplace_method(module, graph, notes));
  return {};
}

}  // namespace pteron::passes
