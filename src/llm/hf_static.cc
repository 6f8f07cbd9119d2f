#include "llm/hf_static.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "base/thread_pool.h"
#include "core/dtype.h"
#include "llm/buffers.h"
#include "llm/cache_state.h"
#include "llm/geometry.h"

namespace pteron::llm {
namespace {

std::vector<int32_t> narrow(const std::vector<int64_t>& shape) { return {shape.begin(), shape.end()}; }

size_t bytes_of(const std::vector<int64_t>& shape, ScalarType dtype) {
  size_t elements = 1;
  for (const int64_t size : shape) elements *= static_cast<size_t>(size);
  return elements * element_size(dtype);
}

// Whole numbers for the program, in the element type that it asks for.
struct IntegerBuffer {
  void* data = nullptr;
  ScalarType dtype = ScalarType::Long;

  void set(size_t index, int64_t value) {
    if (dtype == ScalarType::Long) {
      static_cast<int64_t*>(data)[index] = value;
    } else {
      static_cast<int32_t*>(data)[index] = static_cast<int32_t>(value);
    }
  }
};

// One loaded method and its own small buffers; caches are shared with the other methods of the session.
class LoadedMethod {
 public:
  // The spec must outlive the object; `caches` holds key and value of each layer in turn.
  static Result<LoadedMethod> load(const Contract& contract, const MethodSpec& spec, const MethodSource& source, const MethodResources& resources,
                                   std::span<const CacheView> caches, Buffers& buffers) {
    LoadedMethod loaded;
    loaded.spec_ = &spec;
    PTERON_ASSIGN(loaded.method_, source.load(spec.name, resources));
    for (const InputSpec& input : spec.inputs) PTERON_TRY(loaded.bind_input(contract, input, caches, buffers));
    const MethodInfo& info = *find_method(source.infos(), spec.name);
    for (const OutputSpec& output : spec.outputs) PTERON_TRY(loaded.bind_output(output, info.outputs[output.index].planned, caches, buffers));
    return loaded;
  }

  size_t rows() const { return static_cast<size_t>(spec_->rows); }

  Status run(std::span<const TokenId> tokens, size_t position, TokenId pad) {
    for (size_t row = 0; row < rows(); ++row) {
      ids_.set(row, row < tokens.size() ? tokens[row] : pad);
      positions_.set(row, static_cast<int64_t>(position + row));
    }
    if (counter_.data != nullptr) counter_.set(0, static_cast<int64_t>(position));
    if (last_row_.data != nullptr) last_row_.set(0, static_cast<int64_t>(tokens.size()) - 1);
    for (const Mask& mask : masks_) fill_mask(mask.geometry, position, rows(), mask.dtype, mask.data);
    PTERON_TRY(method_->execute());
    for (const PlannedState& state : planned_) {
      PTERON_ASSIGN(const TensorView output, method_->output(state.index));
      if (output.data == nullptr || output.nbytes != state.bytes) {
        return Status::error(Code::internal, "a state output has no value of its size", {"", spec_->name, std::to_string(state.bytes), std::to_string(output.nbytes)});
      }
      std::memcpy(state.cache, output.data, state.bytes);
    }
    valid_rows_ = tokens.size();
    return {};
  }

  Result<LogitsView> logits(size_t row, size_t vocab_size, std::vector<float>& scratch) const {
    const bool selected = spec_->logits_rows == LogitsRows::selected;
    if (row >= valid_rows_ || (selected && row + 1 != valid_rows_)) {
      return Status::error(Code::invalid_argument, "the call did not give logits of that row",
                           {"", spec_->name, selected ? "the last row" : "a row below " + std::to_string(valid_rows_), std::to_string(row)});
    }
    const size_t first = selected ? 0 : row * vocab_size;
    if (logits_dtype_ == ScalarType::Float) return LogitsView(static_cast<const float*>(logits_) + first, vocab_size);
    const uint16_t* from = static_cast<const uint16_t*>(logits_) + first;
    const bool half = logits_dtype_ == ScalarType::Half;
    for (size_t i = 0; i < vocab_size; ++i) scratch[i] = half ? half_to_float(from[i]) : bfloat16_to_float(from[i]);
    return LogitsView(scratch);
  }

  bool converts_logits() const { return logits_dtype_ != ScalarType::Float; }

