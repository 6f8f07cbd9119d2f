#include "runtime/kernel.h"

#include <string>

namespace pteron::runtime {

Result<void*> KernelContext::scratch(size_t bytes) {
  if (bytes > scratch_.size()) {
    return Status::error(Code::internal, "kernel needs more scratch memory than it reserved",
                         {"", "scratch", std::to_string(bytes) + " bytes", std::to_string(scratch_.size())});
  }
  return static_cast<void*>(scratch_.data());
}

const Kernel* KernelTable::find(std::string_view name) const {
  for (std::span<const Kernel> family : families) {
    for (const Kernel& kernel : family) {
      if (kernel.name == name) return &kernel;
    }
  }
  return nullptr;
}

}  // namespace pteron::runtime
