#include "llm/session.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/file.h"
#include "llm/session_state.h"

namespace pteron::llm {
namespace {

// Whether no element is NaN or infinite: their exponent bits are all ones.
bool all_finite(LogitsView logits) {
  constexpr uint32_t kExponent = 0x7F800000;
  uint32_t any = 0;
  for (const float value : logits) any |= (std::bit_cast<uint32_t>(value) & kExponent) == kExponent ? 1U : 0U;
  return any == 0;
}

}  // namespace

struct Session::Impl {
  Impl(const IoContract& io, const MethodSource& methods, ManagerOptions manager_opts, SessionOptions opts)
      : contract(io), source(methods), manager_options(manager_opts), options(opts) {}

  const IoContract& contract;
  const MethodSource& source;
  const ManagerOptions manager_options;
  const SessionOptions options;
  std::unique_ptr<IoManager> manager;
  std::vector<TokenId> tokens;          // committed; never more than the capacity that is reserved
  std::optional<TokenId> pending;
  LogitsView logits;                    // of the last committed token, or empty
  std::vector<float> restored_logits;   // what `logits` shows after a restore
  std::vector<TokenId> guessed;         // run by `speculate`, not yet accepted
  bool poisoned = false;
  std::atomic<bool> cancelled{false};

  size_t position() const { return tokens.size(); }
  size_t capacity() const { return contract.limits().context_length; }

  Status usable() const {
    if (!poisoned) return {};
    return Status::error(Code::poisoned, "an earlier failure left the session unusable until it is reset");
  }

  // Everything that can be refused before any work.
  Status check_append(std::span<const TokenId> added) const {
    PTERON_TRY(usable());
    if (added.empty()) return Status::error(Code::invalid_argument, "no tokens to append", {"", "tokens", "at least 1", "0"});
    const size_t room = capacity() - position();
    if (added.size() > room) {
      return Status::error(Code::out_of_capacity, "the tokens do not fit into the context",
                           {"", "tokens", "at most " + std::to_string(room) + " (of " + std::to_string(capacity()) + ", " + std::to_string(position()) + " used)",
                            std::to_string(added.size())});
    }
    return check_ids(added);
  }

  Status check_ids(std::span<const TokenId> added) const {
    const size_t vocab = contract.limits().vocab_size;
    for (size_t i = 0; i < added.size(); ++i) {
      if (added[i] >= 0 && static_cast<size_t>(added[i]) < vocab) continue;
      return Status::error(Code::invalid_argument, "a token id is outside the vocabulary",
                           {"", "tokens[" + std::to_string(i) + "]", "below " + std::to_string(vocab), std::to_string(added[i])});
    }
    return {};
  }

  // One call of the program at the session's position, without committing.
  Status run(Step step, std::span<const TokenId> call) {
    logits = {};
    const Status status = manager->run(step, call, position());
    if (!status.ok()) poisoned = true;
    return status;
  }

  void commit(std::span<const TokenId> call) { tokens.insert(tokens.end(), call.begin(), call.end()); }

  // How many of the remaining tokens the next call takes, and through which method.
  std::pair<Step, size_t> next_call(size_t remaining) const {
    const size_t rows = manager->limits().prefill_rows;
    const size_t used = options.chunk == 0 ? rows : options.chunk;
    if (rows == 0 || remaining < options.min_chunk || capacity() - position() < rows) return {Step::decode, 1};
    return {Step::prefill, std::min(used, remaining)};
  }

  // The row's logits, which must be finite: else the session is poisoned.
  Result<LogitsView> read(size_t row) {
    auto view = manager->logits(row);
    if (view.ok() && !all_finite(*view)) {
      poisoned = true;
      return Status::error(Code::invalid_data, "the program gave logits that are not finite", {"", "logits", "finite numbers", "NaN or infinity"});
    }
    return view;
  }

  // Between two calls of the program: whether somebody wants no more.
  Status go_on(const Progress& progress, size_t done, size_t total) {
    if (!cancelled.exchange(false) && (!progress || progress(done, total))) return {};
    return Status::error(Code::cancelled, "cancelled before all tokens were processed");
  }

  Status append(std::span<const TokenId> added, const Progress& progress) {
    const size_t total = added.size();
    size_t last_call = 0;
    while (!added.empty()) {
      PTERON_TRY(go_on(progress, total - added.size(), total));
      const auto [step, count] = next_call(added.size());
      PTERON_TRY(run(step, added.first(count)));
      commit(added.first(count));
      added = added.subspan(count);
      last_call = count;
    }
    PTERON_ASSIGN(logits, read(last_call - 1));
    return {};
  }

