// A pass: a named change to a module that keeps what it computes.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ir/graph.h"

namespace pteron::ir {

// What a pass has to say for the report, one line each ("kept a copy of cache key_cache_3: read after the write").
using Notes = std::vector<std::string>;

struct Pass {
  std::string name;
  std::string summary;
  std::function<Status(Module& module, Notes& notes)> run;
};

}  // namespace pteron::ir
