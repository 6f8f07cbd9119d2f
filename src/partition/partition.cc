#include "partition/partition.h"

#include <algorithm>
#include <map>
#include <set>

namespace pteron::partition {
namespace {

using ir::Graph;
using ir::Node;
using ir::ValueId;

// The input of the graph whose memory a chain of cache writes carries on; -1 for any other value.
int32_t cache_input(const Graph& graph, const std::vector<int32_t>& producers, ValueId id) {
  while (producers[static_cast<size_t>(id)] >= 0) {
    const Node& node = graph.nodes[static_cast<size_t>(producers[static_cast<size_t>(id)])];
    if (node.op != ir::Op::cache_write) return -1;
    id = node.operands[0];
  }
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    if (graph.inputs[i].value == id) return static_cast<int32_t>(i);
  }
  return -1;
}

// Takes back claims on cache writes that cannot be done in place: the old value is used by more than the write, or is no input.
void refuse_copies(const Graph& graph, std::vector<Claim>& claims) {
  const auto producers = graph.producers();
  const auto uses = graph.use_counts();
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (node.op != ir::Op::cache_write || !claims[i].taken) continue;
    if (cache_input(graph, producers, node.operands[0]) < 0) claims[i] = {false, "the cache is not an input of the method"};
    else if (uses[static_cast<size_t>(node.operands[0])] != 1) claims[i] = {false, "the cache is read before the write too"};
  }
}

// The stage of each node: it grows where a value passes from a node that is left to one that is taken. Taken nodes of one stage are a region,
// because every way out of it and back passes such an edge.
std::vector<int32_t> stages(const Graph& graph, const std::vector<Claim>& claims) {
  const auto producers = graph.producers();
  std::vector<int32_t> out(graph.nodes.size(), 0);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    for (ValueId id : graph.nodes[i].operands) {
      const int32_t from = id == ir::kNone ? -1 : producers[static_cast<size_t>(id)];
      if (from < 0) continue;
      const bool into = claims[i].taken && !claims[static_cast<size_t>(from)].taken;
      out[i] = std::max(out[i], out[static_cast<size_t>(from)] + (into ? 1 : 0));
    }
  }
  return out;
}

// Builds a region's own graph and knows which values of the method its arguments are.
class RegionBuilder {
 public:
  RegionBuilder(const Graph& graph, const std::vector<size_t>& members) : graph_(graph), members_(members) { region_.name = graph.name; }

  void run() {
    std::set<ValueId> inside;
    for (size_t i : members_) inside.insert(graph_.nodes[i].results.begin(), graph_.nodes[i].results.end());
    for (size_t i : members_) {
      for (ValueId id : graph_.nodes[i].operands) {
        if (id != ir::kNone && !inside.count(id)) add_input(id);
      }
    }
    for (size_t i : members_) {
      Node node = graph_.nodes[i];
      for (ValueId& id : node.operands) {
        if (id != ir::kNone) id = inner(id);
      }
      for (ValueId& id : node.results) id = map_[id] = region_.add_value(graph_.type(id), ir::Def::node);
      region_.nodes.push_back(std::move(node));
    }
    add_outputs(inside);
  }

  Graph& region() { return region_; }
  const std::vector<ValueId>& inputs() const { return inputs_; }
  const std::vector<ValueId>& outputs() const { return outputs_; }
  const std::vector<int64_t>& mutated() const { return mutated_; }

 private:
  ValueId inner(ValueId id) {
    const auto it = map_.find(id);
    if (it != map_.end()) return it->second;
    const ir::Value& value = graph_.values[static_cast<size_t>(id)];
    return map_[id] = region_.add_value(value.type, value.def, value.constant);  // constants only: inputs are there already
  }

  void add_input(ValueId id) {
    if (graph_.is_constant(id) || map_.count(id)) return;
    ir::Port port{ir::kNone, "value_" + std::to_string(id)};
    for (const ir::Port& given : graph_.inputs) {
      if (given.value == id) port = given;
    }
    port.value = map_[id] = region_.add_value(graph_.type(id), ir::Def::input);
    region_.inputs.push_back(std::move(port));
    inputs_.push_back(id);
  }

