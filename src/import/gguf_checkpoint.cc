#include "import/gguf_checkpoint.h"

#include <filesystem>
#include <utility>

#include "import/gguf_config.h"
#include "import/gguf_weights.h"

namespace pteron::importer {
namespace {

constexpr std::string_view kTokenizer = "tokenizer.ggml.";
constexpr std::string_view kTemplate = "tokenizer.chat_template";

Status check_length(const GgufFile& file, const char* key, size_t length, size_t tokens) {
  if (length == 0 || length == tokens) return Status();
  return Status::error(Code::invalid_data, "a vocabulary list has the wrong length",
                       {file.path(), std::string(kTokenizer) + key, std::to_string(tokens) + " entries, one a token", std::to_string(length)});
}

// An id, which must be one of the vocabulary's.
Status read_id(const GgufFile& file, const char* key, size_t tokens, std::optional<int64_t>& id) {
  PTERON_ASSIGN(id, file.integer(std::string(kTokenizer) + key));
  if (!id || (*id >= 0 && std::cmp_less(*id, tokens))) return Status();
  return Status::error(Code::invalid_data, "a special token is outside the vocabulary",
                       {file.path(), std::string(kTokenizer) + key, "0 to " + std::to_string(tokens) + " (not included)", std::to_string(*id)});
}

Result<GgufVocabulary> read_vocabulary(const GgufFile& file) {
  const auto key = [](const char* name) { return std::string(kTokenizer) + name; };
  GgufVocabulary vocabulary;
  PTERON_ASSIGN(std::optional<std::string> model, file.string(key("model")));
  PTERON_ASSIGN(std::optional<std::string> pre, file.string(key("pre")));
  vocabulary.model = std::move(model).value_or("");
  vocabulary.pre = std::move(pre).value_or("");
  PTERON_ASSIGN(vocabulary.tokens, file.strings(key("tokens")));
  PTERON_ASSIGN(vocabulary.scores, file.floats(key("scores")));
  PTERON_ASSIGN(vocabulary.types, file.integers(key("token_type")));
  PTERON_ASSIGN(vocabulary.merges, file.strings(key("merges")));
  const size_t count = vocabulary.tokens.size();
  PTERON_TRY(check_length(file, "scores", vocabulary.scores.size(), count));
  PTERON_TRY(check_length(file, "token_type", vocabulary.types.size(), count));
  PTERON_TRY(read_id(file, "bos_token_id", count, vocabulary.bos_id));
  PTERON_TRY(read_id(file, "eos_token_id", count, vocabulary.eos_id));
  PTERON_TRY(read_id(file, "eot_token_id", count, vocabulary.eot_id));
  PTERON_TRY(read_id(file, "unknown_token_id", count, vocabulary.unknown_id));
  PTERON_TRY(read_id(file, "padding_token_id", count, vocabulary.padding_id));
  PTERON_ASSIGN(vocabulary.add_bos, file.boolean(key("add_bos_token")));
  PTERON_ASSIGN(vocabulary.add_eos, file.boolean(key("add_eos_token")));
  PTERON_ASSIGN(vocabulary.add_space_prefix, file.boolean(key("add_space_prefix")));
  PTERON_ASSIGN(vocabulary.remove_extra_whitespaces, file.boolean(key("remove_extra_whitespaces")));
  return vocabulary;
}

}  // namespace

Result<Checkpoint> open_gguf_checkpoint(const std::string& path) {
  PTERON_ASSIGN(const GgufFile file, GgufFile::open(path));
  PTERON_ASSIGN(const GgufArchitecture* architecture, gguf_architecture(file));
  Checkpoint checkpoint;
  checkpoint.source = path;
  checkpoint.files = {path};
  PTERON_ASSIGN(checkpoint.config, gguf_config(file, *architecture));
  PTERON_ASSIGN(checkpoint.generation_config, gguf_generation_config(file));
  PTERON_ASSIGN(checkpoint.weights, gguf_weights(file, *architecture));
  PTERON_ASSIGN(checkpoint.tokenizer.gguf, read_vocabulary(file));
  PTERON_ASSIGN(std::optional<std::string> chat_template, file.string(kTemplate));
  PTERON_ASSIGN(std::optional<std::string> name, file.string("general.name"));
  PTERON_ASSIGN(std::optional<std::string> licence, file.string("general.license"));
  checkpoint.chat_template = std::move(chat_template).value_or("");
  checkpoint.name = name && !name->empty() ? std::move(*name) : std::filesystem::path(path).stem().string();
  checkpoint.licence = std::move(licence).value_or("");
  const std::string named = std::string(kTemplate) + ".";
  for (auto entry = file.metadata().lower_bound(named); entry != file.metadata().end() && entry->first.starts_with(named); ++entry) {
    PTERON_ASSIGN(const std::optional<std::string> text, file.string(entry->first));
    checkpoint.named_chat_templates.emplace_back(entry->first.substr(named.size()), *text);
  }
  return checkpoint;
}

}  // namespace pteron::importer
