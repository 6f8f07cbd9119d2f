// Any bytes as a payload, and what is accepted is run: over weights, inputs and caches of zeros, as long as they are small. Whatever a plan says, a run
// stays within the memory that the plan was checked for.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backends/cpu/payload/plan.h"
#include "backends/cpu/run/delegate.h"
#include "core/dtype.h"

namespace pteron::cpu_backend {
namespace {

constexpr uint64_t kMostBytes = 1 << 18;
constexpr uint64_t kMostWork = 1 << 22;  // products of all projections and attentions together

bool is_small(const Plan& plan) {
  uint64_t bytes = plan.arena_bytes, work = 0;
  for (const TensorRef& t : plan.tensors) bytes += std::min(t.bytes(), kMostBytes);
  for (const Argument& a : plan.arguments) bytes += std::min(a.elements(), kMostBytes) * element_size(a.dtype);
  if (plan.rows > 64 || plan.steps.size() > 64) return false;
  for (const Step& step : plan.steps) {
    if (const auto* project = std::get_if<ProjectStep>(&step)) {
      for (const Projection& p : project->projections) {
        const TensorRef& t = plan.tensors[static_cast<size_t>(p.weight)];
        work += uint64_t{plan.rows} * t.rows * t.cols;
      }
    }
    if (const auto* attend = std::get_if<AttendStep>(&step)) work += uint64_t{plan.rows} * attend->heads * attend->slots * (uint64_t{attend->key_dim} + attend->value_dim);
  }
  return bytes <= kMostBytes && work <= kMostWork;
}

class Zeros : public runtime::InitContext {
 public:
  explicit Zeros(const Plan& plan) : plan_(plan) {}
  std::string_view method_name() const override { return "forward"; }
  Allocator& allocator() const override { return host_allocator(); }
  ThreadPool& threads() const override { return threads_; }
  std::span<const runtime::BackendOption* const> options() const override { return {}; }
  // Memory of just the right size, so that a sanitizer sees a step beyond it.
  Result<ByteSpan> named_data(std::string_view key) const override {
    for (const TensorRef& t : plan_.tensors) {
      if (t.key != key) continue;
      PTERON_ASSIGN(const Block block, host_allocator().allocate(t.bytes(), 64, Purpose::arena));
      std::fill_n(static_cast<std::byte*>(block.data), t.bytes(), std::byte{});
      blocks_.push_back(block);
      return ByteSpan(static_cast<const std::byte*>(block.data), t.bytes());
    }
    return Status::error(Code::not_found, "no such data");
  }
  ~Zeros() override {
    for (const Block& block : blocks_) host_allocator().release(block);
  }

 private:
  const Plan& plan_;
  mutable ThreadPool threads_{1};
  mutable std::vector<Block> blocks_;
};

void run(ByteSpan payload) {
  const auto plan = read_plan(payload);
  if (!plan.ok() || !is_small(*plan)) return;
  Zeros context(*plan);
  auto delegate = run_backend().init(payload, {}, context);
  if (!delegate.ok()) return;
  std::vector<std::vector<std::byte>> memory;
  std::vector<std::unique_ptr<runtime::Tensor>> tensors;
  std::vector<runtime::Value> values;
  for (const Argument& a : plan->arguments) {
    std::vector<uint8_t> order(a.sizes.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<uint8_t>(i);
    memory.emplace_back(a.elements() * element_size(a.dtype));
    tensors.push_back(std::make_unique<runtime::Tensor>(a.dtype, a.sizes, order, false));
    tensors.back()->set_data(memory.back().data());
    values.emplace_back(tensors.back().get());
    // A mask that shows something: booleans one by one; zeros of floats do so anyhow.
    if (a.dtype == ScalarType::Bool) std::fill(memory.back().begin(), memory.back().end(), std::byte{1});
  }
  std::vector<runtime::Value*> args;
  for (runtime::Value& value : values) args.push_back(&value);
  for (int i = 0; i < 2; ++i) (void)(*delegate)->execute(args);
}

}  // namespace
}  // namespace pteron::cpu_backend

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  pteron::cpu_backend::run(pteron::ByteSpan(reinterpret_cast<const std::byte*>(data), size));
  return 0;
}
