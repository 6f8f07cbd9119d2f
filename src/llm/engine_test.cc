#include "llm/engine.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/allocations_for_test.h"
#include "builtin/run/builtin.h"
#include "llm/conformance.h"
#include "llm/testing/counting_allocator.h"
#include "package/open.h"

namespace pteron::llm {
namespace {

EngineOptions portable() {
  EngineOptions options;
  options.load.kernels = &builtin::builtin_kernels();
  options.load.backends = builtin::builtin_run_backends();
  return options;
}

std::shared_ptr<const Engine> engine_of(const std::string& name, const EngineOptions& options = portable()) {
  auto program = package::open(PTERON_TEST_DATA "/llm/programs/" + name);
  EXPECT_TRUE(program.ok()) << program.status().message();
  auto engine = Engine::create(std::move(program->program), options);
  EXPECT_TRUE(engine.ok()) << engine.status().message();
  return engine.ok() ? *engine : nullptr;
}

// Tensors of a safetensors file, as their bytes.
class Golden {
 public:
  explicit Golden(const std::string& name) {
    std::ifstream file(PTERON_TEST_DATA "/arch/" + name + ".golden.safetensors", std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    uint64_t header = 0;
    std::memcpy(&header, bytes_.data(), 8);
    base_ = 8 + header;
    json_ = nlohmann::json::parse(bytes_.begin() + 8, bytes_.begin() + static_cast<std::ptrdiff_t>(base_));
  }
  template <class T>
  std::vector<T> tensor(const std::string& name) const {
    const auto& offsets = json_.at(name).at("data_offsets");
    const size_t begin = offsets[0], end = offsets[1];
    std::vector<T> out((end - begin) / sizeof(T));
    std::memcpy(out.data(), bytes_.data() + base_ + begin, end - begin);
    return out;
  }
  std::vector<TokenId> ids(const std::string& name) const { return tensor<TokenId>(name); }

 private:
  std::string bytes_;
  size_t base_ = 0;
  nlohmann::json json_;
};

// Real programs against the reference, one token a call and in chunks of every size.
TEST(Engine, LogitsAndGreedyTokensEqualTheReference) {
  for (const auto& [program, golden_name] : std::vector<std::pair<std::string, std::string>>{{"llama_gqa.pte", "llama_gqa"}, {"mistral_sliding.pte", "mistral_sliding"}}) {
    const auto engine = engine_of(program);
    ASSERT_NE(engine, nullptr);
    const Golden golden(golden_name);
    for (const size_t chunk : {size_t{0}, size_t{1}, size_t{2}, size_t{3}, engine->limits().prefill_rows}) {
      ManagerOptions manager;
      manager.use_prefill = chunk > 0;
      Session session = *engine->new_session(manager, {.chunk = chunk, .min_chunk = 1});
      for (int i = 0; i < 4; ++i) {
        const std::string name = "seq" + std::to_string(i);
        const auto ids = golden.ids(name + ".ids");
        const auto expected = golden.tensor<float>(name + ".logits");
        if (ids.size() + 24 > session.capacity()) continue;
        ASSERT_TRUE(session.reset().ok());
        const auto logits = session.append(ids);
        ASSERT_TRUE(logits.ok()) << logits.status().message();
        const float* last = expected.data() + expected.size() - logits->size();
        for (size_t v = 0; v < logits->size(); ++v) ASSERT_NEAR((*logits)[v], last[v], 1e-4) << program << " " << name << " chunks of " << chunk;
        GenerateOptions options;
        options.sampler.temperature = 0;
        options.max_tokens = 24;
        auto out = generate(session, nullptr, options);
        ASSERT_TRUE(out.ok());
        EXPECT_EQ(out->tokens, golden.ids(name + ".greedy")) << program << " " << name;
      }
    }
  }
}

TEST(Engine, CachesHoldTheReferencesKeysAndValues) {
  const auto engine = engine_of("llama_gqa.pte");
  const Golden golden("llama_gqa");
  Session session = *engine->new_session();
  const auto ids = golden.ids("seq1.ids");
  ASSERT_TRUE(session.append(ids).ok());
  for (const CacheView& cache : session.caches()) {
    const auto expected = golden.tensor<float>((cache.key ? "seq1.key." : "seq1.value.") + std::to_string(cache.layer));
    const size_t heads = static_cast<size_t>(cache.tensor.sizes[1]), slots = static_cast<size_t>(cache.tensor.sizes[2]), dim = static_cast<size_t>(cache.tensor.sizes[3]);
    const auto* found = static_cast<const float*>(cache.tensor.data);
    for (size_t h = 0; h < heads; ++h) {
      for (size_t i = 0; i < ids.size() * dim; ++i) ASSERT_NEAR(found[h * slots * dim + i], expected[h * ids.size() * dim + i], 1e-4);
    }
  }
}

TEST(Engine, EveryRowEqualsTheReference) {
  const auto engine = engine_of("mistral_sliding.pte");
  const Golden golden("mistral_sliding");
  Session session = *engine->new_session();
  const auto ids = golden.ids("seq3.ids");
  const auto expected = golden.tensor<float>("seq3.logits");
  const size_t vocab = session.vocab_size();
  ASSERT_LE(ids.size(), session.capacity());
  ASSERT_TRUE(session.append_rows(ids, [&](size_t row, LogitsView logits) {
    for (size_t v = 0; v < vocab; ++v) EXPECT_NEAR(logits[v], expected[row * vocab + v], 1e-4);
    return Status();
  }).ok());
}

TEST(Engine, AssetsComeFromTheFile) {
  const auto engine = engine_of("llama_gqa.pte");
  ASSERT_NE(engine->tokenizer(), nullptr);
  EXPECT_EQ(engine->tokenizer()->token_to_id("<|end|>"), 0);
  EXPECT_NE(engine->chat_template().find("message.content"), std::string_view::npos);
  EXPECT_EQ(engine->generation_config().temperature, 0.5);
  EXPECT_EQ(engine->eos_tokens(), (std::vector<TokenId>{0}));
  EXPECT_EQ(engine->default_options().sampler.temperature, 0.5);
  EXPECT_EQ(engine->default_options().eos_tokens, (std::vector<TokenId>{0}));
  EXPECT_EQ(engine->limits().context_length, 96u);
  EXPECT_EQ(engine->limits().prefill_rows, 8u);
  EXPECT_GT(engine->bytes_per_session(), engine->io().cache_bytes());
  const auto bare = engine_of("mistral_sliding.pte");
  EXPECT_EQ(bare->tokenizer(), nullptr);
  EXPECT_TRUE(bare->chat_template().empty());
  EXPECT_EQ(bare->default_options().sampler.temperature, 0);
}

TEST(Engine, WritesText) {
  const auto engine = engine_of("llama_gqa.pte");
  Session session = *engine->new_session();
  const auto prompt = *engine->tokenizer()->encode("the cat on a mat");
  ASSERT_TRUE(session.append(prompt).ok());
  GenerateOptions options = engine->default_options();
  options.max_tokens = 40;
  std::string streamed;
  const auto out = generate(session, engine->tokenizer(), options, [&](const TokenEvent& event) {
    streamed += event.text;
    return Flow::go_on;
  });
  ASSERT_TRUE(out.ok()) << out.status().message();
  EXPECT_EQ(out->text, streamed);
}

TEST(Engine, ATokenAllocatesNothing) {
  if (!pteron::testing::kCountsAllocations) GTEST_SKIP() << "a sanitizer allocates";
  for (const char* program : {"llama_gqa.pte", "mistral_sliding.pte"}) {
    const auto engine = engine_of(program);
    ASSERT_NE(engine, nullptr);
    Session session = *engine->new_session();
    SamplerParams params;
    params.repetition_penalty = 1.1;
    params.temperature = 0.8;
    params.top_k = 8;
    params.top_p = 0.9;
    params.seed = 3;
    auto sampler = Sampler::create(params, session.vocab_size());
    ASSERT_TRUE(sampler.ok());
    std::vector<TokenId> text = {1, 2, 3, 4, 5, 6};
    text.reserve(64);
    auto logits = session.append(text);
    size_t before = 0;
    for (size_t i = 0; i < 32; ++i) {
      if (i == 8) before = pteron::testing::allocations;  // warm
      ASSERT_TRUE(logits.ok());
      const auto token = sampler->sample(*logits, {.prompt = std::span(text).first(6), .generated = std::span(text).subspan(6), .banned = {}});
      ASSERT_TRUE(token.ok());
      text.push_back(*token);
      logits = session.append(std::span(text).last(1));
    }
    EXPECT_EQ(pteron::testing::allocations - before, 0u) << program;
    EXPECT_EQ(session.position(), 38u);
    EXPECT_GT(before, 0u);
  }
}

// Caches, inputs, outputs and arenas of a real program: the hook fails at each of its calls in turn, up to the first use.
TEST(Engine, EveryAllocationOfARealProgramMayFail) {
  const auto engine = engine_of("mistral_sliding.pte");
  ASSERT_NE(engine, nullptr);
  size_t calls = SIZE_MAX, failures = 0;
  for (size_t fail_at = 0; fail_at <= calls; ++fail_at) {
    testing::CountingAllocator allocator;
    allocator.fail_at = fail_at;
    {
      auto session = engine->new_session({.allocator = &allocator}, {});
      auto logits = session.ok() ? session->append(std::vector<TokenId>{1, 2, 3, 4, 5}) : Result<LogitsView>(session.status());
      if (logits.ok()) {
        calls = allocator.calls;
      } else {
        ++failures;
        EXPECT_TRUE(logits.code() == Code::out_of_memory || logits.code() == Code::internal) << logits.status().message();
      }
    }
    EXPECT_EQ(allocator.live(), 0u) << fail_at;
    EXPECT_EQ(allocator.mistakes, 0u) << fail_at;
    ASSERT_LT(fail_at, 1000u);
  }
  EXPECT_EQ(failures, calls) << "an error each time";
  EXPECT_GT(calls, 20u);
}

TEST(Engine, SnapshotsBelongToTheirProgram) {
  const auto one = engine_of("llama_gqa.pte"), other = engine_of("mistral_sliding.pte");
  Session session = *one->new_session();
  ASSERT_TRUE(session.append(std::vector<TokenId>{5, 6, 7}).ok());
  const SessionState state = *session.state();
  EXPECT_EQ(other->new_session()->adopt(state).detail().field, "program");
  const auto again = engine_of("llama_gqa.pte");
  Session restored = *again->new_session();
  ASSERT_TRUE(restored.adopt(state).ok());
  const TokenId next = 8;
  const auto a = session.append(std::span(&next, 1)), b = restored.append(std::span(&next, 1));
  EXPECT_TRUE(std::equal(a->begin(), a->end(), b->begin()));
}

TEST(Engine, RealProgramsConform) {
  for (const char* name : {"llama_gqa.pte", "mistral_sliding.pte"}) {
    const auto engine = engine_of(name);
    ConformanceOptions options;
    auto results = run_conformance(engine->methods(), options);
    ASSERT_TRUE(results.ok());
    for (const CaseResult& result : *results) EXPECT_NE(result.outcome, Outcome::failed) << name << " " << result.name << ": " << result.detail;
  }
}

TEST(Engine, AProgramWithoutAContractIsRefused) {
  auto program = package::open(PTERON_TEST_DATA "/llm/programs/llama_gqa.pte");
  IoManagerRegistry empty;
  EngineOptions options = portable();
  options.registry = &empty;
  const auto engine = Engine::create(std::move(program->program), options);
  EXPECT_EQ(engine.code(), Code::unsupported);
  EXPECT_EQ(engine.status().detail().field, "io_contract.contract");
  EXPECT_FALSE(engine.status().detail().file.empty());
}

}  // namespace
}  // namespace pteron::llm
