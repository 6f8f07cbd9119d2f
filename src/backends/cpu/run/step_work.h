// What a step of the current call reads from memory and computes: for the profile.
#pragma once

#include "backends/cpu/run/machine.h"
#include "runtime/delegate.h"

namespace pteron::cpu_backend {

// Bytes of weights and of visible cache slots (each once), and the multiplications and additions of matrices. Steps of other kinds do not count.
runtime::StepWork step_work(const Machine& machine, const Step& step);

}  // namespace pteron::cpu_backend
