// What a plan must fulfil before anything is run.
#pragma once

#include <string>

#include "backends/cpu/payload/plan.h"

namespace pteron::cpu_backend {

inline Status malformed(std::string field, std::string expected, std::string found) {
  return Status::error(Code::invalid_data, "malformed payload of the cpu backend", {.field = std::move(field), .expected = std::move(expected), .found = std::move(found)});
}

// Guarantees: every index is in range or, where optional, absent; every buffer lies in the arena at a multiple of 64 or is a float32
// argument of its size; the widths, shapes and formats of each step fit together; all sizes are positive and no product overflows.
Status check_plan(const Plan& plan);

}  // namespace pteron::cpu_backend