  // The largest call whose logits can all be read.
  std::pair<Step, size_t> next_call_of_rows(size_t remaining) const {
    const Limits& limits = manager->limits();
    const size_t room = capacity() - position();
    if (remaining < options.min_chunk) return {Step::decode, 1};
    if (limits.prefill_all && remaining > limits.verify_rows && room >= limits.prefill_rows) return {Step::prefill, std::min(limits.prefill_rows, remaining)};
    if (limits.verify_rows > 0 && room >= limits.verify_rows) return {Step::verify, std::min(limits.verify_rows, remaining)};
    return {Step::decode, 1};
  }

  // Runs all rows of `call` where their logits can be read, and shows them one by one.
  Status append_rows(std::span<const TokenId> added, const OnRow& row) {
    size_t index = 0;
    while (!added.empty()) {
      PTERON_TRY(go_on({}, 0, 0));
      const auto [step, count] = next_call_of_rows(added.size());
      PTERON_TRY(run(step, added.first(count)));
      commit(added.first(count));
      added = added.subspan(count);
      for (size_t r = 0; r < count; ++r) {
        PTERON_ASSIGN(logits, read(r));
        PTERON_TRY(row(index++, logits));
      }
    }
    return {};
  }

  void forget_logits() {
    logits = {};
    pending.reset();
    guessed.clear();
  }

  Status adopt(ByteSpan bytes) {
    PTERON_ASSIGN(ReadSession read, read_session(bytes, source.identity(), contract.limits()));
    PTERON_TRY(manager->load(read.session.tokens.size(), read.caches));
    forget_logits();
    tokens.assign(read.session.tokens.begin(), read.session.tokens.end());
    pending = read.session.pending;
    restored_logits = std::move(read.session.logits);
    logits = restored_logits;
    poisoned = false;
    return {};
  }

