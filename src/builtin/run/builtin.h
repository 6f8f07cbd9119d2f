// What the run side of this build contains: kernels and backends, as explicit lists.
#pragma once

#include <span>

#include "runtime/delegate.h"
#include "runtime/kernel.h"

namespace pteron::builtin {

// Every operator of this build.
const runtime::KernelTable& builtin_kernels();

// Every backend whose payloads this build can run.
std::span<const runtime::RunBackend* const> builtin_run_backends();

}  // namespace pteron::builtin
