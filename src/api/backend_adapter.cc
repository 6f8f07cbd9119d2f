#include "api/backend_adapter.h"

#include <utility>

#include "builtin/run/builtin.h"
#include "core/dtype.h"
#include "ir/op.h"

namespace pteron {

const GraphAttribute* GraphNode::find(std::string_view name) const {
  for (const auto& [key, value] : attributes) {
    if (key == name) return &value;
  }
  return nullptr;
}

Status CompileBackend::check_options(BackendOptionList options) const {
  return options.empty() ? Status() : partition::unknown_option(name(), options[0].first, {});
}

namespace api {
namespace {

GraphAttribute to_public(const ir::Attribute& attribute) {
  return std::visit(
      [](const auto& value) -> GraphAttribute {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, ir::NoneValue>) return std::monostate();
        else if constexpr (std::is_same_v<T, ScalarType>) return std::string(dtype_name(value));
        else return value;
      },
      attribute);
}

BackendGraph to_public(const ir::Module& module, const ir::Graph& graph, std::string method) {
  BackendGraph out;
  out.method = std::move(method);
  for (const ir::Value& value : graph.values) {
    GraphValue& made = out.values.emplace_back();
    made.dtype = value.type.dtype;
    made.sizes = value.type.sizes();
    made.constant = value.def == ir::Def::constant;
    if (made.constant) made.name = module.constants[static_cast<size_t>(value.constant)].name;
  }
  for (const ir::Node& node : graph.nodes) {
    GraphNode& made = out.nodes.emplace_back();
    made.op = ir::schema(node.op).text_name;
    made.operands = node.operands;
    made.results = node.results;
    for (const auto& [name, attribute] : node.attributes) made.attributes.emplace_back(name, to_public(attribute));
  }
  for (const ir::Port& port : graph.inputs) out.inputs.push_back(port.value);
  for (const ir::Port& port : graph.outputs) {
    out.outputs.push_back(port.value);
    out.aliases.push_back(port.alias);
  }
  out.read_floats = [&module, &graph](int32_t id) -> Result<std::vector<float>> {
    if (id < 0 || static_cast<size_t>(id) >= graph.values.size() || !graph.is_constant(id)) {
      return Status::error(Code::invalid_argument, "no constant of the graph", {.field = "value", .found = std::to_string(id)});
    }
    const ConstantPtr& source = module.constants[static_cast<size_t>(graph.values[static_cast<size_t>(id)].constant)].source;
    size_t elements = 1;
    for (const int64_t size : source->shape()) elements *= static_cast<size_t>(size);
    std::vector<float> values(elements);
    PTERON_TRY(source->read_rows_f32(0, source->shape().empty() ? 1 : source->shape()[0], values.data()));
    return values;
  };
  return out;
}

struct Options : partition::BackendOptions {
  std::vector<partition::KeyValue> list;
};

class AdaptedCompileBackend final : public partition::CompileBackend {
 public:
  explicit AdaptedCompileBackend(const pteron::CompileBackend& backend) : backend_(backend) {}
  std::string_view name() const override { return backend_.name(); }
  std::string_view delegate_id() const override { return backend_.delegate_id(); }
  std::string_view summary() const override { return backend_.summary(); }

  Result<std::unique_ptr<partition::BackendOptions>> parse_options(std::span<const partition::KeyValue> options) const override {
    PTERON_TRY(backend_.check_options(options));
    auto out = std::make_unique<Options>();
    out->list.assign(options.begin(), options.end());
    return std::unique_ptr<partition::BackendOptions>(std::move(out));
  }

  // A method with a size that is known only at run time is not for backends of this interface; nor is an answer of another length.
  std::vector<partition::Claim> claim(const ir::Module& module, const ir::Graph& graph, const partition::BackendOptions& options) const override {
    std::vector<partition::Claim> out(graph.nodes.size());
    for (const ir::Value& value : graph.values) {
      if (value.type.is_static()) continue;
      for (partition::Claim& claim : out) claim.reason = "the method has sizes that are known only at run time";
      return out;
    }
    std::vector<BackendClaim> claims = backend_.claim(to_public(module, graph, graph.name), list(options));
    out.clear();  // the partition refuses too few or too many
    for (BackendClaim& claim : claims) out.push_back({claim.taken, std::move(claim.reason)});
    return out;
  }

