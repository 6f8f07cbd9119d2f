// Where buffers lie in the arena: two share memory where no step needs both.
#pragma once

#include <vector>

#include "backends/cpu/payload/plan.h"

namespace pteron::cpu_backend {

// Sets the offsets of the buffers that live in the arena, largest first, each at the lowest free place; returns the arena's size.
uint64_t lay_out(std::vector<Step>& steps, uint32_t rows, std::vector<Buffer>& buffers);

}  // namespace pteron::cpu_backend
