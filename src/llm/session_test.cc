#include "llm/session.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/file.h"
#include "llm/geometry.h"
#include "llm/testing/tiny_program.h"

namespace pteron::llm {
namespace {

using testing::Fault;
using testing::TinyConfig;
using testing::TinyProgram;

std::vector<TokenId> some_tokens(size_t count, size_t vocab = 13, uint32_t seed = 1) {
  std::mt19937 random(seed);
  std::vector<TokenId> tokens(count);
  for (TokenId& token : tokens) token = static_cast<TokenId>(random() % vocab);
  return tokens;
}

// A program, its contract, and sessions on it.
struct Bench {
  explicit Bench(TinyConfig config = {}) : program(std::move(config)) {
    auto opened = IoManagerRegistry::with_defaults().open(program);
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    contract = std::move(*opened);
  }
  Session session(const SessionOptions& options = {}, const ManagerOptions& manager = {}) {
    auto made = Session::create(*contract, program, manager, options);
    EXPECT_TRUE(made.ok()) << made.status().message();
    return std::move(*made);
  }
  // Token by token on a fresh session.
  std::vector<float> from_scratch(std::span<const TokenId> tokens) {
    ManagerOptions manager;
    manager.use_prefill = false;
    Session fresh = session({}, manager);
    auto logits = fresh.append(tokens);
    EXPECT_TRUE(logits.ok());
    return {logits->begin(), logits->end()};
  }

  TinyProgram program;
  std::unique_ptr<IoContract> contract;
};

TinyConfig with_ring() {
  TinyConfig config;
  config.L = 40;
  config.layers = {{}, {.window = 5}};
  return config;
}

std::vector<float> values(LogitsView logits) { return {logits.begin(), logits.end()}; }

void expect_near(std::span<const float> a, std::span<const float> b, float tolerance = 1e-5f) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], tolerance) << i;
}

TEST(Session, SplitsAPromptIntoChunksAndATail) {
  Bench bench;
  bench.program.log_calls();
  const auto calls_for = [&](size_t tokens, const SessionOptions& options, size_t before = 0) {
    Session session = bench.session(options);
    if (before > 0) {
      EXPECT_TRUE(session.append(some_tokens(before)).ok());
    }
    bench.program.take_calls();
    EXPECT_TRUE(session.append(some_tokens(tokens)).ok());
    return bench.program.take_calls();
  };
  EXPECT_EQ(calls_for(1, {}), "decode@0");
  EXPECT_EQ(calls_for(2, {}), "prefill@0");
  EXPECT_EQ(calls_for(4, {}), "prefill@0");
  EXPECT_EQ(calls_for(5, {}), "prefill@0 decode@4");
  EXPECT_EQ(calls_for(6, {}), "prefill@0 prefill@4");
  EXPECT_EQ(calls_for(7, {.min_chunk = 4}), "prefill@0 decode@4 decode@5 decode@6");
  EXPECT_EQ(calls_for(7, {.chunk = 3}), "prefill@0 prefill@3 decode@6");
  EXPECT_EQ(calls_for(4, {.min_chunk = 1}, 20), "prefill@20") << "t + C = L is legal";
  EXPECT_EQ(calls_for(3, {}, 21), "decode@21 decode@22 decode@23") << "a padded chunk would pass the end";
}

