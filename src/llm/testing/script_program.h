// A contract whose logits follow a script: after the token at position p comes script[p + 1], whatever was fed. For tests of generation.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "llm/io_manager.h"
#include "llm/testing/tiny_program.h"

namespace pteron::llm::testing {

struct Script {
  size_t capacity = 64, vocab = 16, verify_rows = 0;
  std::vector<TokenId> text;
  float sharpness = 10;  // score of the scripted token; the others have 0
};

class ScriptManager final : public IoManager {
 public:
  explicit ScriptManager(const Script& script) : script_(script), limits_{script.capacity, script.vocab, 0, script.verify_rows} {}
  const Limits& limits() const override { return limits_; }
  Status run(Step, std::span<const TokenId>, size_t position) override {
    position_ = position;
    ++calls;
    return {};
  }
  Result<LogitsView> logits(size_t row) override {
    row_.assign(script_.vocab, 0);
    row_[static_cast<size_t>(script_.text[(position_ + row + 1) % script_.text.size()])] = script_.sharpness;
    return LogitsView(row_);
  }
  void reset() override {}
  Status can_rewind(size_t) const override { return {}; }

  inline static size_t calls = 0;

 private:
  const Script& script_;
  Limits limits_;
  size_t position_ = 0;
  std::vector<float> row_;
};

class ScriptContract final : public IoContract {
 public:
  explicit ScriptContract(Script script) : script_(std::move(script)), limits_{script_.capacity, script_.vocab, 0, script_.verify_rows} {}
  const Limits& limits() const override { return limits_; }
  size_t bytes_per_session() const override { return 0; }
  size_t cache_bytes() const override { return 0; }
  Result<std::unique_ptr<IoManager>> new_manager(const MethodSource&, const ManagerOptions&) const override {
    return std::unique_ptr<IoManager>(std::make_unique<ScriptManager>(script_));
  }

 private:
  Script script_;
  Limits limits_;
};

}  // namespace pteron::llm::testing
