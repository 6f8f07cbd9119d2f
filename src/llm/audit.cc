#include "llm/audit.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "llm/geometry.h"

namespace pteron::llm {
namespace {

constexpr size_t kMostViolations = 50;

int64_t integer_at(const void* data, ScalarType dtype, size_t i) {
  return dtype == ScalarType::Long ? static_cast<const int64_t*>(data)[i] : static_cast<const int32_t*>(data)[i];
}

bool is_cache(InputRole role) { return role == InputRole::key_cache || role == InputRole::value_cache; }

// One element of a mask: shown, hidden, or neither of what the contract allows.
std::optional<bool> shows(const void* mask, ScalarType dtype, size_t i) {
  uint32_t bits = 0;
  std::memcpy(&bits, static_cast<const std::byte*>(mask) + i * element_size(dtype), element_size(dtype));
  if (dtype == ScalarType::Bool) return bits <= 1 ? std::optional<bool>(bits == 1) : std::nullopt;
  if (bits == 0) return true;
  return bits == most_negative_bits(dtype) ? std::optional<bool>(false) : std::nullopt;
}

}  // namespace

class AuditedMethod final : public StepMethod {
 public:
  AuditedMethod(const AuditedSource& audit, std::unique_ptr<StepMethod> inner, const MethodSpec& spec, const MethodInfo& info)
      : audit_(audit), inner_(std::move(inner)), spec_(spec), info_(info) {
    buffers_.role = spec.role;
    buffers_.spec = &spec;
    buffers_.inputs.resize(info.inputs.size());
    buffers_.outputs.resize(info.outputs.size());
  }

  Status set_input(size_t index, const TensorView& value) override {
    void*& known = buffers_.inputs[index];
    if (known != nullptr && known != value.data) audit_.note("binding", spec_.name + " input " + std::to_string(index) + " moved");
    known = const_cast<void*>(value.data);
    return inner_->set_input(index, value);
  }
  Status bind_output(size_t index, const MutableTensorView& buffer) override {
    buffers_.outputs[index] = buffer.data;
    return inner_->bind_output(index, buffer);
  }
  Result<TensorView> output(size_t index) const override { return inner_->output(index); }

  Status execute() override {
    check_bindings();
    check_values();
    if (audit_.before) PTERON_TRY(audit_.before(buffers_));
    PTERON_TRY(inner_->execute());
    if (audit_.after) audit_.after(buffers_);
    return {};
  }

 private:
  const void* data(const InputSpec& input) const { return buffers_.inputs[input.index]; }

  // Every input is there; caches are where all methods of the session have them, and apart; states are bound to what they alias.
  void check_bindings() {
    struct Range {
      const std::byte *begin, *end;
    };
    std::vector<Range> ranges;
    for (const InputSpec& input : spec_.inputs) {
      const auto* begin = static_cast<const std::byte*>(data(input));
      if (begin == nullptr) {
        audit_.note("binding", spec_.name + " input " + std::to_string(input.index) + " was never given");
        continue;
      }
      const Range range{begin, begin + info_.inputs[input.index].nbytes};
      for (const Range& other : ranges) {
        if (range.begin < other.end && other.begin < range.end) audit_.note("binding", spec_.name + " has inputs that overlap");
      }
      ranges.push_back(range);
      if (!is_cache(input.role)) continue;
      const size_t cache = 2 * input.layer + (input.role == InputRole::value_cache ? 1 : 0);
      if (audit_.caches_.size() <= cache) audit_.caches_.resize(cache + 1);
      const void*& first = audit_.caches_[cache];
      if (first == nullptr) first = begin;
      if (first != begin) audit_.note("binding", spec_.name + " has cache " + std::to_string(cache) + " at another address");
    }
    for (const OutputSpec& output : spec_.outputs) {
      if (info_.outputs[output.index].planned) continue;
      const void* bound = buffers_.outputs[output.index];
      if (bound == nullptr) audit_.note("binding", spec_.name + " output " + std::to_string(output.index) + " was never bound");
      if (output.role != OutputRole::logits && bound != buffers_.inputs[output.aliases]) {
        audit_.note("binding", spec_.name + " output " + std::to_string(output.index) + " is not bound to the input that it aliases");
      }
    }
  }

  void check_values() {
    AuditedCall call;
    call.role = spec_.role;
    const size_t rows = static_cast<size_t>(spec_.rows);
    for (const InputSpec& input : spec_.inputs) {
      if (data(input) == nullptr) return;  // noted above
      if (input.role == InputRole::token_ids) {
        for (size_t r = 0; r < rows; ++r) call.ids.push_back(integer_at(data(input), input.dtype, r));
      }
      if (input.role == InputRole::position_ids) call.position = integer_at(data(input), input.dtype, 0);
      if (input.role == InputRole::last_row) call.last_row = integer_at(data(input), input.dtype, 0);
    }
    check_rows(call, rows);
    if (call.position < 0 || call.position + spec_.rows > audit_.contract_.context_length) {
      audit_.note("capacity", spec_.name + " ran at " + std::to_string(call.position) + " beyond the context");
    } else {
      for (const InputSpec& input : spec_.inputs) check_input(input, call.position, rows);
    }
    audit_.calls_.push_back(std::move(call));
  }

