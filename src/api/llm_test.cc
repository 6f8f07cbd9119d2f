// A checkpoint exported for the cpu backend and run: what threads, instruction sets and counting change, and what they must not;
// and contracts of an application's own.
#include "pteron/llm.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "api/tiny_model.h"
#include "pteron/compile.h"
#include "pteron/io_manager.h"

namespace {
std::atomic<bool> counting{false};
std::atomic<size_t> allocations{0};
}  // namespace

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// Every allocation of the process comes through here: operator new calls malloc. Sanitizers have an allocator of their own.
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* malloc(size_t bytes) {
  if (counting) ++allocations;
  return __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) {
  if (counting) ++allocations;
  return __libc_calloc(count, bytes);
}
void* realloc(void* old, size_t bytes) {
  if (counting) ++allocations;
  return __libc_realloc(old, bytes);
}
}
#define PTERON_COUNTS_ALLOCATIONS 1
#else
#define PTERON_COUNTS_ALLOCATIONS 0
#endif

namespace pteron {
namespace {

class CpuProgram : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder = std::filesystem::temp_directory_path() / ("pteron_llm_test_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder);
    for (const auto& [name, quant] : {std::pair{"int4", Quantization::int4}, {"int8", Quantization::int8}, {"float", Quantization::none}}) {
      ExportRequest request;
      request.source = std::string(PTERON_TEST_DATA) + "/arch/llama_gqa";
      request.output = path(name);
      request.quant = quant;
      request.context_length = 128;
      request.prefill_rows = 16;
      const auto made = export_program(request);
      ASSERT_TRUE(made.ok()) << made.status().message();
    }
  }
  static void TearDownTestSuite() { std::filesystem::remove_all(folder); }
  static std::string path(const std::string& name) { return (folder / (name + ".pte")).string(); }

  // The logits after a prompt of 21 tokens and of 10 more, one by one.
  static std::vector<std::vector<float>> logits(const std::string& program, size_t threads) {
    EngineOptions options;
    options.threads = threads;
    auto engine = Engine::load(path(program), options);
    EXPECT_TRUE(engine.ok()) << engine.status().message();
    auto session = engine->new_session();
    EXPECT_TRUE(session.ok()) << session.status().message();
    std::vector<TokenId> prompt;
    for (size_t i = 0; i < 21; ++i) prompt.push_back(static_cast<TokenId>((i * 29 + 3) % engine->vocab_size()));
    std::vector<std::vector<float>> out;
    for (size_t i = 0; i <= 10; ++i) {
      const TokenId next = static_cast<TokenId>((i * 17 + 5) % engine->vocab_size());
      const auto row = i == 0 ? session->append(prompt) : session->append({&next, 1});
      EXPECT_TRUE(row.ok()) << row.status().message();
      if (!row.ok()) break;
      out.emplace_back(row->size());
      for (size_t v = 0; v < row->size(); ++v) out.back()[v] = (*row)[v];
    }
    return out;
  }

