// Which operators the cpu backend takes, and why not the others.
#pragma once

#include "ir/graph.h"
#include "partition/backend.h"

namespace pteron::cpu_backend {

std::vector<partition::Claim> claim_nodes(const ir::Graph& graph);

}  // namespace pteron::cpu_backend
