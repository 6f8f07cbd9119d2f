#include "llm/program_methods.h"

#include <utility>

namespace pteron::llm {
namespace {

class ProgramMethod final : public StepMethod {
 public:
  explicit ProgramMethod(Method method) : method_(std::move(method)) {}
  Status set_input(size_t index, const TensorView& value) override { return method_.set_input(index, value); }
  Status bind_output(size_t index, const MutableTensorView& buffer) override { return method_.bind_output(index, buffer); }
  Status execute() override { return method_.execute(); }
  Result<TensorView> output(size_t index) const override { return method_.output(index); }

 private:
  Method method_;
};

}  // namespace

ProgramMethods::ProgramMethods(format::VerifiedProgram program, runtime::LoadOptions options)
    : program_(std::move(program)), options_(options), infos_(runtime::method_infos(program_)) {}

Result<std::unique_ptr<StepMethod>> ProgramMethods::load(std::string_view name, const MethodResources& resources) const {
  runtime::LoadOptions options = options_;
  options.allocator = resources.allocator;
  options.threads = resources.threads;
  PTERON_ASSIGN(Method method, runtime::load_method(program_, name, options));
  return std::unique_ptr<StepMethod>(std::make_unique<ProgramMethod>(std::move(method)));
}

Allocator* ProgramMethods::io_allocator() const {
  for (const MethodInfo& info : infos_) {
    for (const std::string& id : info.delegates) {
      for (const runtime::RunBackend* backend : options_.backends) {
        if (backend->id() != id) continue;
        if (Allocator* allocator = backend->io_allocator(); allocator != nullptr) return allocator;
      }
    }
  }
  return nullptr;
}

Digest ProgramMethods::identity() const {
  std::call_once(identity_once_, [this] { identity_ = sha256(program_.file()); });
  return identity_;
}

}  // namespace pteron::llm
