// Passes over steps whose buffers are still values in single assignment: each is written by one step.
#pragma once

#include <set>
#include <vector>

#include "backends/cpu/payload/plan.h"

namespace pteron::cpu_backend {

// Joins steps: scales into the embedding or sum beside them, sums into the projection or norm whose result they add to a value that
// ends there. `kept` are values that must stay as they are (inputs and outputs of the region).
void fuse_steps(std::vector<Step>& steps, const std::set<int32_t>& kept);

}  // namespace pteron::cpu_backend
