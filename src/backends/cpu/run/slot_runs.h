// From a mask row to the runs of slots that it shows.
#pragma once

#include <cstddef>

#include "kernels/cpu/kernels.h"
#include "pteron/tensor.h"

namespace pteron::cpu_backend {

// Reads row `row` of a mask [rows][slots]: boolean (true = attend) or of a float type (0 = attend, below half of the most negative
// number = hide). False where a value is neither, or the visible slots are none or more than two runs.
bool slot_runs(ScalarType dtype, const void* mask, size_t row, size_t slots, kernels::cpu::SlotRuns& out);

}  // namespace pteron::cpu_backend
