// The methods of a program as an I/O manager sees them: described, and loaded one at a time. The runtime's program is one source;
// tests and the conformance suite put others in its place.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "base/sha256.h"
#include "base/status.h"
#include "base/thread_pool.h"
#include "pteron/allocator.h"
#include "pteron/tensor.h"
#include "runtime/method.h"

namespace pteron::llm {

// One loaded method, driven by one thread at a time: the part of runtime::Method that a step needs.
class StepMethod {
 public:
  virtual ~StepMethod() = default;
  virtual Status set_input(size_t index, const TensorView& value) = 0;
  virtual Status bind_output(size_t index, const MutableTensorView& buffer) = 0;
  virtual Status execute() = 0;
  virtual Result<TensorView> output(size_t index) const = 0;
};

// What a loaded method works with; both outlive it.
struct MethodResources {
  Allocator* allocator = nullptr;  // for arenas and delegates; null: host memory
  ThreadPool* threads = nullptr;   // null: the calling thread alone
};

// Shared by all sessions on a program; safe from several threads.
class MethodSource {
 public:
  virtual ~MethodSource() = default;
  virtual std::span<const MethodInfo> infos() const = 0;
  // What the constant method of that name returns, which must be one string; not_found where there is no such method.
  Result<std::string_view> constant_string(std::string_view name) const;
  virtual Result<std::unique_ptr<StepMethod>> load(std::string_view name, const MethodResources& resources) const = 0;
  // Memory that the program's device shares with the host, for inputs, outputs and caches; null where host memory serves.
  virtual Allocator* io_allocator() const { return nullptr; }
  // What a saved session is bound to: the digest of the program's bytes.
  virtual Digest identity() const = 0;
};

// The entry of `infos` with that name, or null.
const MethodInfo* find_method(std::span<const MethodInfo> infos, std::string_view name);

}  // namespace pteron::llm
