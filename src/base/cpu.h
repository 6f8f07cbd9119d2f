// What the processor can do, and how much of it this process may use.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/status.h"

namespace pteron {

// Instruction-set levels that kernels are written for, weakest first within a family.
enum class CpuTarget { scalar, avx2, avxvnni, avx512vnni, neon, dotprod, i8mm };

std::string_view cpu_target_name(CpuTarget target);

// Whether this machine and operating system can run code for `target`.
bool cpu_supports(CpuTarget target);

// The target that kernels use: the best that the machine has, or the one that PTERON_CPU names.
// An unknown or impossible name in PTERON_CPU is an error that lists what this machine can do.
Result<CpuTarget> cpu_target();

// Cores this process may use: the affinity mask, and the cgroup quota rounded up; at least 1.
size_t usable_cores();

}  // namespace pteron
