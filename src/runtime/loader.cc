// Values of a plan: numbers, lists, and tensors with the memory that they start with.
#include <algorithm>
#include <cstring>
#include <string>

#include "runtime/method_impl.h"

namespace pteron::runtime {
namespace {

const format::FlatTensor* find_external(const MethodState& method, std::string_view key) {
  for (const format::FlatTensorFile& file : method.external) {
    if (const format::FlatTensor* entry = file.find(key)) return entry;
  }
  return nullptr;
}

// Files that are used together must not contradict each other.
Status check_external(std::span<const format::FlatTensorFile> files) {
  for (size_t i = 1; i < files.size(); ++i) {
    for (const format::FlatTensor& entry : files[i].entries()) {
      for (size_t j = 0; j < i; ++j) {
        if (files[j].find(entry.key) != nullptr) {
          return Status::error(Code::invalid_argument, "two data files have the same key",
                               {files[i].path(), entry.key, "", "also in " + files[j].path()});
        }
      }
    }
  }
  return {};
}

std::string layout_text(const format::TensorLayout& layout) {
  std::string text = std::string(dtype_name(layout.dtype)) + " [";
  for (size_t i = 0; i < layout.sizes.size(); ++i) text += (i != 0 ? "," : "") + std::to_string(layout.sizes[i]);
  text += "] in order [";
  for (size_t i = 0; i < layout.dim_order.size(); ++i) text += (i != 0 ? "," : "") + std::to_string(layout.dim_order[i]);
  return text + "]";
}

class ValueLoader {
 public:
  ValueLoader(const format::Plan& plan, MethodState& method) : plan_(plan), method_(method) {}

  Status load() {
    const auto tensors =
        std::count_if(plan_.values.begin(), plan_.values.end(), [](const auto& v) { return std::holds_alternative<format::Tensor>(v); });
    method_.tensors.reserve(static_cast<size_t>(tensors));
    method_.values.resize(plan_.values.size());
    for (size_t i = 0; i < plan_.values.size(); ++i) {
      PTERON_ASSIGN(method_.values[i], std::visit([this](const auto& v) { return make(v); }, plan_.values[i]));
    }
    return {};
  }

 private:
  Result<Value> make(const format::None&) { return Value(); }
  Result<Value> make(int64_t value) { return Value(value); }
  Result<Value> make(bool value) { return Value(value); }
  Result<Value> make(double value) { return Value(value); }
  Result<Value> make(const std::string& value) { return Value(&method_.strings.emplace_back(value)); }
  Result<Value> make(const format::IntList& list) { return boxed(Value::Kind::int_list, list.items); }
  Result<Value> make(const format::TensorList& list) { return boxed(Value::Kind::tensor_list, list.items); }
  Result<Value> make(const format::OptionalTensorList& list) { return boxed(Value::Kind::optional_tensor_list, list.items); }
  Result<Value> make(const format::DoubleList& list) { return Value(&method_.double_lists.emplace_back(list.items)); }
  Result<Value> make(const format::BoolList& list) {
    const auto& storage = method_.bool_storage.emplace_back(list.items.begin(), list.items.end());
    return Value(&method_.bool_lists.emplace_back(storage));
  }
  Result<Value> boxed(Value::Kind kind, std::span<const int32_t> items) {
    return Value(kind, &method_.boxed_lists.emplace_back(BoxedList{method_.values.data(), items}));
  }

  Result<Value> make(const format::Tensor& stored) {
    Tensor& tensor =
        method_.tensors.emplace_back(stored.dtype, stored.sizes, stored.dim_order, stored.dynamism == format::ShapeDynamism::bound);
    PTERON_TRY(stored.allocation ? place(stored, tensor) : attach(stored, tensor));
    return Value(&tensor);
  }

