// A contract of an application's own, through the public headers alone.
#include "pteron/io_manager.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "pteron/compile.h"
#include "pteron/llm.h"

namespace pteron {
namespace {

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

// A program whose contract has a name that this build does not know.
std::string foreign_program() {
  const std::filesystem::path folder = ::testing::TempDir(), path = folder / "pteron_foreign_contract.pte";
  ExportRequest request;
  request.source = std::string(PTERON_TEST_DATA) + "/arch/llama_gqa";
  request.output = path.string();
  request.backend = "portable";
  request.context_length = 64;
  request.prefill_rows = 8;
  const auto report = export_program(request);
  EXPECT_TRUE(report.ok()) << report.status().message();
  std::ifstream in(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const size_t at = bytes.find("hf_static");
  EXPECT_NE(at, std::string::npos);
  bytes.replace(at, 9, "my_static");
  std::ofstream(path, std::ios::binary) << bytes;
  return path.string();
}

TEST(IoManager, AnApplicationBringsItsOwnContract) {
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

TEST(IoManager, ASecondEntryForAContractIsAnError) {
  EngineOptions options;
  options.contracts.push_back({"hf_static", 1, open_counting});
  EXPECT_EQ(Engine::load(foreign_program(), options).status().code(), Code::invalid_argument);
  options.contracts = {{"my_static", 1, nullptr}};
  EXPECT_EQ(Engine::load(foreign_program(), options).status().code(), Code::invalid_argument);
}

}  // namespace
}  // namespace pteron
