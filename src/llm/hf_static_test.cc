#include "llm/hf_static.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "llm/session.h"
#include "llm/testing/counting_allocator.h"
#include "llm/testing/tiny_program.h"

namespace pteron::llm {
namespace {

using testing::CountingAllocator;
using testing::States;
using testing::TinyConfig;
using testing::TinyProgram;

std::vector<TokenId> some_tokens(size_t count, size_t vocab, uint32_t seed = 1) {
  std::mt19937 random(seed);
  std::vector<TokenId> tokens(count);
  for (TokenId& token : tokens) token = static_cast<TokenId>(random() % vocab);
  return tokens;
}

std::unique_ptr<IoContract> open(const MethodSource& source) {
  auto contract = IoManagerRegistry::with_defaults().open(source);
  EXPECT_TRUE(contract.ok()) << contract.status().message();
  return std::move(*contract);
}

// The logits after the tokens, in chunks of `chunk` rows (0: decode only).
std::vector<float> logits_of(const TinyConfig& config, const std::vector<TokenId>& tokens, size_t chunk) {
  TinyProgram program(config);
  const auto contract = open(program);
  ManagerOptions manager;
  manager.use_prefill = chunk > 0;
  auto session = Session::create(*contract, program, manager, {.chunk = chunk, .min_chunk = 1});
  EXPECT_TRUE(session.ok()) << session.status().message();
  auto logits = session->append(tokens);
  EXPECT_TRUE(logits.ok()) << logits.status().message();
  return logits.ok() ? std::vector<float>(logits->begin(), logits->end()) : std::vector<float>();
}

void expect_near(const std::vector<float>& a, const std::vector<float>& b, float tolerance, const std::string& what) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], tolerance) << what << " at " << i;
}

// Every way to write the same program gives the same logits, whatever the chunking.
TEST(HfStatic, VariantsOfAProgramAgree) {
  TinyConfig base;
  base.L = 40;
  base.layers = {{}, {.window = 6}, {}};
  const auto tokens = some_tokens(33, 13);
  const auto expected = logits_of(base, tokens, 0);
  std::vector<std::pair<std::string, TinyConfig>> variants;
  const auto vary = [&](const std::string& name, auto&& change) {
    TinyConfig config = base;
    change(config);
    variants.emplace_back(name, config);
  };
  vary("as it is", [](TinyConfig&) {});
  vary("int32 ids", [](TinyConfig& c) { c.ids = c.positions = ScalarType::Int; });
  vary("int32 positions only", [](TinyConfig& c) { c.positions = ScalarType::Int; });
  vary("boolean masks", [](TinyConfig& c) { c.mask = ScalarType::Bool; });
  vary("float16 masks", [](TinyConfig& c) { c.mask = ScalarType::Half; });
  vary("bfloat16 masks", [](TinyConfig& c) { c.mask = ScalarType::BFloat16; });
  vary("all logits rows", [](TinyConfig& c) { c.prefill_all = true; });
  vary("selected decode", [](TinyConfig& c) { c.decode_selected = true; });
  vary("counter", [](TinyConfig& c) { c.counter = true; });
  vary("scalar counter", [](TinyConfig& c) { c.counter = c.counter_scalar = true; });
  vary("aliased states", [](TinyConfig& c) { c.states = States::aliased; });
  vary("separate states", [](TinyConfig& c) { c.states = States::separate; });
  vary("planned states", [](TinyConfig& c) { c.states = States::planned; });
  vary("verify method", [](TinyConfig& c) { c.verify_rows = 3; });
  vary("a larger ring", [](TinyConfig& c) { c.layers[1].slots = 17; });
  vary("a flat window", [](TinyConfig& c) { c.layers[1].slots = 40; });
  vary("another pad token", [](TinyConfig& c) { c.pad = 12; });
  vary("decode only", [](TinyConfig& c) { c.C = 0; });
  vary("chunks as wide as the window", [](TinyConfig& c) { c.C = 6; });
  vary("chunks wider than the window", [](TinyConfig& c) { c.C = 9; });
  for (const auto& [name, config] : variants) {
    for (const size_t chunk : {size_t{0}, size_t{1}, size_t{3}, static_cast<size_t>(config.C)}) {
      expect_near(logits_of(config, tokens, chunk), expected, 1e-6f, name + ", chunks of " + std::to_string(chunk));
    }
  }
}

TEST(HfStatic, SixteenBitCachesAndLogitsStayWithinTheirRounding) {
  TinyConfig config;
  const auto tokens = some_tokens(20, 13);
  const auto expected = logits_of(config, tokens, 0);
  for (const ScalarType dtype : {ScalarType::Half, ScalarType::BFloat16}) {
    TinyConfig narrow = config;
    narrow.cache = dtype;
    const auto decoded = logits_of(narrow, tokens, 0);
    expect_near(decoded, expected, 0.1f, "caches");
    expect_near(logits_of(narrow, tokens, 4), decoded, 1e-6f, "chunks");
    narrow.logits = dtype;
    expect_near(logits_of(narrow, tokens, 4), decoded, 0.02f, "logits");
  }
}