 private:
  struct Mask {
    Geometry geometry;
    ScalarType dtype;
    void* data;
  };
  struct PlannedState {
    size_t index;
    void* cache;
    size_t bytes;
  };

  Status bind_input(const Contract& contract, const InputSpec& input, std::span<const CacheView> caches, Buffers& buffers) {
    const std::vector<int32_t> sizes = narrow(input.shape);
    TensorView view{input.dtype, sizes, {}, nullptr, bytes_of(input.shape, input.dtype)};
    if (input.role == InputRole::key_cache || input.role == InputRole::value_cache) {
      view.data = cache_of(input, caches).tensor.data;
    } else {
      PTERON_ASSIGN(void* data, buffers.allocate(view.nbytes, Purpose::input));
      view.data = data;
      keep(contract, input, data);
    }
    return method_->set_input(input.index, view);
  }

  static const CacheView& cache_of(const InputSpec& input, std::span<const CacheView> caches) {
    return caches[2 * input.layer + (input.role == InputRole::value_cache ? 1 : 0)];
  }

  void keep(const Contract& contract, const InputSpec& input, void* data) {
    switch (input.role) {
      case InputRole::token_ids: ids_ = {data, input.dtype}; break;
      case InputRole::position_ids: positions_ = {data, input.dtype}; break;
      case InputRole::counter: counter_ = {data, input.dtype}; break;
      case InputRole::last_row: last_row_ = {data, input.dtype}; break;
      default: masks_.push_back({mask_geometry(contract, input.mask), input.dtype, data}); break;
    }
  }

  static Geometry mask_geometry(const Contract& contract, const std::string& name) {
    const auto mask = std::find_if(contract.masks.begin(), contract.masks.end(), [&](const MaskSpec& m) { return m.name == name; });
    const auto layer = std::find_if(contract.layers.begin(), contract.layers.end(), [&](const LayerSpec& l) { return l.kind == mask->kind; });
    return Geometry::of(*layer);
  }

  Status bind_output(const OutputSpec& output, bool planned, std::span<const CacheView> caches, Buffers& buffers) {
    const std::vector<int32_t> sizes = narrow(output.shape);
    MutableTensorView view{output.dtype, sizes, {}, nullptr, bytes_of(output.shape, output.dtype)};
    if (output.role == OutputRole::logits) {
      PTERON_ASSIGN(view.data, buffers.allocate(view.nbytes, Purpose::output));
      logits_ = view.data;
      logits_dtype_ = output.dtype;
      return method_->bind_output(output.index, view);
    }
    const auto aliased = std::find_if(spec_->inputs.begin(), spec_->inputs.end(), [&](const InputSpec& i) { return i.index == output.aliases; });
    view.data = cache_of(*aliased, caches).tensor.data;
    if (!planned) return method_->bind_output(output.index, view);
    planned_.push_back({output.index, view.data, view.nbytes});
    return {};
  }

  const MethodSpec* spec_ = nullptr;
  std::unique_ptr<StepMethod> method_;
  IntegerBuffer ids_, positions_, counter_, last_row_;
  std::vector<Mask> masks_;
  std::vector<PlannedState> planned_;
  const void* logits_ = nullptr;
  ScalarType logits_dtype_ = ScalarType::Float;
  size_t valid_rows_ = 0;
};

// What a method's own inputs and outputs take, caches apart.
size_t io_bytes(const MethodSpec& method) {
  size_t bytes = 0;
  for (const InputSpec& input : method.inputs) {
    if (input.role != InputRole::key_cache && input.role != InputRole::value_cache) bytes += bytes_of(input.shape, input.dtype);
  }
  for (const OutputSpec& output : method.outputs) {
    if (output.role == OutputRole::logits) bytes += bytes_of(output.shape, output.dtype);
  }
  return bytes;
}

size_t session_bytes(const Contract& contract) {
  size_t bytes = cache_bytes(contract);
  for (const MethodSpec& method : contract.methods) bytes += io_bytes(method);
  return contract.verify ? bytes + io_bytes(*contract.verify) : bytes;
}

// A session that the whole machine could not hold is refused before the first of its buffers, not when pages run out.
Status check_host_memory(const Contract& contract) {
  const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return {};
  const size_t memory = static_cast<size_t>(pages) * static_cast<size_t>(page), bytes = session_bytes(contract);
  if (bytes <= memory) return {};
  return Status::error(Code::out_of_memory, "a session does not fit into this machine's memory",
                       {"", "context_length", "caches and inputs of at most " + std::to_string(memory) + " bytes",
                        std::to_string(bytes) + " bytes for " + std::to_string(contract.context_length) + " tokens"});
}

class HfStaticManager final : public IoManager {
 public:
  static Result<std::unique_ptr<IoManager>> create(const Contract& contract, const MethodSource& source, const ManagerOptions& options) {
    Allocator* allocator = options.allocator != nullptr ? options.allocator : source.io_allocator();
    if (allocator == nullptr) allocator = &host_allocator();
    if (allocator == &host_allocator()) PTERON_TRY(check_host_memory(contract));
    std::unique_ptr<HfStaticManager> manager(new HfStaticManager(contract, *allocator));
    PTERON_TRY(manager->allocate_caches());
    if (options.threads != 1) manager->threads_ = std::make_unique<ThreadPool>(options.threads);
    PTERON_TRY(manager->load_methods(source, options));
    return std::unique_ptr<IoManager>(std::move(manager));
  }

