#include "llm/io_manager.h"

#include <string>

#include <gtest/gtest.h>

#include "llm/hf_static.h"
#include "llm/session.h"
#include "llm/testing/tiny_program.h"

namespace pteron::llm {
namespace {

using testing::TinyConfig;
using testing::TinyProgram;

// A contract of an application's own: every token's logits are one-hot at the next id.
class CountingManager final : public IoManager {
 public:
  const Limits& limits() const override { return limits_; }
  Status run(Step, std::span<const TokenId> tokens, size_t) override {
    row_.assign(limits_.vocab_size, 0);
    row_[static_cast<size_t>(tokens.back() + 1) % limits_.vocab_size] = 1;
    return {};
  }
  Result<LogitsView> logits(size_t) override { return LogitsView(row_); }
  void reset() override {}
  Status can_rewind(size_t) const override { return {}; }

 private:
  Limits limits_{100, 5, 0, 0};
  std::vector<float> row_;
};

class CountingContract final : public IoContract {
 public:
  const Limits& limits() const override { return limits_; }
  size_t bytes_per_session() const override { return 0; }
  size_t cache_bytes() const override { return 0; }
  Result<std::unique_ptr<IoManager>> new_manager(const MethodSource&, const ManagerOptions&) const override {
    return std::unique_ptr<IoManager>(std::make_unique<CountingManager>());
  }

 private:
  Limits limits_{100, 5, 0, 0};
};

Result<std::unique_ptr<IoContract>> open_counting(std::string_view, const MethodSource&) {
  return std::unique_ptr<IoContract>(std::make_unique<CountingContract>());
}

TEST(IoManagerRegistry, SelectsByContractAndVersion) {
  TinyProgram program{TinyConfig()};
  const auto registry = IoManagerRegistry::with_defaults();
  EXPECT_TRUE(registry.open(program).ok());
  const auto with = [&](const std::string& json) {
    program.set_contract(json);
    return registry.open(program).status();
  };
  EXPECT_EQ(with(R"({"contract":"hf_static","version":2})").code(), Code::unsupported);
  EXPECT_EQ(with(R"({"contract":"hf_static","version":2})").detail().field, "io_contract.version");
  EXPECT_EQ(with(R"({"contract":"other","version":1})").detail().field, "io_contract.contract");
  EXPECT_EQ(with(R"({"contract":"hf_static","version":"1"})").code(), Code::invalid_data);
  EXPECT_EQ(with(R"({"contract":"hf_static","version":1})").detail().field, "io_contract.context_length");
  EXPECT_EQ(with("{").code(), Code::invalid_data) << "never a fallback";
  EXPECT_EQ(with("").code(), Code::invalid_data);
}

TEST(IoManagerRegistry, AProgramWithoutAContractIsNotFound) {
  TinyProgram program{TinyConfig()};
  program.mutable_infos().pop_back();
  EXPECT_EQ(IoManagerRegistry::with_defaults().open(program).code(), Code::not_found);
}

TEST(IoManagerRegistry, TheObjectMustBeAConstantString) {
  TinyProgram program{TinyConfig()};
  program.mutable_infos().back().outputs[0].kind = ValueKind::number_int;
  EXPECT_EQ(IoManagerRegistry::with_defaults().open(program).code(), Code::invalid_data);
  program.mutable_infos().back().outputs.clear();
  EXPECT_EQ(IoManagerRegistry::with_defaults().open(program).code(), Code::invalid_data);
}

TEST(IoManagerRegistry, AnApplicationAddsItsOwn) {
  TinyProgram program{TinyConfig()};
  program.set_contract(R"({"contract":"counting","version":3})");
  auto registry = IoManagerRegistry::with_defaults();
  ASSERT_TRUE(registry.add("counting", 3, open_counting).ok());
  EXPECT_EQ(registry.add("counting", 3, open_counting).code(), Code::invalid_argument) << "one entry a contract and version";
  EXPECT_TRUE(registry.add("hf_static", 2, open_counting).ok());
  EXPECT_EQ(registry.add("hf_static", 1, open_hf_static).code(), Code::invalid_argument);
  auto contract = registry.open(program);
  ASSERT_TRUE(contract.ok());
  EXPECT_EQ((*contract)->hf_static(), nullptr);
  auto session = Session::create(**contract, program);
  ASSERT_TRUE(session.ok());
  const std::vector<TokenId> tokens = {1, 2, 3};
  const auto logits = session->append(tokens);
  ASSERT_TRUE(logits.ok());
  EXPECT_EQ((*logits)[4], 1);
  EXPECT_TRUE(session->rewind(1).ok());
  EXPECT_EQ(session->fork().code(), Code::unsupported) << "what a contract cannot do is an error";
  EXPECT_EQ(session->state().code(), Code::unsupported);
  EXPECT_EQ(session->evict(0, 1).code(), Code::unsupported);
}

}  // namespace
}  // namespace pteron::llm
