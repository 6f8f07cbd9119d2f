// A session: one conversation's position, tokens and caches on a program that other sessions may share.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "llm/io_manager.h"

namespace pteron::llm {


struct SessionOptions {
  size_t chunk = 0;         // rows of a prefill call that are used, at most C; 0: all of them
  size_t min_chunk = 2;     // fewer remaining tokens than this go one by one through decode
};

// A session's state outside a session: what `snapshot` writes, in memory. Bound to the program that made it.
struct SessionState {
  std::vector<std::byte> bytes;
};

// Driven by one thread at a time; `cancel` may be called from any thread. Nothing is allocated after creation by `append`, `rewind`,
// `reset`. After a failed call the session is poisoned: every operation but `reset`, `restore` and `adopt` returns Code::poisoned.
class Session {
 public:
  // The contract and the source are shared by all sessions and must outlive them.
  static Result<Session> create(const IoContract& contract, const MethodSource& source, const ManagerOptions& manager_options = {},
                                const SessionOptions& options = {});
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  size_t position() const;   // t: committed tokens
  size_t capacity() const;   // L
  size_t vocab_size() const;
  bool poisoned() const;
  // Whether `tokens` more tokens fit, at least one. Pure: no allocation, no state change, no overflow.
  bool can_append(size_t tokens) const;
  // The committed tokens.
  std::span<const TokenId> tokens() const;
  // The sampled token that was not fed yet.
  std::optional<TokenId> pending() const;
  void set_pending(std::optional<TokenId> token);

  // Commits `tokens` and returns the logits of the last one; the pending token, if any, is dropped (feed it first to keep it).
  // Refused before any work: no tokens, more than fit (the error says both numbers), an id outside the vocabulary.
  // When cancelled between two calls, or when `progress` says false before one, the error is `cancelled`, and `position` says how many tokens were committed.
  using Progress = std::function<bool(size_t done, size_t total)>;
  Result<LogitsView> append(std::span<const TokenId> tokens, const Progress& progress = {});
  // As `append`, and calls `row(i, logits)` with the logits of each token in turn; every token goes through decode, or through a
  // method that gives all rows.
  using OnRow = std::function<Status(size_t index, LogitsView logits)>;
  Status append_rows(std::span<const TokenId> tokens, const OnRow& row);
  // The logits of the last committed token; empty if the last operation did not produce them (fresh, rewound, evicted).
  LogitsView logits() const;

  // Speculation: most tokens that `speculate` takes at the present position (0: no method for it, or too near to the context's end).
  size_t speculation_rows() const;
  // Runs up to `speculation_rows()` tokens in one call and keeps the logits of each row; `accept(k)` then commits the first k.
  // Rows beyond k leave nothing that a later query could see.
  Status speculate(std::span<const TokenId> tokens);
  Result<LogitsView> speculated_logits(size_t row);
  Status accept(size_t tokens);

  Status rewind(size_t position);
  Result<Session> fork() const;
  Status evict(size_t from, size_t to);
  Result<SessionState> state() const;
  Status adopt(const SessionState& state);
  Status snapshot(const std::string& path) const;
  Status restore(const std::string& path);
  Status reset();

  // Ends a running append or generation at the next token, or the next one before it starts; taken back by the call that it ends.
  void cancel();
  bool take_cancel();

  std::span<const CacheView> caches();

 private:
  struct Impl;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace pteron::llm
