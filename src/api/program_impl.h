// What stands behind a public Program: shared by programs, methods and engines.
#pragma once

#include <memory>
#include <vector>

#include "package/open.h"
#include "pteron/program.h"
#include "runtime/program.h"

namespace pteron {

struct Program::Impl {
  package::Opened opened;
  std::vector<MethodInfo> methods;

  explicit Impl(package::Opened o) : opened(std::move(o)), methods(runtime::method_infos(opened.program)) {}

  // Kernels and backends of this build and the program's external data; what the options refer to lives as long as this object.
  runtime::LoadOptions load_options() const;
};

}  // namespace pteron
