// What the compile side of this build contains: backends, as an explicit list.
#pragma once

#include <span>

#include "partition/backend.h"

namespace pteron::builtin {

// Every backend that this build can compile for. "portable" is none of them: it is what remains when nothing is claimed.
std::span<const partition::CompileBackend* const> builtin_compile_backends();

}  // namespace pteron::builtin
