// Splits a method between backends: regions of claimed nodes become delegate nodes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "partition/backend.h"

namespace pteron::partition {

// A delegate of a method, in the order of the graph's delegate nodes (attribute `index`).
struct Delegate {
  std::string id;
  Payload payload;
};

struct NodeRefusal {
  std::string op, reason;
  int64_t count = 0;
};

// What happened to one method, for the report.
struct MethodPartition {
  std::string method;
  int64_t nodes = 0, taken = 0;
  std::vector<int64_t> region_nodes;   // nodes of each region
  std::vector<NodeRefusal> refused;    // by operator and reason, in order of first appearance
  std::vector<Delegate> delegates;
};

// Replaces what `backend` claims in `graph` by delegate nodes. Regions are as large as they can be while no value leaves one and comes
// back to it; their choice depends on the graph alone. Writes to caches inside a region happen in place; a write whose
// old value is read elsewhere stays outside.
Result<MethodPartition> partition(const ir::Module& module, ir::Graph& graph, const CompileBackend& backend, const BackendOptions& options, NamedDataStore& data);

}  // namespace pteron::partition
