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

  static std::shared_ptr<const Impl> make(package::Opened opened);

  // Kernels and backends of this build and the program's external data; what the options refer to lives as long as this object.
  runtime::LoadOptions load_options() const;

 private:
  explicit Impl(package::Opened o);
  std::vector<std::unique_ptr<runtime::ExternalData>> external_;
  std::vector<const runtime::ExternalData*> external_pointers_;
};

}  // namespace pteron
