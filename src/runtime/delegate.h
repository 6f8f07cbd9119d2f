// The run half of a backend: what takes a delegate's payload at load and runs it inside a method.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "base/thread_pool.h"
#include "core/stored_weight.h"
#include "format/model.h"
#include "pteron/allocator.h"
#include "runtime/profile.h"
#include "runtime/value.h"

namespace pteron::runtime {

// One load-time option for a backend: `backend` is its id, the meaning of key and value is the backend's own.
struct BackendOption {
  std::string backend, key;
  std::variant<bool, int64_t, std::string> value;
};

// What a backend may use while it makes a delegate. Everything here outlives the delegate, payload and named data included.
class InitContext {
 public:
  virtual ~InitContext() = default;
  virtual std::string_view method_name() const = 0;
  virtual Allocator& allocator() const = 0;
  virtual ThreadPool& threads() const = 0;
  // Bytes under `key`: of the external data if it has the key, else of the program; not_found without one. In place, valid while the
  // delegate lives. Their alignment is what the file's author chose; check before relying on it.
  virtual Result<ByteSpan> named_data(std::string_view key) const = 0;
  // The options given for this backend, in order. Unknown ones are the backend's to refuse.
  virtual std::span<const BackendOption* const> options() const = 0;
  // Where the delegate may count its steps, each under a row of this method; null where nobody asks.
  virtual Profile* profile() const { return nullptr; }
};

// One initialised payload inside a loaded method. Driven by the method's thread.
class Delegate {
 public:
  virtual ~Delegate() = default;
  // All inputs of the lowered part, then all its outputs, in order. Kinds, dtypes, sizes and null data are the delegate's to check;
  // dynamic outputs are its to resize. Allocates nothing.
  virtual Status execute(std::span<Value* const> args) = 0;
  // Forgets state that earlier executions left inside the delegate.
  virtual Status reset() { return {}; }
  // Whether it counts its steps itself; else its executions are counted as a whole.
  virtual bool counts_steps() const { return false; }
};

// A backend as the runtime knows it. Immutable and safe to share by threads.
class RunBackend {
 public:
  virtual ~RunBackend() = default;
  virtual std::string_view id() const = 0;
  // Success where this machine can run the backend, else the reason why not.
  virtual Status available() const { return {}; }
  // Makes a delegate of `payload`, which stays in place while the delegate lives. Called once for each entry of a method's delegate list.
  virtual Result<std::unique_ptr<Delegate>> init(ByteSpan payload, std::span<const format::CompileSpec> specs,
                                                 InitContext& context) const = 0;
  // The weights in named data that a payload refers to, for whoever looks into a program. Needs no machine that can run it.
  virtual Result<std::vector<StoredWeight>> weights(ByteSpan payload) const { return (void)payload, std::vector<StoredWeight>(); }
  // Memory that the backend's device shares with the host; null: host memory serves.
  virtual Allocator* io_allocator() const { return nullptr; }
};

}  // namespace pteron::runtime