  Result<partition::Payload> compile(const partition::Region& region, const partition::BackendOptions& options, partition::NamedDataStore& data) const override {
    PTERON_ASSIGN(BackendPayload made, backend_.compile(to_public(region.module, region.graph, region.method), list(options)));
    for (auto& [key, bytes] : made.named_data) PTERON_TRY(data.add_bytes(key, std::move(bytes)));
    partition::Payload payload;
    payload.bytes = std::move(made.bytes);
    return payload;
  }

 private:
  static BackendOptionList list(const partition::BackendOptions& options) { return static_cast<const Options&>(options).list; }
  const pteron::CompileBackend& backend_;
};

DelegateArgument to_public(runtime::Value& value) {
  DelegateArgument out;
  switch (value.kind()) {
    case runtime::Value::Kind::tensor: {
      runtime::Tensor& tensor = value.tensor();
      out.kind = ValueKind::tensor;
      out.tensor = {tensor.dtype(), tensor.sizes(), tensor.dim_order(), tensor.data(), tensor.nbytes()};
      out.writable = tensor.writable();
      break;
    }
    case runtime::Value::Kind::number_int: out.kind = ValueKind::number_int, out.int_value = value.integer(); break;
    case runtime::Value::Kind::number_double: out.kind = ValueKind::number_double, out.double_value = value.number(); break;
    case runtime::Value::Kind::boolean: out.kind = ValueKind::boolean, out.int_value = value.boolean() ? 1 : 0; break;
    case runtime::Value::Kind::string: out.kind = ValueKind::string; break;
    case runtime::Value::Kind::none: break;
    default: out.kind = ValueKind::list;
  }
  return out;
}

class AdaptedDelegate final : public runtime::Delegate {
 public:
  explicit AdaptedDelegate(std::unique_ptr<RunDelegate> delegate) : delegate_(std::move(delegate)) {}
  Status execute(std::span<runtime::Value* const> args) override {
    arguments_.clear();
    for (runtime::Value* value : args) arguments_.push_back(to_public(*value));  // grows in the first call only
    return delegate_->execute(arguments_);
  }
  Status reset() override { return delegate_->reset(); }

 private:
  std::unique_ptr<RunDelegate> delegate_;
  std::vector<DelegateArgument> arguments_;
};

class AdaptedContext final : public DelegateContext {
 public:
  explicit AdaptedContext(runtime::InitContext& context) : context_(context) {}
  std::string_view method() const override { return context_.method_name(); }
  Allocator& allocator() const override { return context_.allocator(); }
  size_t threads() const override { return context_.threads().size(); }
  Result<std::span<const std::byte>> named_data(std::string_view key) const override { return context_.named_data(key); }

 private:
  runtime::InitContext& context_;
};

class AdaptedRunBackend final : public runtime::RunBackend {
 public:
  explicit AdaptedRunBackend(const pteron::RunBackend& backend) : backend_(backend) {}
  std::string_view id() const override { return backend_.id(); }
  Status available() const override { return backend_.available(); }
  Allocator* io_allocator() const override { return backend_.io_allocator(); }
  Result<std::unique_ptr<runtime::Delegate>> init(ByteSpan payload, std::span<const format::CompileSpec>, runtime::InitContext& context) const override {
    PTERON_ASSIGN(std::unique_ptr<RunDelegate> made, backend_.init(payload, AdaptedContext(context)));
    if (made == nullptr) return Status::error(Code::internal, "a backend made no delegate", {.field = std::string(backend_.id())});
    return std::unique_ptr<runtime::Delegate>(std::make_unique<AdaptedDelegate>(std::move(made)));
  }

 private:
  const pteron::RunBackend& backend_;
};

}  // namespace

std::unique_ptr<partition::CompileBackend> adapt(const CompileBackend& backend) { return std::make_unique<AdaptedCompileBackend>(backend); }

RunBackends::RunBackends(std::span<const RunBackend* const> callers) {
  for (const RunBackend* backend : callers) {
    adapted_.push_back(std::make_unique<AdaptedRunBackend>(*backend));
    all_.push_back(adapted_.back().get());
  }
  const auto own = builtin::builtin_run_backends();
  all_.insert(all_.end(), own.begin(), own.end());
}

}  // namespace api
}  // namespace pteron
