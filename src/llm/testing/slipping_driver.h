// Drivers that do one thing wrong each, for tests of the conformance suite.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "llm/hf_static.h"
#include "llm/testing/conformance_check.h"

namespace pteron::llm::testing {

// What a driver can do wrong.
enum class Slip : uint8_t {
  reset_keeps_caches, rewinds_anywhere, never_rewinds, fork_copies_nothing, fork_misses_the_last, load_does_nothing, position_ahead, stale_padding, padded_positions_zero,
  counter_unset, last_row_physical, mask_window_off, mask_padding_empty, mask_minus_infinity, state_unbound, moves_buffers, loads_everything, ignores_failure,
  ignores_chunks, trusts_any_object, evicts_anything, keeps_blocks, overlaps_caches, accepts_unknown_version
};

// Between the driver and the program: spoils what the driver wrote.
class SpoiledMethod final : public StepMethod {
 public:
  SpoiledMethod(std::unique_ptr<StepMethod> inner, const MethodSpec& spec, Slip slip) : inner_(std::move(inner)), spec_(spec), slip_(slip), inputs_(spec.inputs.size()) {}
  Status set_input(size_t index, const TensorView& value) override {
    inputs_[index] = value;
    sizes_.emplace_back(value.sizes.begin(), value.sizes.end());
    inputs_[index].sizes = sizes_.back();
    if (slip_ == Slip::overlaps_caches && spec_.inputs[index].role == InputRole::value_cache) {
      TensorView shifted = value;
      shifted.data = static_cast<const std::byte*>(inputs_[index - 1].data) + 16;
      return inner_->set_input(index, shifted);
    }
    return inner_->set_input(index, value);
  }
  Status bind_output(size_t index, const MutableTensorView& buffer) override {
    if (slip_ == Slip::state_unbound && spec_.outputs[index].role != OutputRole::logits) {
      own_.emplace_back(buffer.nbytes);
      MutableTensorView elsewhere = buffer;
      elsewhere.data = own_.back().data();
      return inner_->bind_output(index, elsewhere);
    }
    return inner_->bind_output(index, buffer);
  }
  Result<TensorView> output(size_t index) const override { return inner_->output(index); }
  Status execute() override {
    for (const InputSpec& input : spec_.inputs) spoil(input);
    const Status status = inner_->execute();
    if (slip_ == Slip::ignores_failure) return {};
    return status;
  }

 private:
  void spoil(const InputSpec& input) {
    auto* const integers = static_cast<int64_t*>(const_cast<void*>(inputs_[input.index].data));
    const size_t rows = static_cast<size_t>(spec_.rows);
    if (slip_ == Slip::stale_padding && input.role == InputRole::token_ids && rows > 1) {
      // What an earlier, fuller call left there.
      for (size_t r = 0; r < rows; ++r) {
        if (integers[r] == 0 && r < stale_.size()) integers[r] = stale_[r];
      }
      stale_.assign(integers, integers + rows);
    }
    if (slip_ == Slip::padded_positions_zero && input.role == InputRole::position_ids && rows > 1) integers[rows - 1] = 0;
    if (slip_ == Slip::counter_unset && input.role == InputRole::counter) integers[0] = counter_, counter_ += spec_.rows;
    if (slip_ == Slip::last_row_physical && input.role == InputRole::last_row) integers[0] = spec_.rows - 1;
    if (input.role == InputRole::mask) spoil_mask(input, rows);
    if (slip_ == Slip::moves_buffers && input.role == InputRole::token_ids) {
      own_.emplace_back(inputs_[input.index].nbytes);
      std::memcpy(own_.back().data(), inputs_[input.index].data, own_.back().size());
      TensorView moved = inputs_[input.index];
      moved.data = own_.back().data();
      (void)inner_->set_input(input.index, moved);
    }
  }
  void spoil_mask(const InputSpec& input, size_t rows) {
    auto* const mask = static_cast<float*>(const_cast<void*>(inputs_[input.index].data));
    const size_t slots = static_cast<size_t>(input.shape[3]);
    float* const last = mask + (rows - 1) * slots;
    if (slip_ == Slip::mask_padding_empty && rows > 1) std::fill(last, last + slots, std::numeric_limits<float>::lowest());
    if (slip_ == Slip::mask_minus_infinity) {
      for (size_t i = 0; i < rows * slots; ++i) mask[i] = mask[i] == 0 ? 0 : -std::numeric_limits<float>::infinity();
    }
    if (slip_ == Slip::mask_window_off && input.mask == "sliding") {
      // The oldest visible key of the first row goes.
      for (size_t s = 0; s < slots; ++s) {
        if (mask[s] == 0 && mask[(s + slots - 1) % slots] != 0 && mask[(s + 1) % slots] == 0) mask[s] = std::numeric_limits<float>::lowest();
      }
    }
  }

  std::unique_ptr<StepMethod> inner_;
  const MethodSpec& spec_;
  const Slip slip_;
  std::vector<TensorView> inputs_;
  std::deque<std::vector<int32_t>> sizes_;
  std::deque<std::vector<std::byte>> own_;
  std::vector<int64_t> stale_;
  int64_t counter_ = 7;
};

class SpoiledSource final : public MethodSource {
 public:
  SpoiledSource(const MethodSource& inner, const Contract& contract, Slip slip) : inner_(inner), contract_(contract), slip_(slip) {}
  std::span<const MethodInfo> infos() const override { return inner_.infos(); }
  Digest identity() const override { return inner_.identity(); }
  Result<std::unique_ptr<StepMethod>> load(std::string_view name, const MethodResources& resources) const override {
    auto method = inner_.load(name, resources);
    if (!method.ok()) return method;
    for (const MethodSpec& spec : contract_.methods) {
      if (spec.name == name) return std::unique_ptr<StepMethod>(std::make_unique<SpoiledMethod>(std::move(*method), spec, slip_));
    }
    return method;
  }