TEST(Session, RefusesWhatDoesNotFitBeforeAnyWork) {
  Bench bench;
  Session session = bench.session();
  EXPECT_TRUE(session.can_append(1));
  EXPECT_TRUE(session.can_append(24));
  EXPECT_FALSE(session.can_append(25));
  EXPECT_FALSE(session.can_append(0));
  EXPECT_FALSE(session.can_append(SIZE_MAX));
  ASSERT_TRUE(session.append(some_tokens(10)).ok());
  bench.program.log_calls();
  const auto too_long = session.append(some_tokens(15));
  EXPECT_EQ(too_long.code(), Code::out_of_capacity);
  EXPECT_NE(too_long.status().message().find("14"), std::string::npos) << too_long.status().message();
  EXPECT_NE(too_long.status().message().find("15"), std::string::npos);
  EXPECT_EQ(session.append({}).code(), Code::invalid_argument);
  EXPECT_EQ(session.append(std::vector<TokenId>{1, 13}).status().detail().field, "tokens[1]");
  EXPECT_EQ(session.append(std::vector<TokenId>{-1}).code(), Code::invalid_argument);
  EXPECT_EQ(bench.program.take_calls(), "");
  EXPECT_EQ(session.position(), 10u);
  EXPECT_FALSE(session.poisoned());
  ASSERT_TRUE(session.append(some_tokens(14)).ok()) << "exactly full";
  EXPECT_EQ(session.position(), session.capacity());
  EXPECT_FALSE(session.can_append(1));
}

TEST(Session, OptionsAreChecked) {
  Bench bench;
  EXPECT_EQ(Session::create(*bench.contract, bench.program, {}, {.chunk = 5}).status().detail().field, "chunk");
}

TEST(Session, AfterResetARunRepeatsBitByBit) {
  Bench bench(with_ring());
  Session session = bench.session(), fresh = bench.session();
  ASSERT_TRUE(session.append(some_tokens(33, 13, 5)).ok());
  ASSERT_TRUE(session.reset().ok());
  EXPECT_EQ(session.position(), 0u);
  EXPECT_TRUE(session.logits().empty());
  const auto again = session.append(some_tokens(29)), expected = fresh.append(some_tokens(29));
  EXPECT_EQ(values(*again), values(*expected));
}

TEST(Session, AFailedCallPoisonsUntilReset) {
  Bench bench(with_ring());
  Session session = bench.session();
  ASSERT_TRUE(session.append(some_tokens(6)).ok());
  bench.program.fail_after(1);
  EXPECT_EQ(session.append(some_tokens(8)).code(), Code::internal);
  EXPECT_TRUE(session.poisoned());
  EXPECT_FALSE(session.can_append(1));
  EXPECT_EQ(session.append(some_tokens(1)).code(), Code::poisoned);
  EXPECT_EQ(session.rewind(0).code(), Code::poisoned);
  EXPECT_EQ(session.fork().code(), Code::poisoned);
  EXPECT_EQ(session.state().code(), Code::poisoned);
  EXPECT_EQ(session.evict(0, 1).code(), Code::poisoned);
  EXPECT_EQ(session.speculate(some_tokens(1)).code(), Code::poisoned);
  ASSERT_TRUE(session.reset().ok());
  const auto logits = session.append(some_tokens(17));
  ASSERT_TRUE(logits.ok());
  EXPECT_EQ(values(*logits), values(*bench.session().append(some_tokens(17)))) << "equal to a fresh session";
}

TEST(Session, LogitsThatAreNotFiniteAreAnError) {
  TinyConfig config;
  config.fault = Fault::nan_logits;
  Bench bench(config);
  Session session = bench.session({}, {.use_prefill = false});
  const auto logits = session.append(some_tokens(8));
  EXPECT_EQ(logits.code(), Code::invalid_data);
  EXPECT_EQ(logits.status().detail().field, "logits");
  EXPECT_TRUE(session.poisoned());
}

