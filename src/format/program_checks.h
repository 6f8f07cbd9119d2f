// The rules of a program beyond its encoding: what the plain values must say so that a runtime can trust them.
#pragma once

#include "base/status.h"
#include "format/model.h"

namespace pteron::format {

// Checks all that verified_program.h promises of the values, except where segments lie in the file, and fills in `Tensor::nbytes`.
// Both directions use it: no program is read or written that breaks a rule.
Status check_program(Program& program);

}  // namespace pteron::format
