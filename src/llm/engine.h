// An engine: a program under a contract with the assets that came in its file, shared by any number of sessions.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "llm/generate.h"
#include "llm/generation_config.h"
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
  runtime::LoadOptions load;                    // kernels, backends, external data: passed through; must outlive the engine
  ManagerOptions manager;
  SessionOptions session;
  const IoManagerRegistry* registry = nullptr;  // null: the contracts of this build
};

// Safe to share by threads.
class Engine {
 public:
  static Result<std::shared_ptr<const Engine>> create(format::VerifiedProgram program, const EngineOptions& options = {});

  const IoContract& io() const { return *io_; }
  const Limits& limits() const { return io_->limits(); }
  const ProgramMethods& methods() const { return methods_; }
  const format::VerifiedProgram& program() const { return methods_.program(); }
  const text::Tokenizer* tokenizer() const { return tokenizer_ ? &*tokenizer_ : nullptr; }  // null where the file has none
  std::string_view chat_template() const { return chat_template_; }                          // empty where the file has none
  const GenerationConfig& generation_config() const { return generation_config_; }
  // Ids that end a text: of the generation config, else of the `get_eos_ids` method, else of the tokenizer.
  const std::vector<TokenId>& eos_tokens() const { return eos_tokens_; }
  // Options as the file suggests them.
  GenerateOptions default_options() const;

  // What one session allocates for caches, inputs and outputs; arenas of the methods come on top.
  size_t bytes_per_session() const { return io_->bytes_per_session(); }
  // The engine must outlive the session.
  Result<Session> new_session() const { return new_session(manager_options_, session_options_); }
  Result<Session> new_session(const ManagerOptions& manager, const SessionOptions& session) const {
    return Session::create(*io_, methods_, manager, session);
  }
  const ManagerOptions& manager_options() const { return manager_options_; }
  const SessionOptions& session_options() const { return session_options_; }

 private:
  Engine(format::VerifiedProgram program, const EngineOptions& options);
  Status load_assets();
  Status load_tokenizer();
  void find_eos_tokens();

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
