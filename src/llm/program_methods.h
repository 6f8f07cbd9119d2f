// The methods of a verified program, loaded by the runtime.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "llm/method_source.h"
#include "runtime/program.h"

namespace pteron::llm {

// Copies of `program` share its bytes. What `options` refers to (kernels, backends, external data) must outlive the object;
// its allocator and threads are replaced by those of each load.
class ProgramMethods final : public MethodSource {
 public:
  ProgramMethods(format::VerifiedProgram program, runtime::LoadOptions options);

  std::span<const MethodInfo> infos() const override { return infos_; }
  Result<std::unique_ptr<StepMethod>> load(std::string_view name, const MethodResources& resources) const override;
  Allocator* io_allocator() const override;
  Digest identity() const override;  // computed at the first call, over the whole file

  const format::VerifiedProgram& program() const { return program_; }

 private:
  format::VerifiedProgram program_;
  runtime::LoadOptions options_;
  std::vector<MethodInfo> infos_;
  mutable std::once_flag identity_once_;
  mutable Digest identity_{};
};

}  // namespace pteron::llm
