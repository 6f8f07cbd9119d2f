// The page behind `pteron inspect --html`.
#pragma once

#include <string>

#include "pteron/status.h"
#include "tools/verb.h"

namespace pteron::tools {

// Writes one self-contained page about `report` (what Program::describe gives with instructions), whole or not at all.
Status write_inspect_html(const std::string& path, const std::string& title, const Json& report);

}  // namespace pteron::tools