TEST(Session, RewindGoesBackExactlyWhereTheRingAllows) {
  Bench bench(with_ring());
  const Geometry ring{8, 5};
  for (const bool chunks : {false, true}) {
    for (size_t length = 1; length <= 30; ++length) {
      for (size_t to = 0; to <= length; ++to) {
        Session session = bench.session({}, {.use_prefill = chunks});
        const auto tokens = some_tokens(length);
        size_t written = 0;  // the highest end of a call, padding included
        bench.program.log_calls();
        bench.program.take_calls();
        ASSERT_TRUE(session.append(tokens).ok());
        const std::string calls = bench.program.take_calls();
        const std::string last = calls.substr(calls.rfind(' ') + 1);
        written = std::stoul(last.substr(last.find('@') + 1)) + (last[0] == 'p' ? 4 : 1);
        if (const size_t chunk = calls.rfind("prefill@"); chunk != std::string::npos) written = std::max<size_t>(written, std::stoul(calls.substr(chunk + 8)) + 4);
        const bool allowed = to == length || ring.holds_for(to, written);
        ASSERT_EQ(session.rewind(to).ok(), allowed) << length << " to " << to;
        ASSERT_EQ(session.position(), allowed ? to : length);
        if (!allowed || to == length) continue;
        const auto more = some_tokens(6, 13, 9);
        std::vector<TokenId> whole(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(to));
        whole.insert(whole.end(), more.begin(), more.end());
        const auto logits = session.append(more);
        ASSERT_TRUE(logits.ok());
        expect_near(*logits, bench.from_scratch(whole));
      }
    }
  }
}

TEST(Session, RewindForgetsLogitsAndPending) {
  Bench bench;
  Session session = bench.session();
  ASSERT_TRUE(session.append(some_tokens(6)).ok());
  session.set_pending(3);
  ASSERT_TRUE(session.rewind(6).ok()) << "nothing to do";
  EXPECT_EQ(session.pending(), 3);
  EXPECT_EQ(session.rewind(7).code(), Code::invalid_argument);
  ASSERT_TRUE(session.rewind(4).ok());
  EXPECT_TRUE(session.logits().empty());
  EXPECT_FALSE(session.pending().has_value());
  EXPECT_EQ(session.tokens().size(), 4u);
}

TEST(Session, AForkGoesItsOwnWay) {
  Bench bench(with_ring());
  Session session = bench.session();
  const auto tokens = some_tokens(19);
  ASSERT_TRUE(session.append(tokens).ok());
  session.set_pending(7);
  auto fork = session.fork();
  ASSERT_TRUE(fork.ok());
  EXPECT_EQ(fork->position(), 19u);
  EXPECT_EQ(fork->pending(), 7);
  EXPECT_EQ(values(fork->logits()), values(session.logits()));
  std::vector<TokenId> left = tokens, right = tokens;
  for (const TokenId token : some_tokens(9, 13, 2)) left.push_back(token);
  for (const TokenId token : some_tokens(9, 13, 3)) right.push_back(token);
  const auto a = session.append(std::span(left).subspan(19));
  const auto b = fork->append(std::span(right).subspan(19));
  ASSERT_TRUE(a.ok() && b.ok());
  expect_near(*a, bench.from_scratch(left));
  expect_near(*b, bench.from_scratch(right));
}

TEST(Session, SnapshotContinuesBitByBit) {
  Bench bench(with_ring());
  const std::string path = ::testing::TempDir() + "/session.state";
  Session session = bench.session();
  ASSERT_TRUE(session.append(some_tokens(21)).ok());
  session.set_pending(4);
  ASSERT_TRUE(session.snapshot(path).ok());
  Session other = bench.session();
  ASSERT_TRUE(other.append(some_tokens(3, 13, 8)).ok());
  ASSERT_TRUE(other.restore(path).ok());
  EXPECT_EQ(other.pending(), 4);
  EXPECT_EQ(values(other.logits()), values(session.logits()));
  EXPECT_TRUE(std::equal(other.tokens().begin(), other.tokens().end(), session.tokens().begin(), session.tokens().end()));
  const auto a = session.append(some_tokens(9, 13, 2)), b = other.append(some_tokens(9, 13, 2));
  EXPECT_EQ(values(*a), values(*b));
  std::remove(path.c_str());
}

