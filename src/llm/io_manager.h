// What a version of an I/O contract implements, and the registry that finds it. A session speaks to a program only through this.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "llm/contract.h"
#include "llm/method_source.h"
#include "llm/token.h"
#include "pteron/allocator.h"
#include "pteron/tensor.h"

namespace pteron::llm {


// The sizes that a session plans with.
struct Limits {
  size_t context_length = 0;  // L
  size_t vocab_size = 0;      // V
  size_t prefill_rows = 0;    // C; 0 where only decode is used
  size_t verify_rows = 0;     // rows of a method all of whose logits can be read at once; 0 where there is none
};

enum class Step : uint8_t { decode, prefill, verify };

// A cache as the outside may see it.
struct CacheView {
  bool key = false;             // else value
  size_t layer = 0;
  LayerKind kind = LayerKind::full;
  MutableTensorView tensor;     // [1, heads, slots, dim]
};

// Takes the bytes of a saved state in order.
using StateSink = std::function<Status(ByteSpan)>;

// Buffers and loaded methods of one session. Positions come from the session: a manager keeps no count of its own, only how far the
// caches were ever written. One thread at a time. Operations that a contract cannot do return `unsupported`.
class IoManager {
 public:
  virtual ~IoManager() = default;

  virtual const Limits& limits() const = 0;
  // One call with `tokens` as the valid rows at position `position`; the caller has checked n <= rows and position + rows <= L.
  virtual Status run(Step step, std::span<const TokenId> tokens, size_t position) = 0;
  // The logits of row `row` of the last call, valid until the next one. Only the last valid row, unless the step was `verify`.
  virtual Result<LogitsView> logits(size_t row) = 0;
  // Caches as after load, at the same addresses.
  virtual void reset() = 0;

  // Whether a query at `position` could still see every key it may see. A pure query.
  virtual Status can_rewind(size_t position) const = 0;
  // Takes over the first `position` committed tokens of a manager of the same program.
  virtual Status copy_from(const IoManager& other, size_t position) { (void)other, (void)position; return unsupported("fork"); }
  // The state of the caches with `position` committed tokens, and back. `load` checks all of `state` before it changes anything.
  virtual Status save(size_t position, const StateSink& sink) const { (void)position, (void)sink; return unsupported("snapshot"); }
  virtual Status load(size_t position, ByteSpan state) { (void)position, (void)state; return unsupported("restore"); }
  // Takes the tokens [from, to) of `position` committed ones out of the caches and moves those behind them down.
  virtual Status evict(size_t position, size_t from, size_t to) { (void)position, (void)from, (void)to; return unsupported("evict"); }

  // The caches, for reading and writing; whoever wrote to them resets before relying on `append` again.
  virtual std::span<const CacheView> caches() { return {}; }

 private:
  // Virtual functions stay inline, so that applications with RTTI can derive from a library without.
  static Status unsupported(std::string_view operation);
};

struct ManagerOptions {
  Allocator* allocator = nullptr;  // for I/O buffers and arenas; null: what the program's backend offers for I/O, else host memory
  bool use_prefill = true;         // false: decode only, and the prefill method is not loaded
  bool use_verify = true;          // false: not the method for speculation either, where there is one
  size_t threads = 1;              // of the session's own pool; 0: the cores that this process may use
};

// A contract of one program, parsed and validated; shared by its sessions, immutable.
class IoContract {
 public:
  virtual ~IoContract() = default;
  virtual const Limits& limits() const = 0;
  // Bytes that one session allocates through the hook (caches and I/O buffers, not the methods' arenas).
  virtual size_t bytes_per_session() const = 0;
  virtual size_t cache_bytes() const = 0;
  // The object, where the contract is `hf_static` version 1; else null.
  virtual const Contract* hf_static() const { return nullptr; }
  // Loads the methods that are selected and allocates; `source` must outlive the manager.
  virtual Result<std::unique_ptr<IoManager>> new_manager(const MethodSource& source, const ManagerOptions& options) const = 0;
};

// Parses and validates the object `json` against the program's methods.
using OpenContract = Result<std::unique_ptr<IoContract>> (*)(std::string_view json, const MethodSource& source);

// (contract, version) -> how to open it. Entries are added by explicit calls only.
class IoManagerRegistry {
 public:
  // The contracts of this build: hf_static version 1.
  static IoManagerRegistry with_defaults();
  // A second entry for the same contract and version is an error.
  Status add(std::string contract, int64_t version, OpenContract opener);
  // Selects by the program's `io_contract`. not_found: the program is under no contract. unsupported: unknown contract or version.
  // Never falls back from a malformed object.
  Result<std::unique_ptr<IoContract>> open(const MethodSource& source) const;

 private:
  struct Entry {
    std::string contract;
    int64_t version = 0;
    OpenContract opener = nullptr;
  };
  std::vector<Entry> entries_;
};

// The constant method that holds the object.
inline constexpr std::string_view kContractMethod = "io_contract";

}  // namespace pteron::llm
