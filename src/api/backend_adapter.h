// Backends of applications, as the compiler and the runtime see their own.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "partition/backend.h"
#include "pteron/backend.h"
#include "runtime/delegate.h"

namespace pteron::api {

// `backend` must outlive the result.
std::unique_ptr<partition::CompileBackend> adapt(const CompileBackend& backend);

// The backends of this build and those of the caller, which come first: who brings a backend under a name of ours means it. Delegates that were made
// may outlive the set, not the caller's backends.
class RunBackends {
 public:
  explicit RunBackends(std::span<const RunBackend* const> callers);
  std::span<const runtime::RunBackend* const> all() const { return all_; }

 private:
  std::vector<std::unique_ptr<runtime::RunBackend>> adapted_;
  std::vector<const runtime::RunBackend*> all_;
};

}  // namespace pteron::api
