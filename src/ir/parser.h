// Reads the text form that the printer writes.
#pragma once

#include <string_view>

#include "base/status.h"
#include "ir/graph.h"

namespace pteron::ir {

// The module of a text, verified. Errors give the line. Constants printed by digest have no contents.
Result<Module> parse(std::string_view text);

}  // namespace pteron::ir