 private:
  const MethodSource& inner_;
  const Contract& contract_;
  const Slip slip_;
};

// Keeps some blocks for itself; they stay reachable, so that a leak checker of the test's own is content.
class LeakyAllocator final : public Allocator {
 public:
  explicit LeakyAllocator(Allocator& inner) : inner_(inner) {}
  Result<Block> allocate(size_t bytes, size_t alignment, Purpose purpose) override { return inner_.allocate(bytes, alignment, purpose); }
  void release(const Block& block) override {
    static std::vector<Block>* const kept = new std::vector<Block>;
    if (block.purpose == Purpose::output) {
      kept->push_back(block);
    } else {
      inner_.release(block);
    }
  }

 private:
  Allocator& inner_;
};

class SlippingManager final : public IoManager {
 public:
  SlippingManager(Slip slip, std::unique_ptr<SpoiledSource> source, std::unique_ptr<Allocator> allocator, std::unique_ptr<IoManager> inner)
      : slip_(slip), source_(std::move(source)), allocator_(std::move(allocator)), inner_(std::move(inner)) {}
  const Limits& limits() const override {
    static constexpr Limits kNoChunks{32, 13, 0, 0};
    return slip_ == Slip::ignores_chunks ? kNoChunks : inner_->limits();
  }
  Status run(Step step, std::span<const TokenId> tokens, size_t position) override {
    const bool ahead = slip_ == Slip::position_ahead && step == Step::decode && position % 3 == 2 && position + 1 < 32;
    return inner_->run(step, tokens, position + (ahead ? 1 : 0));
  }
  Result<LogitsView> logits(size_t row) override { return inner_->logits(row); }
  void reset() override {
    if (slip_ != Slip::reset_keeps_caches) inner_->reset();
  }
  Status can_rewind(size_t position) const override {
    if (slip_ == Slip::never_rewinds) return Status::error(Code::unsupported, "no");
    return slip_ == Slip::rewinds_anywhere ? Status() : inner_->can_rewind(position);
  }
  Status copy_from(const IoManager& other, size_t position) override {
    if (slip_ == Slip::fork_copies_nothing) return {};
    return inner_->copy_from(*static_cast<const SlippingManager&>(other).inner_, position - (slip_ == Slip::fork_misses_the_last ? 1 : 0));
  }
  Status save(size_t position, const StateSink& sink) const override { return inner_->save(position, sink); }
  Status load(size_t position, ByteSpan state) override { return slip_ == Slip::load_does_nothing ? Status() : inner_->load(position, state); }
  Status evict(size_t position, size_t from, size_t to) override { return slip_ == Slip::evicts_anything ? Status() : inner_->evict(position, from, to); }
  std::span<const CacheView> caches() override { return inner_->caches(); }

 private:
  const Slip slip_;
  std::unique_ptr<SpoiledSource> source_;
  std::unique_ptr<Allocator> allocator_;
  std::unique_ptr<IoManager> inner_;
};

class SlippingContract final : public IoContract {
 public:
  SlippingContract(Slip slip, std::unique_ptr<IoContract> inner) : slip_(slip), inner_(std::move(inner)) {}
  const Limits& limits() const override { return inner_->limits(); }
  size_t bytes_per_session() const override { return inner_->bytes_per_session(); }
  size_t cache_bytes() const override { return inner_->cache_bytes(); }
  const Contract* hf_static() const override { return inner_->hf_static(); }
  Result<std::unique_ptr<IoManager>> new_manager(const MethodSource& source, const ManagerOptions& options) const override {
    ManagerOptions changed = options;
    if (slip_ == Slip::loads_everything) changed.use_prefill = true;
    std::unique_ptr<Allocator> leaky;
    if (slip_ == Slip::keeps_blocks && options.allocator != nullptr) {
      leaky = std::make_unique<LeakyAllocator>(*options.allocator);
      changed.allocator = leaky.get();
    }
    auto spoiled = std::make_unique<SpoiledSource>(source, *hf_static(), slip_);
    auto manager = inner_->new_manager(*spoiled, changed);
    if (!manager.ok()) return manager;
    return std::unique_ptr<IoManager>(std::make_unique<SlippingManager>(slip_, std::move(spoiled), std::move(leaky), std::move(*manager)));
  }

 private:
  const Slip slip_;
  std::unique_ptr<IoContract> inner_;
};

template <Slip slip>
Result<std::unique_ptr<IoContract>> open_slipping(std::string_view json, const MethodSource& source) {
  // A reader that checks nothing takes any object for the right one.
  const bool careless = slip == Slip::trusts_any_object;
  auto opened = open_hf_static(json, source);
  if (!opened.ok() && careless) opened = open_hf_static(TinyProgram(ringed()).contract_json(), source);
  if (!opened.ok()) return opened;
  return std::unique_ptr<IoContract>(std::make_unique<SlippingContract>(slip, std::move(*opened)));
}

template <Slip slip>
void expect_found(const std::string& found_by, TinyConfig config = ringed()) {
  IoManagerRegistry registry;
  ASSERT_TRUE(registry.add("hf_static", 1, open_slipping<slip>).ok());
  if (slip == Slip::accepts_unknown_version) {
    ASSERT_TRUE(registry.add("hf_static", 99, open_slipping<Slip::trusts_any_object>).ok());
  }
  ConformanceOptions options;
  options.registry = &registry;
  const auto failed = failures(TinyProgram(config), options);
  EXPECT_TRUE(has(failed, found_by)) << "slip " << static_cast<int>(slip) << " should be found by " << found_by << joined(failed);
}

}  // namespace pteron::llm::testing