  // A planned tensor: its place in the arena, and what it starts with.
  Status place(const format::Tensor& stored, Tensor& tensor) {
    const uint32_t memory_id = stored.allocation->memory_id;
    std::byte* const address = method_.memory.arena(memory_id).data() + stored.allocation->offset;
    if (tensor.nbytes() > 0 && reinterpret_cast<uintptr_t>(address) % std::min<size_t>(tensor.element_bytes(), 8) != 0) {
      return Status::error(Code::invalid_data, "planned tensor is not aligned to its element",
                           {"", "allocation_info", "", std::to_string(stored.allocation->offset)});
    }
    tensor.set_data(address);
    PTERON_TRY(method_.memory.bind(memory_id, address));
    ByteSpan initial;
    if (stored.external) {
      PTERON_ASSIGN(initial, external(stored));
    } else if (stored.data_buffer_idx > 0) {
      initial = method_.program.initial_state(stored.data_buffer_idx, stored.nbytes);
    }
    if (!initial.empty()) method_.initial_states.push_back({address, initial});
    return {};
  }

  // A tensor outside the arenas: a constant in place, or memory that the caller will bring.
  Status attach(const format::Tensor& stored, Tensor& tensor) {
    if (!stored.external && stored.data_buffer_idx == 0) return {};
    ByteSpan bytes;
    if (stored.external) {
      PTERON_ASSIGN(bytes, external(stored));
    } else {
      bytes = method_.program.constant(stored.data_buffer_idx, stored.nbytes);
    }
    if (bytes.empty()) return {};
    if (reinterpret_cast<uintptr_t>(bytes.data()) % std::min<size_t>(tensor.element_bytes(), 8) != 0) {
      PTERON_ASSIGN(MutableByteSpan copy, method_.memory.allocate(bytes.size(), Purpose::arena));
      std::memcpy(copy.data(), bytes.data(), bytes.size());
      bytes = copy;
    }
    tensor.set_data(const_cast<std::byte*>(bytes.data()), false);
    return {};
  }

  Result<ByteSpan> external(const format::Tensor& stored) {
    const format::FlatTensor* entry = find_external(method_, stored.name);
    if (entry != nullptr) {
      const format::TensorLayout expected{stored.dtype, stored.sizes, stored.dim_order};
      if (!entry->layout || *entry->layout != expected) {
        return Status::error(Code::invalid_data, "external tensor differs from what the program expects",
                             {"", stored.name, layout_text(expected), entry->layout ? layout_text(*entry->layout) : "a blob"});
      }
      return entry->bytes;
    }
    return Status::error(Code::not_found, "external tensor is in none of the data files", {"", stored.name, "", ""});
  }

  const format::Plan& plan_;
  MethodState& method_;
};

// What a backend sees while it makes a delegate.
class DelegateInit final : public InitContext {
 public:
  DelegateInit(const std::string& backend, const LoadOptions& options, const MethodState& method) : method_(method), profile_(options.profile) {
    for (const BackendOption& option : options.backend_options) {
      if (option.backend == backend) options_.push_back(&option);
    }
  }
  std::string_view method_name() const override { return method_.info.name; }
  Allocator& allocator() const override { return method_.memory.allocator(); }
  ThreadPool& threads() const override { return *method_.threads; }
  std::span<const BackendOption* const> options() const override { return options_; }
  Profile* profile() const override { return profile_; }
  Result<ByteSpan> named_data(std::string_view key) const override {
    if (const format::FlatTensor* entry = find_external(method_, key)) return entry->bytes;
    return method_.program.named_data(key);
  }