  const Limits& limits() const override { return limits_; }

  Status run(Step step, std::span<const TokenId> tokens, size_t position) override {
    last_ = &method_of(step);
    written_ = std::max(written_, position + last_->rows());  // also by a call that fails: reset must clear what it wrote
    return last_->run(tokens, position, static_cast<TokenId>(contract_.pad_token));
  }

  Result<LogitsView> logits(size_t row) override {
    if (last_ == nullptr) return Status::error(Code::invalid_argument, "nothing has run yet");
    return last_->logits(row, limits_.vocab_size, float_logits_);
  }

  void reset() override {
    for (const CacheView& cache : caches_) clear_slots(cache, lent_out_ ? SIZE_MAX : written_);
    written_ = 0;
    lent_out_ = false;
    last_ = nullptr;
  }

  Status can_rewind(size_t position) const override {
    for (const LayerSpec& layer : contract_.layers) {
      const Geometry geometry = Geometry::of(layer);
      if (geometry.holds_for(position, written_)) continue;
      const size_t oldest = written_ - geometry.slots;
      return Status::error(Code::unsupported, "the sliding window's ring no longer holds the keys for that position",
                           {"", "position", "at least " + std::to_string(oldest + geometry.window - 1) + " or 0", std::to_string(position)});
    }
    return {};
  }

  Status copy_from(const IoManager& other, size_t position) override {
    const auto& from = static_cast<const HfStaticManager&>(other);
    reset();
    written_ = from.written_;
    for (size_t i = 0; i < caches_.size(); ++i) copy_slots(from.caches_[i], caches_[i], held_range(geometry_of(i), position, written_));
    return {};
  }

  Status save(size_t position, const StateSink& sink) const override {
    return save_caches(contract_, caches_, {position, written_}, sink);
  }

  Status load(size_t position, ByteSpan state) override {
    PTERON_ASSIGN(const SavedCaches saved, read_saved_caches(contract_, position, state));
    reset();
    written_ = saved.extent.written;
    load_caches(contract_, saved, caches_);
    return {};
  }

  Status evict(size_t position, size_t from, size_t to) override { return evict_slots(contract_, caches_, position, from, to); }

  std::span<const CacheView> caches() override {
    lent_out_ = true;
    return caches_;
  }

 private:
  HfStaticManager(const Contract& contract, Allocator& allocator) : contract_(contract), buffers_(allocator) {}

  Geometry geometry_of(size_t cache) const { return Geometry::of(contract_.layers[caches_[cache].layer]); }

  Status allocate_caches() {
    sizes_.reserve(2 * contract_.layers.size());
    for (size_t i = 0; i < contract_.layers.size(); ++i) {
      const LayerSpec& layer = contract_.layers[i];
      for (const bool key : {true, false}) {
        const std::vector<int64_t> shape = {1, layer.heads, layer.slots, key ? layer.key_dim : layer.value_dim};
        const size_t bytes = bytes_of(shape, contract_.cache_dtype);
        PTERON_ASSIGN(void* data, buffers_.allocate(bytes, Purpose::cache));
        sizes_.push_back(narrow(shape));
        caches_.push_back({key, i, layer.kind, {contract_.cache_dtype, sizes_.back(), {}, data, bytes}});
      }
    }
    return {};
  }