TEST(Session, AdoptRefusesWhatIsNotItsOwnAndSaysWhich) {
  Bench bench(with_ring());
  Session session = bench.session();
  ASSERT_TRUE(session.append(some_tokens(12)).ok());
  const SessionState state = *session.state();
  const auto field_of = [](Session& to, const SessionState& s) {
    const auto before = to.position();
    const Status status = to.adopt(s);
    EXPECT_EQ(to.position(), before) << "nothing changes";
    return status.detail().field;
  };
  SessionState broken = state;
  broken.bytes[100] ^= std::byte{1};
  EXPECT_EQ(field_of(session, broken), "checksum");
  broken = state;
  broken.bytes[0] = std::byte{0};
  EXPECT_EQ(field_of(session, broken), "magic");
  broken.bytes.resize(10);
  EXPECT_EQ(field_of(session, broken), "size");
  Bench another(with_ring());
  another.program.set_identity(Digest{std::byte{2}});
  Session stranger = another.session();
  EXPECT_EQ(field_of(stranger, state), "program");
  TinyConfig larger = with_ring();
  larger.layers[1].slots = 9;
  Bench reshaped(larger);
  Session other_geometry = reshaped.session();
  EXPECT_EQ(field_of(other_geometry, state).substr(0, 8), "geometry");
  EXPECT_EQ(session.restore("/nowhere/at/all").code(), Code::not_found);
  EXPECT_EQ(session.snapshot("/nowhere/at/all").ok(), false);
}

// In a model of one layer keys and values depend on token and position only, so what is left is what a fresh run would hold.
TEST(Session, EvictEqualsAFreshRunOfWhatIsLeft) {
  for (const ScalarType dtype : {ScalarType::Float, ScalarType::Half, ScalarType::BFloat16}) {
    TinyConfig config;
    config.layers = {{}};
    config.cache = dtype;
    Bench bench(config);
    Session session = bench.session();
    const auto tokens = some_tokens(15);
    ASSERT_TRUE(session.append(tokens).ok());
    session.set_pending(2);
    ASSERT_TRUE(session.evict(3, 8).ok());
    EXPECT_EQ(session.position(), 10u);
    EXPECT_EQ(session.pending(), 2) << "still the token that comes next";
    std::vector<TokenId> left(tokens.begin(), tokens.begin() + 3);
    left.insert(left.end(), tokens.begin() + 8, tokens.end());
    EXPECT_TRUE(std::equal(left.begin(), left.end(), session.tokens().begin(), session.tokens().end()));
    const auto more = some_tokens(5, 13, 4);
    left.insert(left.end(), more.begin(), more.end());
    const auto logits = session.append(more);
    ASSERT_TRUE(logits.ok());
    expect_near(*logits, bench.from_scratch(left), dtype == ScalarType::Float ? 1e-5f : dtype == ScalarType::Half ? 5e-3f : 5e-2f);
  }
}

TEST(Session, EvictIsAnErrorWhereItCannotBe) {
  Bench ring(with_ring());
  Session session = ring.session();
  ASSERT_TRUE(session.append(some_tokens(9)).ok());
  EXPECT_EQ(session.evict(1, 3).code(), Code::unsupported);
  EXPECT_EQ(session.evict(3, 1).code(), Code::invalid_argument);
  EXPECT_EQ(session.evict(3, 10).code(), Code::invalid_argument);
  EXPECT_TRUE(session.evict(3, 3).ok()) << "nothing to do";
  TinyConfig config;
  config.rope_facts = false;
  Bench silent(config);
  Session plain = silent.session();
  ASSERT_TRUE(plain.append(some_tokens(9)).ok());
  EXPECT_EQ(plain.evict(1, 3).detail().field, "rope");
  EXPECT_EQ(plain.position(), 9u);
}

