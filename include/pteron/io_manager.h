// The seam between sessions and programs: what a version of an I/O contract implements. pteron brings `hf_static` version 1; an application
// adds contracts of its own through EngineOptions::contracts, and everything above (sessions, sampling, chat) works on them as well.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "pteron/allocator.h"
#include "pteron/generation.h"
#include "pteron/method.h"
#include "pteron/status.h"
#include "pteron/tensor.h"

namespace pteron {

namespace llm {
struct Contract;
}

/// Threads that the methods of one session share; opaque here.
class ThreadPool;
/// `threads` = 0 takes the cores that this process may use.
std::shared_ptr<ThreadPool> make_thread_pool(size_t threads);

/// One loaded method, driven by one thread at a time: the part of `Method` that a step needs, with the same rules.
class StepMethod {
 public:
  virtual ~StepMethod() = default;
  virtual Status set_input(size_t index, const TensorView& value) = 0;
  virtual Status bind_output(size_t index, const MutableTensorView& buffer) = 0;
  virtual Status execute() = 0;
  virtual Result<TensorView> output(size_t index) const = 0;
};

/// What a loaded method works with; both outlive it.
struct MethodResources {
  Allocator* allocator = nullptr;  ///< for arenas and delegates; null: host memory
  ThreadPool* threads = nullptr;   ///< null: the calling thread alone
};

/// The methods of a program: described, and loaded one at a time. Shared by all sessions on a program; safe from several threads.
class MethodSource {
 public:
  virtual ~MethodSource() = default;
  virtual std::span<const MethodInfo> infos() const = 0;
  /// What the constant method of that name returns, which must be one string; not_found where there is no such method.
  Result<std::string_view> constant_string(std::string_view name) const;
  virtual Result<std::unique_ptr<StepMethod>> load(std::string_view name, const MethodResources& resources) const = 0;
  /// Memory that the program's device shares with the host, for inputs, outputs and caches; null where host memory serves.
  virtual Allocator* io_allocator() const { return nullptr; }
  /// What a saved session is bound to: the SHA-256 digest of the program's bytes.
  virtual std::array<std::byte, 32> identity() const = 0;
};

/// The sizes that a session plans with.
struct Limits {
  size_t context_length = 0;  ///< L
  size_t vocab_size = 0;      ///< V
  size_t prefill_rows = 0;    ///< C; 0 where only decode is used
  size_t verify_rows = 0;     ///< rows of a method all of whose logits can be read at once; 0 where there is none
  bool prefill_all = false;   ///< whether all logits of a prefill call can be read as well
};

enum class Step : uint8_t { decode, prefill, verify };
enum class LayerKind : uint8_t { full, sliding };

/// A cache as the outside may see it.
struct CacheView {
  bool key = false;             ///< else value
  size_t layer = 0;
  LayerKind kind = LayerKind::full;
  MutableTensorView tensor;     ///< [1, heads, slots, dim]
};

/// Takes the bytes of a saved state in order.
using StateSink = std::function<Status(std::span<const std::byte>)>;

/// Buffers and loaded methods of one session. Positions come from the session: a manager keeps no count of its own, only how far the
/// caches were ever written. One thread at a time. Operations that a contract cannot do return `unsupported`.
class IoManager {
 public:
  virtual ~IoManager() = default;

  virtual const Limits& limits() const = 0;
  /// One call with `tokens` as the valid rows at position `position`; the caller has checked n <= rows and position + rows <= L.
  virtual Status run(Step step, std::span<const TokenId> tokens, size_t position) = 0;
  /// The logits of row `row` of the last call, valid until the next one. Only the last valid row, unless the step was `verify`, or `prefill` under
  /// `Limits::prefill_all`.
  virtual Result<LogitsView> logits(size_t row) = 0;
  /// Caches as after load, at the same addresses.
  virtual void reset() = 0;

  /// Whether a query at `position` could still see every key it may see. A pure query.
  virtual Status can_rewind(size_t position) const = 0;
  /// Takes over the first `position` committed tokens of a manager of the same program.
  virtual Status copy_from(const IoManager& other, size_t position) { (void)other, (void)position; return unsupported("fork"); }
  /// The state of the caches with `position` committed tokens, and back. `load` checks all of `state` before it changes anything.
  virtual Status save(size_t position, const StateSink& sink) const { (void)position, (void)sink; return unsupported("snapshot"); }
  virtual Status load(size_t position, std::span<const std::byte> state) { (void)position, (void)state; return unsupported("restore"); }
  /// Takes the tokens [from, to) of `position` committed ones out of the caches and moves those behind them down.
  virtual Status evict(size_t position, size_t from, size_t to) { (void)position, (void)from, (void)to; return unsupported("evict"); }

  /// The caches, for reading and writing; whoever wrote to them resets before relying on `append` again.
  virtual std::span<const CacheView> caches() { return {}; }

 private:
  // Virtual functions stay inline, so that applications with RTTI can derive from a library without.
  static Status unsupported(std::string_view operation);
};

struct ManagerOptions {
  Allocator* allocator = nullptr;  ///< for I/O buffers and arenas; null: what the program's backend offers for I/O, else host memory
  bool use_prefill = true;         ///< false: decode only, and the prefill method is not loaded
  bool use_verify = true;          ///< false: not the method for speculation either, where there is one
  size_t threads = 1;              ///< of the session's own pool; 0: the cores that this process may use
};

/// A contract of one program, parsed and validated; shared by its sessions, immutable.
class IoContract {
 public:
  virtual ~IoContract() = default;
  virtual const Limits& limits() const = 0;
  /// Bytes that one session allocates through the hook (caches and I/O buffers, not the methods' arenas).
  virtual size_t bytes_per_session() const = 0;
  virtual size_t cache_bytes() const = 0;
  /// The object, where the contract is `hf_static` version 1; else null.
  virtual const llm::Contract* hf_static() const { return nullptr; }
  /// Loads the methods that are selected and allocates; `source` outlives the manager.
  virtual Result<std::unique_ptr<IoManager>> new_manager(const MethodSource& source, const ManagerOptions& options) const = 0;
};

/// Parses and validates the object `json`, which the program's constant method `io_contract` returned, against the program's methods.
using OpenContract = std::function<Result<std::unique_ptr<IoContract>>(std::string_view json, const MethodSource& source)>;

/// Says that programs whose `io_contract` names this contract and version are opened so.
struct ContractEntry {
  std::string contract = {};
  int64_t version = 0;
  OpenContract open = {};
};

}  // namespace pteron