  // Only what is selected: decode always, prefill unless it is not wanted, a method for speculation on request.
  Status load_methods(const MethodSource& source, const ManagerOptions& options) {
    const MethodResources resources{options.allocator, threads_.get()};
    limits_ = {static_cast<size_t>(contract_.context_length), static_cast<size_t>(contract_.vocab_size), 0, 0};
    const auto load = [&](MethodRole role) -> Status {
      PTERON_ASSIGN(LoadedMethod method, LoadedMethod::load(contract_, *contract_.method(role), source, resources, caches_, buffers_));
      if (method.converts_logits()) float_logits_.resize(limits_.vocab_size);
      methods_[static_cast<size_t>(role)].emplace(std::move(method));
      return {};
    };
    PTERON_TRY(load(MethodRole::decode));
    const MethodSpec* prefill = options.use_prefill ? contract_.method(MethodRole::prefill) : nullptr;
    if (prefill != nullptr) {
      PTERON_TRY(load(MethodRole::prefill));
      limits_.prefill_rows = static_cast<size_t>(prefill->rows);
      limits_.prefill_all = prefill->logits_rows == LogitsRows::all;
      if (limits_.prefill_all) limits_.verify_rows = limits_.prefill_rows;
    }
    if (options.use_verify && contract_.verify) {
      PTERON_TRY(load(MethodRole::verify));
      limits_.verify_rows = static_cast<size_t>(contract_.verify->rows);
    }
    return {};
  }

  LoadedMethod& method_of(Step step) {
    if (step == Step::decode) return *methods_[static_cast<size_t>(MethodRole::decode)];
    auto& verify = methods_[static_cast<size_t>(MethodRole::verify)];
    return step == Step::verify && verify ? *verify : *methods_[static_cast<size_t>(MethodRole::prefill)];
  }

  const Contract& contract_;
  Limits limits_;
  std::unique_ptr<ThreadPool> threads_;
  Buffers buffers_;                           // outlives the methods
  std::vector<std::vector<int32_t>> sizes_;   // of the caches
  std::vector<CacheView> caches_;             // key and value of each layer in turn
  size_t written_ = 0;                        // e_max: one more than the highest position ever written, padding included
  bool lent_out_ = false;                     // somebody else may have written anywhere
  std::vector<float> float_logits_;           // where logits are 16-bit
  std::array<std::optional<LoadedMethod>, 3> methods_;  // by role
  LoadedMethod* last_ = nullptr;
};

class HfStaticContract final : public IoContract {
 public:
  explicit HfStaticContract(Contract contract) : contract_(std::move(contract)) {
    limits_ = {static_cast<size_t>(contract_.context_length), static_cast<size_t>(contract_.vocab_size), 0, 0};
    if (const MethodSpec* prefill = contract_.method(MethodRole::prefill); prefill != nullptr) {
      limits_.prefill_rows = static_cast<size_t>(prefill->rows);
      limits_.prefill_all = prefill->logits_rows == LogitsRows::all;
      if (limits_.prefill_all) limits_.verify_rows = limits_.prefill_rows;
    }
    if (contract_.verify) limits_.verify_rows = static_cast<size_t>(contract_.verify->rows);
  }

  const Limits& limits() const override { return limits_; }
  size_t cache_bytes() const override { return llm::cache_bytes(contract_); }
  size_t bytes_per_session() const override { return session_bytes(contract_); }
  const Contract* hf_static() const override { return &contract_; }
  Result<std::unique_ptr<IoManager>> new_manager(const MethodSource& source, const ManagerOptions& options) const override {
    return HfStaticManager::create(contract_, source, options);
  }

 private:
  Contract contract_;
  Limits limits_;
};

}  // namespace

Result<std::unique_ptr<IoContract>> open_hf_static(std::string_view json, const MethodSource& source) {
  PTERON_ASSIGN(Contract contract, parse_contract(json));
  PTERON_TRY(validate_contract(contract, source.infos()));
  return std::unique_ptr<IoContract>(std::make_unique<HfStaticContract>(std::move(contract)));
}

Status register_hf_static(IoManagerRegistry& registry) { return registry.add("hf_static", 1, open_hf_static); }

}  // namespace pteron::llm
