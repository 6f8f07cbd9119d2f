// What stands behind a public Program: shared by programs, methods and engines.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "builtin/run/builtin.h"
#include "package/open.h"
#include "pteron/program.h"
#include "runtime/program.h"

namespace pteron {

using Json = nlohmann::ordered_json;

struct Program::Impl {
  package::Opened opened;
  std::vector<MethodInfo> methods;

  explicit Impl(package::Opened o);
  // Kernels and backends of this build and the program's external data; what it refers to lives as long as the object.
  runtime::LoadOptions load_options() const;
};

}  // namespace pteron
