// Plans run by themselves: random weights, a delegate of so many threads, and memory for its arguments.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends/cpu/payload/plan.h"
#include "backends/cpu/run/delegate.h"
#include "core/dtype.h"
#include "kernels/cpu/kernel_cases.h"

namespace pteron::cpu_backend {

using kernels::cpu::Aligned;
using kernels::cpu::random_floats;
using kernels::cpu::random_weight;

// Random weights under the plan's keys.
struct Weights {
  std::map<std::string, Aligned<std::byte>> data;
  std::map<std::string, size_t> sizes;
  explicit Weights(const Plan& plan) {
    uint32_t seed = 1;
    for (const TensorRef& t : plan.tensors) {
      std::vector<std::byte> bytes;
      if (t.packed) {
        bytes = random_weight(t.encoding, t.rows, t.cols, ++seed);
      } else {
        const auto floats = random_floats(size_t{t.rows} * t.cols, ++seed, 0.5f);
        bytes.assign(reinterpret_cast<const std::byte*>(floats.data()), reinterpret_cast<const std::byte*>(floats.data() + floats.size()));
      }
      auto [it, fresh] = data.emplace(t.key, bytes.size());
      std::memcpy(it->second.data(), bytes.data(), bytes.size());
      sizes[t.key] = bytes.size();
    }
  }
};

class Context : public runtime::InitContext {
 public:
  Context(Weights& weights, size_t threads) : weights_(weights), pool_(threads) {}
  std::string_view method_name() const override { return "forward"; }
  Allocator& allocator() const override { return host_allocator(); }
  ThreadPool& threads() const override { return pool_; }
  Result<ByteSpan> named_data(std::string_view key) const override {
    const auto it = weights_.data.find(std::string(key));
    if (it == weights_.data.end()) return Status::error(Code::not_found, "no such data", {.field = std::string(key)});
    return ByteSpan(it->second.data() + shift, weights_.sizes.at(std::string(key)) - shorter);
  }
  std::span<const runtime::BackendOption* const> options() const override { return given; }
  std::vector<const runtime::BackendOption*> given;
  size_t shift = 0, shorter = 0;

 private:
  Weights& weights_;
  mutable ThreadPool pool_;
};

// One delegate with memory for its arguments, all zero at first.
class PlanRun {
 public:
  PlanRun(const Plan& plan, Weights& weights, size_t threads) : plan_(plan), payload_(write_plan(plan)), context_(weights, threads) {
    auto made = run_backend().init(payload_, {}, context_);
    EXPECT_TRUE(made.ok()) << made.status().message();
    if (made.ok()) delegate_ = std::move(made).value();
    for (const Argument& a : plan.arguments) {
      memory_.emplace_back(a.elements() * element_size(a.dtype));
      std::memset(memory_.back().data(), 0, a.elements() * element_size(a.dtype));
      std::vector<uint8_t> order(a.sizes.size());
      for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<uint8_t>(i);
      tensors_.push_back(std::make_unique<runtime::Tensor>(a.dtype, a.sizes, order, false));
      tensors_.back()->set_data(memory_.back().data());
      values_.emplace_back(tensors_.back().get());
    }
    for (runtime::Value& value : values_) pointers_.push_back(&value);
  }

  const Plan& plan() const { return plan_; }
  Context& context() { return context_; }
  runtime::Tensor& tensor(size_t argument) { return *tensors_[argument]; }
  std::vector<runtime::Value*>& arguments() { return pointers_; }
  template <class T>
  T* data(size_t argument) { return reinterpret_cast<T*>(memory_[argument].data()); }
  void fill(size_t argument, const std::vector<float>& values) { std::memcpy(memory_[argument].data(), values.data(), values.size() * sizeof(float)); }
  std::vector<float> floats(size_t argument) { return {data<float>(argument), data<float>(argument) + plan_.arguments[argument].elements()}; }
  Status execute() { return delegate_ == nullptr ? Status::error(Code::internal, "no delegate") : delegate_->execute(pointers_); }

