// What sessions owe: capacity, reset, failure, and the operations on their state.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "llm/conformance_suite.h"

namespace pteron::llm {
namespace {

// Prompt lengths that end in a full chunk, a padded one and a single token, and go around a ring where there is one.
size_t long_prompt(const Suite& suite) {
  size_t length = 2 * std::max<size_t>(suite.rows(), 4) + 3;
  if (const LayerSpec* ring = suite.ring()) length = std::max(length, static_cast<size_t>(ring->slots + ring->window) + 2);
  return std::min(length, suite.capacity() - 2);
}

Result<std::vector<float>> logits_after(Session& session, std::span<const TokenId> tokens) {
  PTERON_ASSIGN(const LogitsView logits, session.append(tokens));
  return copy(logits);
}

Verdict capacity(const Suite& suite) {
  PTERON_CASE(Session session, suite.session());
  const size_t L = suite.capacity();
  const std::vector<TokenId> tokens = suite.tokens(L + 1);
  if (!session.can_append(1) || !session.can_append(L) || session.can_append(L + 1) || session.can_append(0) || session.can_append(SIZE_MAX)) {
    return failed("can_append does not say 1 to " + std::to_string(L) + " for an empty session");
  }
  const auto refused = session.append(tokens);
  if (refused.ok() || refused.code() != Code::out_of_capacity) return failed("a prompt of L + 1 tokens was not refused");
  if (session.position() != 0 || session.poisoned()) return failed("a refused prompt changed the session");
  if (session.append({}).ok()) return failed("a prompt of no tokens was accepted");
  if (suite.seconds_for(L) > suite.options().seconds) return passed("a prompt of exactly L would take too long and was left out");
  PTERON_CASE_OK(session.append(std::span(tokens).first(L)).status());
  if (session.position() != L || session.can_append(1)) return failed("a prompt of exactly L tokens leaves the session at " + std::to_string(session.position()));
  if (session.append(std::span(tokens).first(1)).ok()) return failed("a token beyond L was accepted");
  return passed();
}

Verdict reset(const Suite& suite) {
  const size_t length = long_prompt(suite);
  const std::vector<TokenId> a = suite.tokens(length, 1), b = suite.tokens(length / 2 + 1, 2);
  PTERON_CASE(Session session, suite.session());
  PTERON_CASE(Session fresh, suite.session());
  PTERON_CASE_OK(session.append(a).status());
  std::vector<const void*> addresses;
  for (const CacheView& cache : session.caches()) addresses.push_back(cache.tensor.data);
  session.set_pending(0);
  PTERON_CASE_OK(session.reset());
  if (session.position() != 0 || session.pending() || !session.logits().empty()) return failed("something is left after a reset");
  size_t index = 0;
  for (const CacheView& cache : session.caches()) {
    if (cache.tensor.data != addresses[index++]) return failed("a cache moved");
    const auto* bytes = static_cast<const std::byte*>(cache.tensor.data);
    if (!std::all_of(bytes, bytes + cache.tensor.nbytes, [](std::byte value) { return value == std::byte{0}; })) return failed("a cache is not zero after a reset");
  }
  PTERON_CASE(const std::vector<float> again, logits_after(session, b));
  PTERON_CASE(const std::vector<float> expected, logits_after(fresh, b));
  return again == expected ? passed() : failed("a run after a reset differs from one on a fresh session");
}

Verdict failed_call(const Suite& suite) {
  AuditedSource meddler(suite.source(), suite.contract());
  int fails_in = -1;
  meddler.before = [&](const AuditedBuffers&) { return fails_in-- == 0 ? Status::error(Code::internal, "a planted failure") : Status(); };
  PTERON_CASE(Session session, suite.session(meddler));
  PTERON_CASE(Session fresh, suite.session());
  const std::vector<TokenId> tokens = suite.tokens(std::min<size_t>(long_prompt(suite), 2 * std::max<size_t>(suite.rows(), 2)));
  PTERON_CASE_OK(session.append(std::span(tokens).first(1)).status());
  fails_in = 0;
  if (session.append(std::span(tokens).first(1)).ok()) return failed("a failed call was reported as success");
  if (session.append(std::span(tokens).first(1)).code() != Code::poisoned) return failed("a failed call does not poison the session");
  if (session.can_append(1)) return failed("a poisoned session says that it can append");
  PTERON_CASE_OK(session.reset());
  PTERON_CASE(const std::vector<float> again, logits_after(session, tokens));
  PTERON_CASE(const std::vector<float> expected, logits_after(fresh, tokens));
  return again == expected ? passed() : failed("a run after a failure and a reset differs from one on a fresh session");
}

Verdict non_finite(const Suite& suite) {
  AuditedSource meddler(suite.source(), suite.contract());
  bool plant = false;
  meddler.after = [&](const AuditedBuffers& buffers) {
    if (!plant) return;
    const auto logits = std::find_if(buffers.spec->outputs.begin(), buffers.spec->outputs.end(), [](const OutputSpec& o) { return o.role == OutputRole::logits; });
    const uint32_t nan = logits->dtype == ScalarType::Float ? 0x7FC00000 : logits->dtype == ScalarType::Half ? 0x7E00 : 0x7FC0;
    std::memcpy(buffers.outputs[logits->index], &nan, element_size(logits->dtype));
  };
  PTERON_CASE(Session session, suite.session(meddler));
  const TokenId token = suite.tokens(1)[0];
  PTERON_CASE_OK(session.append(std::span(&token, 1)).status());
  plant = true;
  if (session.append(std::span(&token, 1)).ok()) return failed("a row with NaN was accepted");
  plant = false;
  PTERON_CASE_OK(session.reset());
  PTERON_CASE_OK(session.append(std::span(&token, 1)).status());
  return passed();
}

// Going back and on again equals never having gone further; every key that is asked for must still be held.
Verdict rewind(const Suite& suite) {
  const size_t length = long_prompt(suite);
  const std::vector<TokenId> tokens = suite.tokens(length), others = suite.tokens(3, 9);
  PTERON_CASE(Session session, suite.session());
  PTERON_CASE(Session expected, suite.session());
  if (session.rewind(1).ok()) return failed("rewound to a position ahead");
  size_t tried = 0, allowed_count = 0;
  const LayerSpec* ring = suite.ring();
  std::vector<size_t> targets = {0, 1, length / 2, length - 1};
  if (ring != nullptr) {
    // The edge: the oldest position that a ring written up to length (one token a call) or a little further can still serve.
    const size_t edge = length > static_cast<size_t>(ring->slots) ? length - static_cast<size_t>(ring->slots) + static_cast<size_t>(ring->window) - 1 : 0;
    for (size_t k = edge > 2 ? edge - 2 : 0; k <= edge + 2 + suite.rows(); ++k) targets.push_back(k);
  }
  std::sort(targets.begin(), targets.end());
  targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
  for (const size_t target : targets) {
    if (target >= length) continue;
    PTERON_CASE_OK(session.reset());
    PTERON_CASE_OK(session.append(tokens).status());
    ++tried;
    const Status status = session.rewind(target);
    if (ring == nullptr && !status.ok()) return failed("full layers refuse to rewind to " + std::to_string(target) + ": " + status.message());
    // One token a call at least wrote `length` positions; a refusal is only right where a padded chunk could have written more.
    const size_t most_written = std::min(suite.capacity(), length + suite.rows());
    if (!status.ok() && Geometry::of(*ring).holds_for(target, most_written)) return failed("refuses to rewind to " + std::to_string(target) + " although all keys are held");
    if (status.ok() && ring != nullptr && !Geometry::of(*ring).holds_for(target, length)) return failed("rewinds to " + std::to_string(target) + " where keys are gone");
    if (session.position() != (status.ok() ? target : length)) return failed("is at " + std::to_string(session.position()) + " after rewinding to " + std::to_string(target));
    if (!status.ok()) continue;
    ++allowed_count;
    PTERON_CASE(const std::vector<float> found, logits_after(session, others));
    PTERON_CASE_OK(expected.reset());
    if (target > 0) PTERON_CASE_OK(expected.append(std::span(tokens).first(target)).status());
    PTERON_CASE(const std::vector<float> right, logits_after(expected, others));
    std::string apart;
    if (!suite.near(found, right, apart)) return failed("after rewinding from " + std::to_string(length) + " to " + std::to_string(target) + ": " + apart);
  }
  return passed(std::to_string(allowed_count) + " of " + std::to_string(tried) + " positions could be gone back to");
}

// Two sessions that were one: each equals a session of its own.
Verdict fork(const Suite& suite) {
  const std::vector<TokenId> tokens = suite.tokens(long_prompt(suite)), left = suite.tokens(2, 5), right = suite.tokens(2, 6);
  PTERON_CASE(Session session, suite.session());
  PTERON_CASE_OK(session.append(tokens).status());
  PTERON_CASE(Session other, session.fork());
  if (other.position() != session.position() || copy(other.logits()) != copy(session.logits())) return failed("a fork starts at another state");
  PTERON_CASE(const std::vector<float> a, logits_after(session, left));
  PTERON_CASE(const std::vector<float> b, logits_after(other, right));
  for (const auto& [more, found] : {std::pair(left, a), std::pair(right, b)}) {
    PTERON_CASE(Session expected, suite.session());
    PTERON_CASE_OK(expected.append(tokens).status());
    PTERON_CASE(const std::vector<float> logits, logits_after(expected, more));
    if (logits != found) return failed("a forked session does not continue as one of its own");
  }
  return passed();
}

Verdict adopt(const Suite& suite) {
  const std::vector<TokenId> tokens = suite.tokens(long_prompt(suite)), more = suite.tokens(2, 5);
  PTERON_CASE(Session session, suite.session());
  PTERON_CASE_OK(session.append(tokens).status());
  PTERON_CASE(const SessionState state, session.state());
  PTERON_CASE(Session other, suite.session());
  PTERON_CASE_OK(other.append(more).status());
  SessionState broken = state;
  broken.bytes[broken.bytes.size() / 2] ^= std::byte{1};
  if (other.adopt(broken).ok()) return failed("a state with a changed byte was adopted");
  if (other.position() != more.size()) return failed("a refused state changed the session");
  PTERON_CASE_OK(other.adopt(state));
  if (!std::equal(other.tokens().begin(), other.tokens().end(), tokens.begin(), tokens.end())) return failed("an adopted state has other tokens");
  PTERON_CASE(const std::vector<float> expected, logits_after(session, more));
  PTERON_CASE(const std::vector<float> found, logits_after(other, more));
  return found == expected ? passed(std::to_string(state.bytes.size()) + " bytes") : failed("an adopted state does not continue bit by bit");
}

// Removing tokens leaves a session that goes on, or is refused without a change.
Verdict evict(const Suite& suite) {
  const std::vector<TokenId> tokens = suite.tokens(std::min<size_t>(12, suite.capacity() - 2));
  PTERON_CASE(Session session, suite.session());
  PTERON_CASE_OK(session.append(tokens).status());
  if (session.evict(3, 2).ok() || session.evict(0, tokens.size() + 1).ok()) return failed("evicted a range that is none");
  const Status status = session.evict(1, 4);
  const bool possible = suite.ring() == nullptr && suite.contract().rope.has_value();
  if (!possible) {
    if (status.code() != Code::unsupported) return failed("evicts where rings or the rotation of keys do not allow it");
    if (session.position() != tokens.size()) return failed("a refused evict changed the session");
    return passed("refused, as it must be here");
  }
  if (!status.ok() && status.code() == Code::unsupported) return passed("refused: " + status.message());
  PTERON_CASE_OK(status);
  if (session.position() != tokens.size() - 3) return failed("is at " + std::to_string(session.position()) + " after evicting 3 of " + std::to_string(tokens.size()));
  PTERON_CASE_OK(session.append(std::span(tokens).first(1)).status());
  return passed();
}

// A prompt in one piece, in several turns and token by token ends in the same place.
Verdict turns(const Suite& suite) {
  const std::vector<TokenId> tokens = suite.tokens(std::min(long_prompt(suite), 3 * std::max<size_t>(suite.rows(), 4)));
  PTERON_CASE(Session whole, suite.session());
  PTERON_CASE(const std::vector<float> expected, logits_after(whole, tokens));
  for (const size_t turn : {size_t{1}, size_t{2}, size_t{3}, size_t{7}}) {
    PTERON_CASE(Session session, suite.session());
    for (size_t at = 0; at < tokens.size(); at += turn) PTERON_CASE_OK(session.append(std::span(tokens).subspan(at, std::min(turn, tokens.size() - at))).status());
    std::string apart;
    if (!suite.near(session.logits(), expected, apart)) return failed("in turns of " + std::to_string(turn) + ": " + apart);
  }
  return passed();
}

// End-of-text ids are tokens like any other to a session.
Verdict eos_in_prompt(const Suite& suite) {
  const MethodInfo* info = find_method(suite.source().infos(), "get_eos_ids");
  if (info == nullptr || info->outputs.empty()) return not_applicable("the program names no end-of-text id");
  const TokenId eos = static_cast<TokenId>(info->outputs[0].int_value);
  const std::array<TokenId, 3> tokens = {suite.tokens(1)[0], eos, suite.tokens(1)[0]};
  PTERON_CASE(Session session, suite.session());
  PTERON_CASE_OK(session.append(tokens).status());
  return session.position() == 3 ? passed() : failed("an end-of-text id in a prompt ended it");
}

// Two sessions in turns, each as if alone.
Verdict independent(const Suite& suite) {
  PTERON_CASE(Session a, suite.session());
  PTERON_CASE(Session b, suite.session());
  PTERON_CASE(Session alone, suite.session());
  const std::vector<TokenId> first = suite.tokens(6, 1), second = suite.tokens(6, 2);
  for (size_t i = 0; i < 6; ++i) {
    PTERON_CASE_OK(a.append(std::span(first).subspan(i, 1)).status());
    PTERON_CASE_OK(b.append(std::span(second).subspan(i, 1)).status());
    PTERON_CASE_OK(alone.append(std::span(first).subspan(i, 1)).status());
  }
  return copy(a.logits()) == copy(alone.logits()) ? passed() : failed("another session on the program changes the logits");
}

// Counts, hands out dirty memory, fails on request.
class Bookkeeper final : public Allocator {
 public:
  Result<Block> allocate(size_t bytes, size_t alignment, Purpose purpose) override {
    if (calls++ == fail_at) return Status::error(Code::out_of_memory, "a planted failure");
    const size_t rounded = (std::max<size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
    void* data = std::aligned_alloc(alignment, rounded);
    if (data == nullptr) return Status::error(Code::out_of_memory, "host memory is exhausted");
    std::memset(data, 0xA5, rounded);
    ++live;
    return Block{data, bytes, purpose, 0};
  }
  void release(const Block& block) override {
    --live;
    std::free(block.data);
  }
  size_t calls = 0, fail_at = SIZE_MAX;
  int64_t live = 0;
};

// A session is destroyed in mid-conversation, and at every allocation that fails: nothing is left behind.
Verdict memory(const Suite& suite) {
  constexpr size_t kMostTries = 40;
  ManagerOptions manager_options;
  size_t needed = 0;
  const auto attempt = [&](size_t fail_at, bool& succeeded) -> Verdict {
    Bookkeeper allocator;
    allocator.fail_at = fail_at;
    manager_options.allocator = &allocator;
    {
      auto session = Session::create(suite.io(), suite.source(), manager_options);
      succeeded = session.ok();
      if (succeeded) PTERON_CASE_OK(session->append(suite.tokens(3)).status());
    }
    needed = std::max(needed, allocator.calls);
    if (allocator.live != 0) return failed(std::to_string(allocator.live) + " blocks are left after allocation " + std::to_string(fail_at) + " failed");
    return passed();
  };
  bool succeeded = false;
  Verdict verdict = attempt(SIZE_MAX, succeeded);
  if (verdict.outcome != Outcome::ok || !succeeded) return verdict.outcome != Outcome::ok ? verdict : failed("no session with an allocator of one's own");
  const size_t count = needed, step = std::max<size_t>(1, count / kMostTries);
  for (size_t fail_at = 0; fail_at < count; fail_at += step) {
    verdict = attempt(fail_at, succeeded);
    if (verdict.outcome != Outcome::ok) return verdict;
    if (succeeded) return failed("allocation " + std::to_string(fail_at) + " failed and nobody noticed");
  }
  return passed(std::to_string(count) + " allocations");
}

}  // namespace

std::span<const Case> session_cases() {
  static constexpr std::array<Case, 12> kCases = {{{"session.capacity", capacity},
                                                   {"session.reset", reset},
                                                   {"session.failed_call", failed_call},
                                                   {"session.non_finite", non_finite},
                                                   {"session.rewind", rewind},
                                                   {"session.fork", fork},
                                                   {"session.adopt", adopt},
                                                   {"session.evict", evict},
                                                   {"session.turns", turns},
                                                   {"session.eos_in_prompt", eos_in_prompt},
                                                   {"session.independent", independent},
                                                   {"session.memory", memory}}};
  return kCases;
}

}  // namespace pteron::llm