  void check_rows(const AuditedCall& call, size_t rows) {
    for (size_t r = 0; r < rows; ++r) {
      if (call.ids[r] < 0 || call.ids[r] >= audit_.contract_.vocab_size) audit_.note("token_ids", "id " + std::to_string(call.ids[r]) + " is outside the vocabulary");
      if (call.last_row && static_cast<int64_t>(r) > *call.last_row && call.ids[r] != audit_.contract_.pad_token) {
        audit_.note("padding", spec_.name + " row " + std::to_string(r) + " holds " + std::to_string(call.ids[r]));
      }
    }
    if (call.last_row && (*call.last_row < 0 || *call.last_row >= spec_.rows)) audit_.note("last_row", std::to_string(*call.last_row) + " is no row");
  }

  void check_input(const InputSpec& input, int64_t position, size_t rows) {
    if (input.role == InputRole::position_ids) {
      for (size_t r = 0; r < rows; ++r) {
        const int64_t found = integer_at(data(input), input.dtype, r);
        if (found != position + static_cast<int64_t>(r)) audit_.note("positions", spec_.name + " row " + std::to_string(r) + " at " + std::to_string(position) + " holds " + std::to_string(found));
      }
    } else if (input.role == InputRole::counter && integer_at(data(input), input.dtype, 0) != position) {
      audit_.note("counter", "holds " + std::to_string(integer_at(data(input), input.dtype, 0)) + " at position " + std::to_string(position));
    } else if (input.role == InputRole::mask) {
      check_mask(input, static_cast<size_t>(position), rows);
    }
  }

  // Chapter 7 as it is written, slot by slot.
  void check_mask(const InputSpec& input, size_t position, size_t rows) {
    const auto mask = std::find_if(audit_.contract_.masks.begin(), audit_.contract_.masks.end(), [&](const MaskSpec& m) { return m.name == input.mask; });
    const auto layer = std::find_if(audit_.contract_.layers.begin(), audit_.contract_.layers.end(), [&](const LayerSpec& l) { return l.kind == mask->kind; });
    const Geometry geometry = Geometry::of(*layer);
    for (size_t s = 0; s < geometry.slots; ++s) {
      const auto held = geometry.position_in(s, position + rows);
      for (size_t r = 0; r < rows; ++r) {
        const auto found = shows(data(input), input.dtype, r * geometry.slots + s);
        const bool expected = held && geometry.sees(position + r, *held);
        if (found == expected) continue;
        audit_.note("masks", spec_.name + " mask " + input.mask + " at position " + std::to_string(position) + " row " + std::to_string(r) + " slot " + std::to_string(s) +
                                 (found ? *found ? " is shown" : " is hidden" : " is neither shown nor hidden"));
        return;
      }
    }
  }

  const AuditedSource& audit_;
  std::unique_ptr<StepMethod> inner_;
  const MethodSpec& spec_;
  const MethodInfo& info_;
  AuditedBuffers buffers_;
};

void* AuditedBuffers::input(InputRole wanted) const {
  const auto at = std::find_if(spec->inputs.begin(), spec->inputs.end(), [&](const InputSpec& i) { return i.role == wanted; });
  return at == spec->inputs.end() ? nullptr : inputs[at->index];
}

void AuditedBuffers::set_id(size_t row, int64_t id) const {
  const auto at = std::find_if(spec->inputs.begin(), spec->inputs.end(), [](const InputSpec& i) { return i.role == InputRole::token_ids; });
  if (at->dtype == ScalarType::Long) {
    static_cast<int64_t*>(inputs[at->index])[row] = id;
  } else {
    static_cast<int32_t*>(inputs[at->index])[row] = static_cast<int32_t>(id);
  }
}

Result<std::unique_ptr<StepMethod>> AuditedSource::load(std::string_view name, const MethodResources& resources) const {
  loaded_.emplace_back(name);
  PTERON_ASSIGN(std::unique_ptr<StepMethod> inner, source_.load(name, resources));
  for (const MethodRole role : {MethodRole::prefill, MethodRole::decode, MethodRole::verify}) {
    const MethodSpec* spec = contract_.method(role);
    if (spec != nullptr && spec->name == name) return std::unique_ptr<StepMethod>(std::make_unique<AuditedMethod>(*this, std::move(inner), *spec, *find_method(infos(), name)));
  }
  return inner;
}

void AuditedSource::note(std::string_view subject, std::string what) const {
  if (violations_.size() < kMostViolations) violations_.push_back(std::string(subject) + ": " + what);
}

}  // namespace pteron::llm