 private:
  Plan plan_;
  std::vector<std::byte> payload_;
  Context context_;
  std::unique_ptr<runtime::Delegate> delegate_;
  std::vector<Aligned<std::byte>> memory_;
  std::vector<std::unique_ptr<runtime::Tensor>> tensors_;
  std::vector<runtime::Value> values_;
  std::vector<runtime::Value*> pointers_;
};

// Plans put together piece by piece.
struct PlanBuilder {
  explicit PlanBuilder(uint32_t rows) { plan.rows = rows; }
  Plan plan;

  int32_t tensor(PackedEncoding encoding, uint32_t rows, uint32_t cols) { return add({"weight" + number(), true, encoding, rows, cols}); }
  int32_t plain(uint32_t rows, uint32_t cols) { return add({"plain" + number(), false, PackedEncoding::float32, rows, cols}); }
  int32_t argument(ScalarType dtype, std::vector<int32_t> sizes, bool output = false) {
    plan.arguments.push_back({dtype, output, std::move(sizes)});
    return static_cast<int32_t>(plan.arguments.size()) - 1;
  }
  // A buffer in the arena.
  int32_t buffer(uint32_t width, bool single = false, BufferFormat format = BufferFormat::float32) {
    plan.buffers.push_back({kAbsent, plan.arena_bytes, width, single, format});
    plan.arena_bytes += (plan.rows * buffer_row_bytes(plan.buffers.back()) + 63) / 64 * 64;
    return static_cast<int32_t>(plan.buffers.size()) - 1;
  }
  // A buffer in an argument of its own; its index is that of both where only these are made.
  int32_t handed(uint32_t width, bool output, bool single = false) {
    const int32_t rows = single ? 1 : static_cast<int32_t>(plan.rows);
    plan.buffers.push_back({argument(ScalarType::Float, {rows, static_cast<int32_t>(width)}, output), 0, width, single});
    return static_cast<int32_t>(plan.buffers.size()) - 1;
  }
  // A copy of a handed input that steps may change.
  int32_t copied(int32_t from) {
    const int32_t to = buffer(plan.buffers[static_cast<size_t>(from)].width);
    plan.steps.push_back(MapStep{MapKind::copy, Activation::none, 1, from, to});
    return to;
  }

 private:
  std::string number() const { return std::to_string(plan.tensors.size()); }
  int32_t add(TensorRef tensor) {
    plan.tensors.push_back(std::move(tensor));
    return static_cast<int32_t>(plan.tensors.size()) - 1;
  }
};

// Runs `plan` with one, two and three threads over inputs that `fill` sets, expects equal bits in argument `out`, and returns them.
template <class Fill>
std::vector<float> run_on_threads(const Plan& plan, Weights& weights, size_t out, Fill&& fill) {
  std::vector<float> first;
  for (size_t threads = 1; threads <= 3; ++threads) {
    PlanRun run(plan, weights, threads);
    fill(run);
    const Status status = run.execute();
    EXPECT_TRUE(status.ok()) << status.message();
    std::vector<float> values = run.floats(out);
    if (threads == 1) first = std::move(values);
    else EXPECT_EQ(std::memcmp(first.data(), values.data(), first.size() * sizeof(float)), 0) << threads << " threads";
  }
  return first;
}

// A stored tensor of the plan, as floats [rows][cols].
inline std::vector<float> values_of(const TensorRef& tensor, Weights& weights) {
  std::vector<float> out(size_t{tensor.rows} * tensor.cols);
  const std::byte* data = weights.data.at(tensor.key).data();
  if (!tensor.packed) std::memcpy(out.data(), data, out.size() * sizeof(float));
  else for (size_t row = 0; row < tensor.rows; ++row) kernels::cpu::dequantize_row(tensor.encoding, data, tensor.cols, row, &out[row * tensor.cols]);
  return out;
}

}  // namespace pteron::cpu_backend
