// The cpu backend as the runtime sees it.
#pragma once

#include "runtime/delegate.h"

namespace pteron::cpu_backend {

// Stateless; lives as long as the process.
const runtime::RunBackend& run_backend();

}  // namespace pteron::cpu_backend