 private:
  const MethodState& method_;
  Profile* profile_;
  std::vector<const BackendOption*> options_;
};

Result<const RunBackend*> find_backend(const std::string& id, std::span<const RunBackend* const> backends) {
  std::string known;
  for (const RunBackend* backend : backends) {
    if (backend->id() == id) return backend;
    known += (known.empty() ? "" : ", ") + std::string(backend->id());
  }
  return Status::error(Code::not_found, "no backend of this name is in this build",
                       {"", "delegate", known.empty() ? "no delegates" : known, id});
}

}  // namespace

Status load_values(const format::Plan& plan, const LoadOptions& options, MethodState& method) {
  PTERON_TRY(method.memory.make_arenas(plan.non_const_buffer_sizes, options.shared_arenas));
  PTERON_TRY(ValueLoader(plan, method).load());
  for (const InitialState& state : method.initial_states) std::memcpy(state.to, state.bytes.data(), state.bytes.size());
  method.inputs = plan.inputs;
  method.outputs = plan.outputs;
  method.input_set.assign(plan.inputs.size(), 0);
  return {};
}

Status init_delegates(const format::Plan& plan, const LoadOptions& options, MethodState& method) {
  for (const format::Delegate& stored : plan.delegates) {
    PTERON_ASSIGN(const RunBackend* backend, find_backend(stored.id, options.backends));
    if (Status status = backend->available(); !status.ok()) return std::move(status).in_field(stored.id);
    DelegateInit context(stored.id, options, method);
    auto delegate = backend->init(method.program.delegate_data(stored), stored.compile_specs, context);
    if (!delegate.ok()) return std::move(delegate).status().in_field(stored.id);
    method.delegates.push_back(std::move(delegate).value());
  }
  return {};
}

Result<Method> load_method(const format::VerifiedProgram& program, std::string_view name, const LoadOptions& options) {
  const format::Plan* plan = program.find_plan(name);
  if (plan == nullptr) {
    std::string known;
    for (const format::Plan& other : program.program().plans) known += (known.empty() ? "" : ", ") + other.name;
    return Status::error(Code::not_found, "program has no such method", {program.path(), "method", known, std::string(name)});
  }
  auto method = std::make_unique<Method::Impl>(program);
  method->info = describe_plan(*plan);
  method->memory.use(options.allocator != nullptr ? *options.allocator : host_allocator());
  method->threads = options.threads != nullptr ? options.threads : &method->own_threads.emplace(options.own_threads);
  method->external.assign(options.external.begin(), options.external.end());
  Status status = check_external(options.external);
  if (status.ok()) status = load_values(*plan, options, *method);
  if (status.ok()) status = init_delegates(*plan, options, *method);
  if (status.ok()) status = resolve_instructions(*plan, options, *method);
  if (!status.ok()) return std::move(status).in_field(plan->name).in_file(program.path());
  return Method(std::move(method));
}

SharedArenas::SharedArenas(SharedArenas&& other) noexcept
    : allocator_(other.allocator_), blocks_(std::exchange(other.blocks_, {})), arenas_(std::exchange(other.arenas_, {})) {}

SharedArenas::~SharedArenas() {
  for (const Block& block : blocks_) allocator_->release(block);
}

Result<SharedArenas> SharedArenas::create(const format::VerifiedProgram& program, Allocator& allocator) {
  std::vector<int64_t> sizes;
  for (const format::Plan& plan : program.program().plans) {
    sizes.resize(std::max(sizes.size(), plan.non_const_buffer_sizes.size()), 0);
    for (size_t i = 0; i < plan.non_const_buffer_sizes.size(); ++i) sizes[i] = std::max(sizes[i], plan.non_const_buffer_sizes[i]);
  }
  SharedArenas shared(allocator);
  for (size_t i = 1; i < sizes.size(); ++i) {
    shared.arenas_.emplace_back();
    if (sizes[i] == 0) continue;
    const auto bytes = static_cast<size_t>(sizes[i]);
    PTERON_ASSIGN(Block block, allocator.allocate(bytes, 64, Purpose::arena));
    shared.blocks_.push_back(block);
    std::memset(block.data, 0, bytes);
    shared.arenas_.back() = {static_cast<std::byte*>(block.data), bytes};
  }
  return shared;
}

}  // namespace pteron::runtime