TEST(Session, SpeculationCommitsOnlyWhatIsAccepted) {
  TinyConfig config = with_ring();
  config.verify_rows = 4;
  Bench bench(config);
  Session session = bench.session();
  EXPECT_EQ(session.speculation_rows(), 4u);
  std::vector<TokenId> committed;
  std::mt19937 random(4);
  while (session.speculation_rows() > 0) {
    const auto guess = some_tokens(1 + random() % 4, 13, static_cast<uint32_t>(random()));
    ASSERT_TRUE(session.speculate(guess).ok());
    EXPECT_EQ(session.position(), committed.size());
    const size_t keep = 1 + random() % guess.size();
    for (size_t i = 0; i < keep; ++i) {
      committed.push_back(guess[i]);
      auto logits = session.speculated_logits(i);
      ASSERT_TRUE(logits.ok());
      expect_near(*logits, bench.from_scratch(committed));
    }
    EXPECT_EQ(session.speculated_logits(guess.size()).code(), Code::invalid_argument);
    EXPECT_EQ(session.accept(guess.size() + 1).code(), Code::invalid_argument);
    ASSERT_TRUE(session.accept(keep).ok());
    EXPECT_EQ(session.position(), committed.size());
  }
  EXPECT_GT(session.position() + 4, session.capacity());
  EXPECT_EQ(bench.session({}, {.use_verify = false}).speculate(some_tokens(2)).code(), Code::unsupported) << "the method was not loaded";
}

TEST(Session, RowsAreShownOneByOne) {
  for (const auto& [all, verify] : {std::pair(false, 0), std::pair(true, 0), std::pair(false, 3), std::pair(true, 3)}) {
    TinyConfig config = with_ring();
    config.prefill_all = all;
    config.verify_rows = verify;
    Bench bench(config);
    Session session = bench.session();
    const auto tokens = some_tokens(27);
    size_t seen = 0;
    ASSERT_TRUE(session.append_rows(tokens, [&](size_t index, LogitsView logits) {
      EXPECT_EQ(index, seen++);
      expect_near(logits, bench.from_scratch(std::span(tokens).first(index + 1)));
      return Status();
    }).ok());
    EXPECT_EQ(seen, 27u);
    EXPECT_EQ(session.position(), 27u);
  }
}

TEST(Session, CancelEndsAnAppendBetweenCalls) {
  Bench bench;
  Session session = bench.session();
  session.cancel();
  EXPECT_EQ(session.append(some_tokens(9)).code(), Code::cancelled);
  EXPECT_EQ(session.position(), 0u);
  EXPECT_FALSE(session.poisoned());
  EXPECT_TRUE(session.append(some_tokens(9)).ok()) << "once";
}

TEST(Session, ThreadsDriveSessionsOfOneProgram) {
  Bench bench(with_ring());
  std::vector<std::thread> threads;
  std::vector<std::vector<float>> results(4);
  for (size_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      auto session = Session::create(*bench.contract, bench.program);
      for (int round = 0; round < 20; ++round) {
        (void)session->reset();
        for (const TokenId token : some_tokens(30, 13, static_cast<uint32_t>(i))) (void)session->append(std::span(&token, 1));
      }
      results[i] = values(session->logits());
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < 4; ++i) expect_near(results[i], bench.from_scratch(some_tokens(30, 13, static_cast<uint32_t>(i))));
}

// Random operations against a model that knows only the tokens and recomputes from scratch.
class Soak {
 public:
  // `evicts`: only in a model of one layer is what is left the same as what a fresh run would hold.
  Soak(TinyConfig config, uint32_t seed, bool evicts = false)
      : evicts_(evicts), bench_(std::move(config)), random_(seed), session_(bench_.session()), reference_(bench_.session({}, {.use_prefill = false})) {}

  void run(int operations) {
    for (int i = 0; i < operations && !::testing::Test::HasFatalFailure(); ++i) {
      SCOPED_TRACE("operation " + std::to_string(i));
      switch (random_() % 12) {
        case 0: rewind(); break;
        case 1: fork(); break;
        case 2: save(); break;
        case 3: restore(); break;
        case 4: reset(); break;
        case 5: fail(); break;
        case 6: speculate(); break;
        case 7: evicts_ ? evict() : append(); break;
        default: append(); break;
      }
      ASSERT_EQ(session_.position(), tokens_.size());
      ASSERT_TRUE(std::equal(tokens_.begin(), tokens_.end(), session_.tokens().begin()));
      ASSERT_EQ(session_.can_append(1), tokens_.size() < session_.capacity());
    }
  }

