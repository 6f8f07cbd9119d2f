// The cpu backend's compile half.
#pragma once

#include "partition/backend.h"

namespace pteron::cpu_backend {

// Stateless; lives as long as the process.
const partition::CompileBackend& compile_backend();

}  // namespace pteron::cpu_backend
