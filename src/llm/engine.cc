#include "llm/engine.h"

#include <string>
#include <utility>

namespace pteron::llm {

Engine::Engine(format::VerifiedProgram program, const EngineOptions& options)
    : methods_(std::move(program), options.load), manager_options_(options.manager), session_options_(options.session) {}

Result<std::shared_ptr<const Engine>> Engine::create(format::VerifiedProgram program, const EngineOptions& options) {
  const std::string path = program.path();
  std::shared_ptr<Engine> engine(new Engine(std::move(program), options));
  auto io = options.registry != nullptr ? options.registry->open(engine->methods_) : IoManagerRegistry::with_defaults().open(engine->methods_);
  if (!io.ok()) return std::move(io).status().in_file(path);
  engine->io_ = std::move(*io);
  if (Status status = engine->load_assets(); !status.ok()) return std::move(status).in_file(path);
  return std::shared_ptr<const Engine>(std::move(engine));
}

Status Engine::load_assets() {
  PTERON_TRY(load_tokenizer());
  if (auto chat = program().named_data(kChatTemplateData); chat.ok()) chat_template_ = as_text(*chat);
  if (auto json = program().named_data(kGenerationConfigData); json.ok()) {
    auto config = parse_generation_config(as_text(*json));
    if (!config.ok()) return std::move(config).status().in_field(kGenerationConfigData);
    generation_config_ = std::move(*config);
  }
  find_eos_tokens();
  return {};
}

// A tokenizer may know fewer ids than there are logits, never more.
Status Engine::load_tokenizer() {
  auto table = program().named_data(kTokenizerData);
  if (!table.ok()) return {};
  auto tokenizer = text::Tokenizer::from_table(*table);
  if (!tokenizer.ok()) return std::move(tokenizer).status().in_field(kTokenizerData);
  if (tokenizer->size() > limits().vocab_size) {
    return Status::error(Code::invalid_data, "the tokenizer has ids without logits",
                         {"", std::string(kTokenizerData), "at most " + std::to_string(limits().vocab_size) + " ids", std::to_string(tokenizer->size())});
  }
  tokenizer_.emplace(std::move(*tokenizer));
  return {};
}

void Engine::find_eos_tokens() {
  eos_tokens_ = generation_config_.eos_tokens;
  if (!eos_tokens_.empty()) return;
  if (const MethodInfo* info = find_method(methods_.infos(), "get_eos_ids"); info != nullptr && info->constant) {
    for (const SlotInfo& slot : info->outputs) {
      if (slot.kind == ValueKind::number_int && slot.int_value >= 0) eos_tokens_.push_back(static_cast<TokenId>(slot.int_value));
    }
  }
  if (eos_tokens_.empty() && tokenizer_ && tokenizer_->eos_id() >= 0) eos_tokens_.push_back(tokenizer_->eos_id());
}

GenerateOptions Engine::default_options() const {
  GenerateOptions options;
  options.sampler = generation_config_.sampler();
  options.eos_tokens = eos_tokens_;
  return options;
}

}  // namespace pteron::llm
