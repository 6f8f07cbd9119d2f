#include "pteron/program.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "api/backend_adapter.h"
#include "api/describe.h"
#include "api/program_impl.h"
#include "builtin/run/builtin.h"

namespace pteron {
namespace {

using Json = nlohmann::ordered_json;

Json describe_trust(const Trust& trust) {
  Json json = {{"state", trust_state_name(trust.state)}, {"program_bytes", trust.program_bytes}};
  if (trust.algorithm) {
    json["algorithm"] = algorithm_name(*trust.algorithm);
    json["key_id"] = trust.key.hex();
    json["counter"] = trust.counter;
  }
  if (trust.signed_at) json["signed_at"] = trust.signed_at->time_since_epoch().count();
  if (trust.not_after) json["not_after"] = trust.not_after->time_since_epoch().count();
  return json;
}

// The one string that a constant method returns; empty where there is no such method.
std::string constant_string(const format::VerifiedProgram& program, std::string_view name) {
  const format::Plan* plan = program.find_plan(name);
  if (plan == nullptr || plan->outputs.size() != 1) return {};
  const auto* text = std::get_if<std::string>(&plan->values[static_cast<size_t>(plan->outputs[0])]);
  return text != nullptr ? *text : std::string();
}

Status require_complete(const package::Opened& opened) {
  if (opened.complete) return {};
  return Status::error(Code::invalid_argument, "only the tables of the program were opened",
                       {.file = opened.program.path(), .field = {}, .expected = "Program::open", .found = "Program::open_tables"});
}

}  // namespace

runtime::LoadOptions Program::Impl::load_options() const {
  runtime::LoadOptions options;
  options.kernels = &builtin::builtin_kernels();
  options.backends = builtin::builtin_run_backends();
  options.external = opened.external;
  return options;
}

Program::Program(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;
Program::~Program() = default;

Result<Program> Program::open(const std::string& path, const LoadPolicy& policy, std::span<const std::string> external_data) {
  PTERON_ASSIGN(package::Opened opened, package::open(path, policy, external_data));
  return Program(std::make_shared<const Impl>(std::move(opened)));
}

Result<Program> Program::open_tables(const std::string& path, const LoadPolicy& policy) {
  PTERON_ASSIGN(package::Opened opened, package::open_tables(path, policy));
  return Program(std::make_shared<const Impl>(std::move(opened)));
}

Result<Program> Program::from_bytes(std::span<const std::byte> bytes, const LoadPolicy& policy) {
  PTERON_ASSIGN(package::Opened opened, package::from_bytes(bytes, policy));
  return Program(std::make_shared<const Impl>(std::move(opened)));
}

const Trust& Program::trust() const { return impl_->opened.trust; }
std::span<const MethodInfo> Program::methods() const { return impl_->methods; }

const MethodInfo* Program::find(std::string_view method) const {
  for (const MethodInfo& info : impl_->methods) {
    if (info.name == method) return &info;
  }
  return nullptr;
}

Result<std::span<const std::byte>> Program::named_data(std::string_view key) const {
  PTERON_TRY(require_complete(impl_->opened));
  return impl_->opened.program.named_data(key);
}

std::vector<std::string> Program::named_data_keys() const {
  std::vector<std::string> keys;
  for (const format::NamedData& entry : impl_->opened.program.program().named_data) keys.push_back(entry.key);
  return keys;
}

Result<Method> Program::load(std::string_view method, const MethodOptions& options) const {
  PTERON_TRY(require_complete(impl_->opened));
  const api::RunBackends backends(options.backends);
  runtime::LoadOptions load = impl_->load_options();
  load.backends = backends.all();
  load.allocator = options.allocator;
  load.own_threads = options.threads;
  return runtime::load_method(impl_->opened.program, method, load);
}

std::string Program::describe(bool instructions) const {
  Json json = {{"file", impl_->opened.program.path()}, {"manifest", describe_trust(trust())}};
  const bool vouched = trust().state == Trust::State::valid || trust().state == Trust::State::expired;
  if (vouched) json["manifest"]["checked"] = impl_->opened.complete ? "everything" : "tables";
  if (const std::string contract = constant_string(impl_->opened.program, "io_contract"); !contract.empty()) {
    json["contract"] = Json::parse(contract, nullptr, false);
    if (json["contract"].is_discarded()) json["contract"] = contract;
  }
  json.update(api::describe(impl_->opened.program, impl_->opened.complete, instructions));
  return json.dump(1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace pteron
