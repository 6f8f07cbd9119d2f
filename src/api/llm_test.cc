// A checkpoint exported for the cpu backend and run: what threads, instruction sets and counting change, and what they must not.
#include "pteron/llm.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "pteron/compile.h"

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

}  // namespace
}  // namespace pteron