TEST(HfStatic, AWindowAsLargeAsTheContextIsAFullLayer) {
  TinyConfig full, sliding;
  full.layers = {{}};
  sliding.layers = {{.window = 30}};
  const auto tokens = some_tokens(24, 13);
  expect_near(logits_of(sliding, tokens, 4), logits_of(full, tokens, 4), 0, "window 30 of 24");
}

TEST(HfStatic, OnlySelectedMethodsAreLoaded) {
  TinyConfig config;
  config.verify_rows = 3;
  TinyProgram program(config);
  const auto contract = open(program);
  ManagerOptions options;
  options.use_prefill = options.use_verify = false;
  ASSERT_TRUE(contract->new_manager(program, options).ok());
  EXPECT_EQ(program.loaded(), (std::vector<std::string>{"decode"}));
  options.use_prefill = options.use_verify = true;
  ASSERT_TRUE(contract->new_manager(program, options).ok());
  EXPECT_EQ(program.loaded(), (std::vector<std::string>{"decode", "decode", "prefill", "verify"}));
}

TEST(HfStatic, BytesPerSessionAreWhatIsAllocated) {
  for (const bool sliding : {false, true}) {
    TinyConfig config;
    config.counter = true;
    config.states = States::planned;
    if (sliding) config.layers = {{.window = 5}, {}};
    TinyProgram program(config);
    const auto contract = open(program);
    CountingAllocator allocator;
    ManagerOptions options;
    options.allocator = &allocator;
    {
      auto manager = contract->new_manager(program, options);
      ASSERT_TRUE(manager.ok());
      EXPECT_EQ(allocator.most_bytes, contract->bytes_per_session());
    }
    EXPECT_EQ(allocator.live(), 0u);
    EXPECT_EQ(allocator.mistakes, 0u);
  }
}

// Fails at every single call of the hook, in turn: an error each time, and nothing leaks.
TEST(HfStatic, ASessionThatNoMachineHoldsIsRefusedBeforeAnything) {
  TinyConfig config;
  config.L = INT32_MAX;
  config.heads = 4096;
  TinyProgram program(config);
  const auto contract = IoManagerRegistry::with_defaults().open(program);
  ASSERT_TRUE(contract.ok()) << contract.status().message();
  const auto session = Session::create(**contract, program);
  EXPECT_EQ(session.code(), Code::out_of_memory);
  EXPECT_EQ(session.status().detail().field, "context_length");
  EXPECT_NE(session.status().detail().found.find("2147483647 tokens"), std::string::npos);
}

TEST(HfStatic, EveryAllocationMayFail) {
  TinyConfig config;
  config.layers = {{}, {.window = 5}};
  config.counter = true;
  config.verify_rows = 2;
  TinyProgram program(config);
  const auto contract = open(program);
  size_t calls = SIZE_MAX;
  for (size_t fail_at = 0; fail_at <= calls; ++fail_at) {
    CountingAllocator allocator;
    allocator.fail_at = fail_at;
    ManagerOptions options;
    options.allocator = &allocator;
    options.use_verify = true;
    {
      auto session = Session::create(*contract, program, options);
      if (session.ok()) {
        calls = allocator.calls;
        ASSERT_TRUE(session->append(some_tokens(7, 13)).ok());
        ASSERT_TRUE(session->reset().ok());
      } else {
        EXPECT_TRUE(session.code() == Code::out_of_memory || session.code() == Code::internal);
      }
    }
    EXPECT_EQ(allocator.live(), 0u) << fail_at;
    EXPECT_EQ(allocator.mistakes, 0u) << fail_at;
    ASSERT_LT(fail_at, 1000u);
  }
  EXPECT_GT(calls, 20u);
}

TEST(HfStatic, CachesStartAndResetAsZeros) {
  TinyConfig config;
  config.layers = {{}, {.window = 5}};
  TinyProgram program(config);
  const auto contract = open(program);
  CountingAllocator allocator;
  ManagerOptions options;
  options.allocator = &allocator;
  auto session = Session::create(*contract, program, options);
  ASSERT_TRUE(session.ok());
  const auto all_zero = [](const CacheView& cache) {
    const auto* bytes = static_cast<const std::byte*>(cache.tensor.data);
    return std::all_of(bytes, bytes + cache.tensor.nbytes, [](std::byte b) { return b == std::byte{0}; });
  };
  std::vector<const void*> addresses;
  for (const CacheView& cache : session->caches()) {
    EXPECT_TRUE(all_zero(cache));
    addresses.push_back(cache.tensor.data);
  }
  ASSERT_EQ(addresses.size(), 4u);
  ASSERT_TRUE(session->reset().ok());
  ASSERT_TRUE(session->append(some_tokens(20, 13)).ok());
  ASSERT_TRUE(session->reset().ok());
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(all_zero(session->caches()[i])) << i;
    EXPECT_EQ(session->caches()[i].tensor.data, addresses[i]);
  }
  // What a caller wrote goes too, wherever it was.
  std::memset(session->caches()[0].tensor.data, 0x7F, session->caches()[0].tensor.nbytes);
  ASSERT_TRUE(session->reset().ok());
  EXPECT_TRUE(all_zero(session->caches()[0]));
}

}  // namespace
}  // namespace pteron::llm