  static std::filesystem::path folder;
};
std::filesystem::path CpuProgram::folder;

TEST_F(CpuProgram, LogitsDoNotDependOnTheNumberOfThreadsAndRepeat) {
  for (const char* program : {"int4", "int8", "float"}) {
    const auto one = logits(program, 1);
    ASSERT_EQ(one.size(), 11u);
    for (const size_t threads : {size_t{1}, size_t{2}, size_t{3}}) EXPECT_EQ(logits(program, threads), one) << program << " with " << threads;
  }
}

// docs/cpu_backend.md states the bound: logits of all instruction sets within 2 % of the largest logit of the reference (a value between two steps of
// an activation's 8 bits may round to the other one), and within 1e-4 of it where no weight is quantised.
TEST_F(CpuProgram, InstructionSetsAgreeWithTheScalarReference) {
  for (const char* program : {"int4", "int8", "float"}) {
    ASSERT_EQ(setenv("PTERON_CPU", "scalar", 1), 0);
    const auto reference = logits(program, 2);
    for (const char* target : {"avx2", "avxvnni", "avx512vnni", "neon", "dotprod", "i8mm"}) {
      ASSERT_EQ(setenv("PTERON_CPU", target, 1), 0);
      if (Engine::load(path(program)).code() == Code::invalid_argument) continue;  // not on this machine
      const auto got = logits(program, 2);
      float largest = 0, worst = 0;
      for (size_t i = 0; i < reference.size(); ++i) {
        for (size_t v = 0; v < reference[i].size(); ++v) {
          largest = std::max(largest, std::abs(reference[i][v]));
          worst = std::max(worst, std::abs(reference[i][v] - got[i][v]));
        }
      }
      EXPECT_LE(worst, largest * (std::string(program) == "float" ? 1e-4f : 0.02f)) << program << " on " << target;
    }
  }
  unsetenv("PTERON_CPU");
}

TEST_F(CpuProgram, NothingIsAllocatedAfterTheFirstCalls) {
  if (PTERON_COUNTS_ALLOCATIONS == 0) GTEST_SKIP() << "a sanitizer allocates";
  for (const char* program : {"int4", "float"}) {
    EngineOptions options;
    options.threads = 2;
    auto engine = Engine::load(path(program), options);
    ASSERT_TRUE(engine.ok()) << engine.status().message();
    auto session = engine->new_session();
    ASSERT_TRUE(session.ok());
    const std::vector<TokenId> prompt(21, 7);
    const TokenId token = 5;
    ASSERT_TRUE(session->append(prompt).ok());
    ASSERT_TRUE(session->append({&token, 1}).ok());
    allocations = 0;
    counting = true;
    bool ok = session->append(prompt).ok();
    for (int i = 0; i < 20; ++i) ok = ok && session->append({&token, 1}).ok();
    counting = false;
    EXPECT_TRUE(ok);
    EXPECT_EQ(allocations.load(), 0u) << program;
  }
}

TEST_F(CpuProgram, StepsAreCountedWhereSomebodyAsks) {
  EngineOptions options;
  options.profile = true;
  auto engine = Engine::load(path("int4"), options);
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  auto session = engine->new_session();
  ASSERT_TRUE(session.ok());
  const TokenId token = 5;
  ASSERT_TRUE(session->append({&token, 1}).ok());
  engine->clear_profile();
  EXPECT_TRUE(engine->profile().empty());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(session->append({&token, 1}).ok());
  std::map<std::string, StepProfile> steps;
  for (const StepProfile& step : engine->profile()) {
    EXPECT_EQ(step.method, "decode");
    steps[step.kind] = step;
  }
  EXPECT_EQ(steps["embed"].calls, 3u);
  EXPECT_EQ(steps["inputs"].calls, 3u);
  EXPECT_GT(steps["project"].calls, 3u);
  EXPECT_GT(steps["project"].bytes, 0u);
  EXPECT_GT(steps["project"].operations, steps["project"].bytes);
  EXPECT_GT(steps["attend"].bytes, 0u);
  EXPECT_GT(steps["project"].seconds, 0);

  auto plain = Engine::load(path("int4"));
  ASSERT_TRUE(plain.ok());
  EXPECT_TRUE(plain->profile().empty());
}

TEST_F(CpuProgram, WeightsAreListedWithTheErrorOfTheirQuantisation) {
  for (const auto& [name, least, most] : {std::tuple{"int4", 0.02, 0.15}, {"int8", 0.001, 0.01}}) {
    const auto program = Program::open(path(name));
    ASSERT_TRUE(program.ok());
    const std::string text = program->describe();
    const size_t encoding = text.find("\"encoding\": \"" + std::string(name) + "\"");
    ASSERT_NE(encoding, std::string::npos) << text;
    const size_t at = text.find("\"error\": ", encoding);
    ASSERT_NE(at, std::string::npos) << text;
    const double error = std::strtod(text.c_str() + at + 9, nullptr);
    EXPECT_GT(error, least) << name;
    EXPECT_LT(error, most) << name;
  }
  EXPECT_EQ(Program::open(path("float"))->describe().find("\"error\": "), std::string::npos);
}

// A tiny program as an engine, through the public interface alone.
class EngineApi : public TinyModel {
 protected:
  void SetUp() override {
    TinyModel::SetUp();
    EngineOptions options;
    options.threads = 1;
    Result<Engine> loaded = Engine::load(model(), options);
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    engine_.emplace(std::move(*loaded));
  }
  Session session() const { return std::move(*engine_->new_session()); }
  static std::vector<float> copy(const Result<LogitsView>& logits) { return {logits->begin(), logits->end()}; }
  std::optional<Engine> engine_;
};

TEST_F(EngineApi, EngineSaysWhatTheProgramIs) {
  EXPECT_EQ(engine_->context_length(), 64u);
  EXPECT_EQ(engine_->vocab_size(), 256u);
  EXPECT_EQ(engine_->prefill_rows(), 8u);
  EXPECT_GT(engine_->cache_bytes(), 0u);
  EXPECT_EQ(engine_->tokenizer(), nullptr);
  EXPECT_EQ(engine_->chat_template(), nullptr);
  EXPECT_EQ(engine_->default_generation().eos_tokens, std::vector<TokenId>{2});
  EXPECT_NE(engine_->contract_json().find("hf_static"), std::string_view::npos);
  EXPECT_FALSE(engine_->encode_prompt("text").ok());
}

TEST_F(EngineApi, ALongPromptIsRefusedBeforeAnyWork) {
  Session s = session();
  const std::vector<TokenId> long_prompt(65, 5);
  const Status status = s.append(long_prompt).status();
  EXPECT_EQ(status.code(), Code::out_of_capacity);
  EXPECT_NE(status.message().find("64"), std::string::npos);
  EXPECT_NE(status.message().find("65"), std::string::npos);
  EXPECT_EQ(s.position(), 0u);
  EXPECT_TRUE(s.append(std::vector<TokenId>{5}).ok());  // nothing was poisoned
}

TEST_F(EngineApi, RewindForkAndRestoreGiveTheSameLogits) {
  Session s = session();
  const std::vector<TokenId> prompt = {5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
  const std::vector<float> once = copy(s.append(prompt));
  ASSERT_TRUE(s.rewind(4).ok());
  EXPECT_EQ(copy(s.append(std::span(prompt).subspan(4))).size(), once.size());
  const std::string path = scratch() / "session";
  ASSERT_TRUE(s.snapshot(path).ok());
  Session other = session();
  ASSERT_TRUE(other.restore(path).ok());
  EXPECT_EQ(other.position(), prompt.size());
  Result<Session> fork = s.fork();
  ASSERT_TRUE(fork.ok());
  const std::vector<TokenId> next = {3};
  const std::vector<float> continued = copy(s.append(next));
  EXPECT_EQ(copy(fork->append(next)), continued);
  EXPECT_EQ(copy(other.append(next)), continued);
}

TEST_F(EngineApi, GenerationEndsWhereItIsTold) {
  Session s = session();
  ASSERT_TRUE(s.append(std::vector<TokenId>{5, 6, 7}).ok());
  GenerateOptions options = engine_->default_generation();
  options.eos_tokens.clear();
  options.max_tokens = 5;
  Result<Generation> made = s.generate(options);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(made->tokens.size(), 5u);
  EXPECT_EQ(made->finish_reason, FinishReason::length);
  options.max_tokens = 1000;
  made = s.generate(options);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->finish_reason, FinishReason::context);
  options.stop_strings = {"x"};
  EXPECT_FALSE(session().generate(options).ok());  // no tokenizer to find a text with
}

TEST_F(EngineApi, AStreamGivesTheSameTokensStepByStep) {
  const std::vector<TokenId> prompt = {5, 6, 7};
  GenerateOptions options = engine_->default_generation();
  options.eos_tokens.clear();
  options.max_tokens = 4;
  Session whole = session(), steps = session();
  ASSERT_TRUE(whole.append(prompt).ok());
  ASSERT_TRUE(steps.append(prompt).ok());
  const Result<Generation> expected = whole.generate(options);
  ASSERT_TRUE(expected.ok());
  Result<TokenStream> stream = steps.stream(options);
  ASSERT_TRUE(stream.ok());
  for (const TokenId token : expected->tokens) {
    const auto event = stream->next();
    ASSERT_TRUE(event.ok() && event->has_value());
    EXPECT_EQ((*event)->token, token);
  }
  EXPECT_FALSE(stream->next()->has_value());
  EXPECT_EQ(stream->finish()->tokens, expected->tokens);
  options.stop_strings = {"x"};
  EXPECT_FALSE(steps.stream(options).ok());
}

TEST_F(EngineApi, AppendCanBeStoppedBetweenCalls) {
  Session s = session();
  const std::vector<TokenId> prompt(20, 5);  // in calls of 8 rows
  std::vector<size_t> told;
  const Status status = s.append(prompt, [&](size_t done, size_t total) {
    EXPECT_EQ(total, 20u);
    told.push_back(done);
    return told.size() < 3;
  }).status();
  EXPECT_EQ(status.code(), Code::cancelled);
  EXPECT_EQ(told, (std::vector<size_t>{0, 8, 16}));
  EXPECT_EQ(s.position(), 16u);
  EXPECT_TRUE(s.append(std::span(prompt).subspan(16)).ok());
}

TEST_F(EngineApi, SamplerOfItsOwn) {
  SamplerParams params;
  params.temperature = -1;
  EXPECT_FALSE(Sampler::create(params, 4).ok());
  params.temperature = 0;
  Result<Sampler> sampler = Sampler::create(params, 4);
  ASSERT_TRUE(sampler.ok());
  const std::vector<float> logits = {0, 3, 3, 1};
  EXPECT_EQ(*sampler->sample(logits), 1);
  EXPECT_FALSE(sampler->sample(std::span(logits).first(3)).ok());
}

TEST_F(EngineApi, FilesThatAreNoLanguageModels) {
  for (const std::string& path : {data("pte/valid/mlp.dynamic_unplanned_io.pte"), data("pte/negative/header_magic.pte"), (folder() / "none.pte").string()}) {
    const Status status = Engine::load(path).status();
    EXPECT_FALSE(status.ok());
    EXPECT_EQ(status.detail().file, path);
  }
  EngineOptions options;
  options.policy.require_signed = true;
  EXPECT_EQ(Engine::load(model(), options).code(), Code::refused);
}

// Every token's logits are one-hot at the id behind it.
class CountingManager final : public IoManager {
 public:
  explicit CountingManager(Limits limits) : limits_(limits), row_(limits.vocab_size) {}
  const Limits& limits() const override { return limits_; }
  Status run(Step, std::span<const TokenId> tokens, size_t) override {
    row_.assign(row_.size(), 0);
    row_[static_cast<size_t>(tokens.back() + 1) % row_.size()] = 1;
    return {};
  }
  Result<LogitsView> logits(size_t) override { return LogitsView(row_); }
  void reset() override {}
  Status can_rewind(size_t) const override { return {}; }