 private:
  void check(LogitsView logits) {
    ASSERT_TRUE(reference_.reset().ok());
    const auto expected = reference_.append(tokens_);
    ASSERT_TRUE(expected.ok());
    expect_near(logits, *expected, evicts_ ? 1e-4f : 1e-5f);
  }
  void evict() {
    const size_t from = random_() % (tokens_.size() + 1), to = from + random_() % (tokens_.size() - from + 1);
    ASSERT_TRUE(session_.evict(from, to).ok());
    tokens_.erase(tokens_.begin() + static_cast<std::ptrdiff_t>(from), tokens_.begin() + static_cast<std::ptrdiff_t>(to));
  }
  void append() {
    const auto more = some_tokens(1 + random_() % 9, 13, static_cast<uint32_t>(random_()));
    const bool fits = session_.can_append(more.size());
    const auto logits = session_.append(more);
    ASSERT_EQ(logits.ok(), fits);
    if (!fits) return;
    tokens_.insert(tokens_.end(), more.begin(), more.end());
    check(*logits);
  }
  void rewind() {
    const size_t to = tokens_.empty() ? 0 : random_() % (tokens_.size() + 1);
    if (session_.rewind(to).ok()) tokens_.resize(to);
  }
  void fork() {
    auto copy = session_.fork();
    ASSERT_TRUE(copy.ok());
    session_ = std::move(*copy);
  }
  void save() {
    auto state = session_.state();
    ASSERT_TRUE(state.ok());
    saved_ = std::move(*state);
    saved_tokens_ = tokens_;
  }
  void restore() {
    if (saved_.bytes.empty()) return;
    ASSERT_TRUE(session_.adopt(saved_).ok());
    tokens_ = saved_tokens_;
    if (!session_.logits().empty()) check(session_.logits());
  }
  void reset() {
    if (random_() % 4 != 0) return;
    ASSERT_TRUE(session_.reset().ok());
    tokens_.clear();
  }
  void fail() {
    if (!session_.can_append(1)) return;
    bench_.program.fail_after(0);
    ASSERT_EQ(session_.append(some_tokens(1)).code(), Code::internal);
    ASSERT_EQ(session_.append(some_tokens(1)).code(), Code::poisoned);
    if (saved_.bytes.empty()) {
      ASSERT_TRUE(session_.reset().ok());
      tokens_.clear();
    } else {
      restore();
    }
  }
  void speculate() {
    if (session_.speculation_rows() == 0) return;
    const auto guess = some_tokens(1 + random_() % 3, 13, static_cast<uint32_t>(random_()));
    ASSERT_TRUE(session_.speculate(guess).ok());
    const size_t keep = 1 + random_() % guess.size();
    ASSERT_TRUE(session_.accept(keep).ok());
    tokens_.insert(tokens_.end(), guess.begin(), guess.begin() + static_cast<std::ptrdiff_t>(keep));
    check(session_.logits());
  }

  const bool evicts_;
  Bench bench_;
  std::mt19937 random_;
  Session session_, reference_;
  std::vector<TokenId> tokens_, saved_tokens_;
  SessionState saved_;
};

TEST(Session, TenThousandRandomOperationsAgreeWithTheModel) {
  TinyConfig config = with_ring();
  config.verify_rows = 3;
  Soak(config, 1).run(2500);
  config.states = testing::States::planned;
  config.mask = ScalarType::Bool;
  Soak(config, 2).run(2500);
  TinyConfig one_layer;
  one_layer.layers = {{}};
  one_layer.verify_rows = 3;
  Soak(one_layer, 4, true).run(2500);
  TinyConfig narrow;
  narrow.layers = {{.window = 3}, {.window = 3}};
  narrow.C = 7;
  narrow.L = 30;
  narrow.verify_rows = 3;
  Soak(narrow, 3).run(2500);
}

}  // namespace
}  // namespace pteron::llm
