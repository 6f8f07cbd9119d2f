// An engine: a program under a contract with the assets that came in its file, shared by any number of sessions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "llm/generate.h"
#include "llm/io_manager.h"
#include "llm/program_methods.h"
#include "llm/session.h"
#include "text/tokenizer.h"

namespace pteron::llm {

// Names of the assets in a program's named data.
inline constexpr std::string_view kTokenizerData = "tokenizer";
inline constexpr std::string_view kChatTemplateData = "chat_template";
inline constexpr std::string_view kGenerationConfigData = "generation_config";

struct EngineOptions {
  runtime::LoadOptions load;                 // kernels, backends, external data: passed through
  ManagerOptions manager;
  SessionOptions session;
  const IoManagerRegistry* registry = nullptr;  // null: the contracts of this build
};

// What the file says about generation; absent fields were absent there.
struct GenerationConfig {
  std::vector<TokenId> eos_tokens;
  std::optional<TokenId> bos_token, pad_token;
  std::optional<double> temperature, top_p, min_p, typical_p, repetition_penalty;
  std::optional<int64_t> top_k;
  std::optional<bool> do_sample;
};
Result<GenerationConfig> parse_generation_config(std::string_view json);

// Safe to share by threads; sessions keep it alive.
class Engine {
 public:
  static Result<std::shared_ptr<const Engine>> create(format::VerifiedProgram program, const EngineOptions& options = {});

  const IoContract& io() const { return *io_; }
  const Limits& limits() const { return io_->limits(); }
  const ProgramMethods& methods() const { return methods_; }
  const text::Tokenizer* tokenizer() const { return tokenizer_ ? &*tokenizer_ : nullptr; }  // null where the file has none
  std::string_view chat_template() const { return chat_template_; }                          // empty where the file has none
  const GenerationConfig& generation_config() const { return generation_config_; }
  // End-of-text ids: of the generation config, else of the `get_eos_ids` method.
  const std::vector<TokenId>& eos_tokens() const { return eos_tokens_; }
  // Options as the file suggests them: sampling parameters where it says do_sample, greedy otherwise; its end-of-text ids.
  GenerateOptions default_options() const;

  size_t bytes_per_session() const { return io_->bytes_per_session(); }
  // The engine must outlive the session.
  Result<Session> new_session() const;
  Result<Session> new_session(const SessionOptions& options) const;

 private:
  Engine(format::VerifiedProgram program, const EngineOptions& options);
  Status load_assets();
  Status check_tokenizer() const;

  ProgramMethods methods_;
  ManagerOptions manager_options_;
  SessionOptions session_options_;
  std::unique_ptr<IoContract> io_;
  std::optional<text::Tokenizer> tokenizer_;
  std::string_view chat_template_;
  GenerationConfig generation_config_;
  std::vector<TokenId> eos_tokens_;
};

}  // namespace pteron::llm