 private:
  Limits limits_;
  std::vector<float> row_;
};

class CountingContract final : public IoContract {
 public:
  const Limits& limits() const override { return limits_; }
  size_t bytes_per_session() const override { return 0; }
  size_t cache_bytes() const override { return 0; }
  Result<std::unique_ptr<IoManager>> new_manager(const MethodSource& source, const ManagerOptions&) const override {
    // The program's methods can be loaded; this contract has its own way to answer.
    const std::shared_ptr<ThreadPool> threads = make_thread_pool(1);
    if (const auto decode = source.load("decode", {.threads = threads.get()}); !decode.ok()) return decode.status();
    return std::unique_ptr<IoManager>(std::make_unique<CountingManager>(limits_));
  }

 private:
  Limits limits_{100, 50, 0, 0};
};

Result<std::unique_ptr<IoContract>> open_counting(std::string_view json, const MethodSource&) {
  if (json.find("\"my_static\"") == std::string_view::npos) return Status::error(Code::invalid_data, "not mine");
  return std::unique_ptr<IoContract>(std::make_unique<CountingContract>());
}

// Programs under a contract that this build does not know.
class IoManagers : public TinyModel {
 protected:
  static std::string foreign_program() {
    std::ifstream in(model(), std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(in), {}};
    const size_t at = bytes.find("hf_static");
    EXPECT_NE(at, std::string::npos);
    bytes.replace(at, 9, "my_static");
    const std::string path = scratch() / "foreign.pte";
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
};

TEST_F(IoManagers, AnApplicationBringsItsOwnContract) {
  const std::string path = foreign_program();
  const auto refused = Engine::load(path);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), Code::unsupported);
  EXPECT_EQ(refused.status().detail().found, "my_static");

  EngineOptions options;
  options.contracts.push_back({"my_static", 1, open_counting});
  const auto engine = Engine::load(path, options);
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  EXPECT_EQ(engine->context_length(), 100u);
  auto session = engine->new_session();
  ASSERT_TRUE(session.ok()) << session.status().message();
  const std::vector<TokenId> prompt = {3, 4, 5};
  ASSERT_TRUE(session->append(prompt).ok());
  GenerateOptions greedy;
  greedy.sampler.temperature = 0;
  greedy.max_tokens = 4;
  const auto made = session->generate(greedy);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(made->tokens, (std::vector<TokenId>{6, 7, 8, 9}));
  EXPECT_EQ(session->fork().status().code(), Code::unsupported);
}

TEST_F(IoManagers, ASecondEntryForAContractIsAnError) {
  EngineOptions options;
  options.contracts.push_back({"hf_static", 1, open_counting});
  EXPECT_EQ(Engine::load(foreign_program(), options).status().code(), Code::invalid_argument);
  options.contracts = {{"my_static", 1, nullptr}};
  EXPECT_EQ(Engine::load(foreign_program(), options).status().code(), Code::invalid_argument);
}

}  // namespace
}  // namespace pteron