  Status save(const StateSink& sink) const {
    PTERON_TRY(usable());
    SavedSession saved;
    saved.program = source.identity();
    saved.tokens = tokens;
    saved.pending = pending;
    saved.logits.assign(logits.begin(), logits.end());
    return write_session(saved, *manager, sink);
  }
};

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

Result<Session> Session::create(const IoContract& contract, const MethodSource& source, const ManagerOptions& manager_options,
                                const SessionOptions& options) {
  const size_t rows = contract.limits().prefill_rows;
  if (manager_options.use_prefill && rows > 0 && options.chunk > rows) {
    return Status::error(Code::invalid_argument, "a chunk has more rows than the program's prefill method",
                         {"", "chunk", "at most " + std::to_string(rows), std::to_string(options.chunk)});
  }
  auto impl = std::make_unique<Impl>(contract, source, manager_options, options);
  PTERON_ASSIGN(impl->manager, contract.new_manager(source, manager_options));
  impl->tokens.reserve(impl->capacity());
  impl->guessed.reserve(impl->manager->limits().verify_rows);
  return Session(std::move(impl));
}

size_t Session::position() const { return impl_->position(); }
size_t Session::capacity() const { return impl_->capacity(); }
size_t Session::vocab_size() const { return impl_->contract.limits().vocab_size; }
bool Session::poisoned() const { return impl_->poisoned; }
bool Session::can_append(size_t tokens) const { return !impl_->poisoned && tokens > 0 && tokens <= impl_->capacity() - impl_->position(); }
std::span<const TokenId> Session::tokens() const { return impl_->tokens; }
std::optional<TokenId> Session::pending() const { return impl_->pending; }
void Session::set_pending(std::optional<TokenId> token) { impl_->pending = token; }
LogitsView Session::logits() const { return impl_->logits; }
std::span<const CacheView> Session::caches() { return impl_->manager->caches(); }
void Session::cancel() { impl_->cancelled.store(true); }
bool Session::take_cancel() { return impl_->cancelled.exchange(false); }

Result<LogitsView> Session::append(std::span<const TokenId> tokens, const Progress& progress) {
  PTERON_TRY(impl_->check_append(tokens));
  impl_->forget_logits();
  PTERON_TRY(impl_->append(tokens, progress));
  return impl_->logits;
}

Status Session::append_rows(std::span<const TokenId> tokens, const OnRow& row) {
  PTERON_TRY(impl_->check_append(tokens));
  impl_->forget_logits();
  return impl_->append_rows(tokens, row);
}

size_t Session::speculation_rows() const {
  const size_t rows = impl_->manager->limits().verify_rows;
  return rows <= impl_->capacity() - impl_->position() ? rows : 0;
}

Status Session::speculate(std::span<const TokenId> tokens) {
  PTERON_TRY(impl_->check_append(tokens));
  if (tokens.size() > speculation_rows()) {
    return Status::error(Code::unsupported, "the program cannot try so many tokens at once",
                         {"", "tokens", "at most " + std::to_string(speculation_rows()), std::to_string(tokens.size())});
  }
  impl_->forget_logits();
  PTERON_TRY(impl_->run(Step::verify, tokens));
  impl_->guessed.assign(tokens.begin(), tokens.end());
  return {};
}

Result<LogitsView> Session::speculated_logits(size_t row) {
  PTERON_TRY(impl_->usable());
  if (row >= impl_->guessed.size()) {
    return Status::error(Code::invalid_argument, "no token was tried there", {"", "row", "below " + std::to_string(impl_->guessed.size()), std::to_string(row)});
  }
  return impl_->read(row);
}

Status Session::accept(size_t tokens) {
  PTERON_TRY(impl_->usable());
  if (tokens == 0 || tokens > impl_->guessed.size()) {
    return Status::error(Code::invalid_argument, "not so many tokens were tried", {"", "tokens", "1 to " + std::to_string(impl_->guessed.size()), std::to_string(tokens)});
  }
  PTERON_ASSIGN(impl_->logits, impl_->read(tokens - 1));
  impl_->commit(std::span<const TokenId>(impl_->guessed).first(tokens));
  impl_->guessed.clear();
  return {};
}

Status Session::rewind(size_t position) {
  PTERON_TRY(impl_->usable());
  if (position > impl_->position()) {
    return Status::error(Code::invalid_argument, "a session can only be rewound to a position that it has passed",
                         {"", "position", "at most " + std::to_string(impl_->position()), std::to_string(position)});
  }
  if (position == impl_->position()) return {};
  PTERON_TRY(impl_->manager->can_rewind(position));
  impl_->forget_logits();
  if (position == 0) impl_->manager->reset();  // nothing is kept, so how far the rings were written no longer counts
  impl_->tokens.resize(position);
  return {};
}

Result<Session> Session::fork() const {
  PTERON_TRY(impl_->usable());
  PTERON_ASSIGN(Session copy, create(impl_->contract, impl_->source, impl_->manager_options, impl_->options));
  PTERON_TRY(copy.impl_->manager->copy_from(*impl_->manager, impl_->position()));
  copy.impl_->commit(impl_->tokens);
  copy.impl_->pending = impl_->pending;
  copy.impl_->restored_logits.assign(impl_->logits.begin(), impl_->logits.end());
  copy.impl_->logits = copy.impl_->restored_logits;
  return copy;
}

Status Session::evict(size_t from, size_t to) {
  PTERON_TRY(impl_->usable());
  if (from > to || to > impl_->position()) {
    return Status::error(Code::invalid_argument, "not a range of committed tokens",
                         {"", "range", "0 <= from <= to <= " + std::to_string(impl_->position()), std::to_string(from) + " to " + std::to_string(to)});
  }
  if (from == to) return {};
  PTERON_TRY(impl_->manager->evict(impl_->position(), from, to));
  const auto pending = impl_->pending;
  impl_->forget_logits();
  impl_->pending = pending;  // still the token that would come next
  impl_->tokens.erase(impl_->tokens.begin() + static_cast<std::ptrdiff_t>(from), impl_->tokens.begin() + static_cast<std::ptrdiff_t>(to));
  return {};
}

Result<SessionState> Session::state() const {
  SessionState out;
  PTERON_TRY(impl_->save([&](ByteSpan bytes) {
    out.bytes.insert(out.bytes.end(), bytes.begin(), bytes.end());
    return Status();
  }));
  return out;
}

Status Session::adopt(const SessionState& state) { return impl_->adopt(state.bytes); }

Status Session::snapshot(const std::string& path) const {
  PTERON_TRY(impl_->usable());
  PTERON_ASSIGN(FileWriter writer, FileWriter::create(path, 0600));
  PTERON_TRY(impl_->save([&](ByteSpan bytes) { return writer.write(bytes); }));
  return writer.commit();
}

Status Session::restore(const std::string& path) {
  PTERON_ASSIGN(const FileBytes file, FileBytes::map(path));
  return impl_->adopt(file.bytes()).in_file(path);
}

Status Session::reset() {
  impl_->manager->reset();
  impl_->forget_logits();
  impl_->tokens.clear();
  impl_->poisoned = false;
  return {};
}

}  // namespace pteron::llm