  void add_outputs(const std::set<ValueId>& inside) {
    std::set<ValueId> used;
    std::set<size_t> own(members_.begin(), members_.end());
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!own.count(i)) used.insert(graph_.nodes[i].operands.begin(), graph_.nodes[i].operands.end());
    }
    std::map<ValueId, ir::Port> ports;
    for (const ir::Port& port : graph_.outputs) ports.emplace(port.value, port);
    const auto producers = region_.producers();
    for (size_t i : members_) {
      for (ValueId id : graph_.nodes[i].results) {
        const auto given = ports.find(id);
        if (!inside.count(id) || (!used.count(id) && given == ports.end())) continue;
        ir::Port port = given != ports.end() ? given->second : ir::Port{ir::kNone, "value_" + std::to_string(id)};
        port.value = map_[id];
        port.alias = graph_.nodes[i].op == ir::Op::cache_write ? cache_input(region_, producers, port.value) : -1;
        region_.outputs.push_back(port);
        outputs_.push_back(id);
      }
    }
    for (const Node& node : region_.nodes) {
      const int32_t input = node.op == ir::Op::cache_write ? cache_input(region_, producers, node.results[0]) : -1;
      if (input >= 0 && std::find(mutated_.begin(), mutated_.end(), input) == mutated_.end()) mutated_.push_back(input);
    }
    std::sort(mutated_.begin(), mutated_.end());
  }

  const Graph& graph_;
  const std::vector<size_t>& members_;
  Graph region_;
  std::map<ValueId, ValueId> map_;
  std::vector<ValueId> inputs_, outputs_;
  std::vector<int64_t> mutated_;
};

void count_refusal(MethodPartition& out, const std::string& op, const std::string& reason) {
  for (NodeRefusal& known : out.refused) {
    if (known.op == op && known.reason == reason) {
      ++known.count;
      return;
    }
  }
  out.refused.push_back({op, reason, 1});
}

}  // namespace

Result<MethodPartition> partition(const ir::Module& module, Graph& graph, const CompileBackend& backend, const BackendOptions& options, NamedDataStore& data) {
  std::vector<Claim> claims = backend.claim(module, graph, options);
  if (claims.size() != graph.nodes.size()) {
    return Status::error(Code::internal, "a backend must claim or refuse each node",
                         {.field = std::string(backend.name()), .expected = std::to_string(graph.nodes.size()), .found = std::to_string(claims.size())});
  }
  refuse_copies(graph, claims);
  MethodPartition out;
  out.method = graph.name;
  out.nodes = static_cast<int64_t>(graph.nodes.size());
  for (size_t i = 0; i < claims.size(); ++i) {
    if (claims[i].taken) ++out.taken;
    else count_refusal(out, ir::schema(graph.nodes[i].op).text_name, claims[i].reason);
  }

  const auto stage = stages(graph, claims);
  const int32_t last = stage.empty() ? -1 : *std::max_element(stage.begin(), stage.end());
  std::vector<Node> nodes;
  for (int32_t s = 0; s <= last; ++s) {
    std::vector<size_t> members;
    for (size_t i = 0; i < claims.size(); ++i) {
      if (claims[i].taken && stage[i] == s) members.push_back(i);
    }
    if (!members.empty()) {
      RegionBuilder builder(graph, members);
      builder.run();
      PTERON_ASSIGN(Payload payload, backend.compile(Region{module, builder.region(), graph.name}, options, data));
      Node node{ir::Op::delegate, builder.inputs(), {{"index", static_cast<int64_t>(out.delegates.size())}, {"mutates", builder.mutated()}}, builder.outputs()};
      // Results that are inputs written in place: named by position among the operands, -1 for the others.
      std::vector<int64_t> aliases;
      for (const ir::Port& port : builder.region().outputs) aliases.push_back(port.alias);
      node.attributes.emplace_back("aliases", std::move(aliases));
      nodes.push_back(std::move(node));
      out.region_nodes.push_back(static_cast<int64_t>(members.size()));
      out.delegates.push_back({std::string(backend.delegate_id()), std::move(payload)});
    }
    for (size_t i = 0; i < claims.size(); ++i) {
      if (!claims[i].taken && stage[i] == s) nodes.push_back(std::move(graph.nodes[i]));
    }
  }
  graph.nodes = std::move(nodes);
  return out;
}

}  // namespace pteron::partition
