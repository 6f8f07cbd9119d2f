// The methods of a program as an I/O manager sees them (pteron/io_manager.h). The runtime's program is one source; tests and the conformance
// suite put others in its place.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "base/sha256.h"
#include "base/status.h"
#include "base/thread_pool.h"
#include "pteron/io_manager.h"
#include "runtime/method.h"

namespace pteron::llm {

using pteron::MethodResources;
using pteron::MethodSource;
using pteron::StepMethod;

// The entry of `infos` with that name, or null.
const MethodInfo* find_method(std::span<const MethodInfo> infos, std::string_view name);

}  // namespace pteron::llm
