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
  return Status::error(
      Code::invalid_data, "a vocabulary list has the wrong length",
      {file.path(), std::string(kTokenizer) + key, std::to_string(tokens) + " entries, one a token", std::to_string(length)});
}

// The id of a special token, which must be one of the vocabulary's; -1 where the file names none.
Status read_id(const GgufFile& file, const char* key, size_t tokens, int32_t& id) {
  PTERON_ASSIGN(const std::optional<int64_t> found, gguf_token_id(file, key));
  if (found && (*found < 0 || std::cmp_greater_equal(*found, tokens))) {
    return Status::error(Code::invalid_data, "a special token is outside the vocabulary",
                         {file.path(), std::string(kTokenizer) + key, "an id below " + std::to_string(tokens), std::to_string(*found)});
  }
  id = static_cast<int32_t>(found.value_or(-1));
  return Status();
}

Status read_flag(const GgufFile& file, const char* key, int8_t& flag) {
  PTERON_ASSIGN(const std::optional<bool> found, file.boolean(std::string(kTokenizer) + key));
  flag = static_cast<int8_t>(found ? *found : -1);
  return Status();
}

Status read_text(const GgufFile& file, const std::string& key, std::string& text) {
  PTERON_ASSIGN(std::optional<std::string> found, file.string(key));
  text = std::move(found).value_or("");
  return Status();
}

// Raw bytes, stored as a list of 8-bit integers.
Status read_bytes(const GgufFile& file, const std::string& key, std::string& bytes) {
  PTERON_ASSIGN(const std::vector<int64_t> values, file.integers(key));
  for (int64_t value : values) bytes.push_back(static_cast<char>(value));
  return Status();
}

Result<text::GgufVocabulary> read_vocabulary(const GgufFile& file) {
  const auto key = [](const char* name) { return std::string(kTokenizer) + name; };
  text::GgufVocabulary out;
  PTERON_TRY(read_text(file, key("model"), out.model));
  PTERON_TRY(read_text(file, key("pre"), out.pre));
  PTERON_TRY(read_text(file, "general.architecture", out.architecture));
  PTERON_ASSIGN(out.tokens, file.strings(key("tokens")));
  PTERON_ASSIGN(out.scores, file.floats(key("scores")));
  PTERON_ASSIGN(const std::vector<int64_t> types, file.integers(key("token_type")));
  for (int64_t type : types) out.token_types.push_back(static_cast<int32_t>(type));
  PTERON_ASSIGN(out.merges, file.strings(key("merges")));
  const size_t count = out.tokens.size();
  PTERON_TRY(check_length(file, "scores", out.scores.size(), count));
  PTERON_TRY(check_length(file, "token_type", out.token_types.size(), count));
  const std::pair<const char*, int32_t*> ids[] = {
      {"bos_token_id", &out.bos_token_id},         {"eos_token_id", &out.eos_token_id}, {"unknown_token_id", &out.unknown_token_id},
      {"padding_token_id", &out.padding_token_id}, {"cls_token_id", &out.cls_token_id}, {"seperator_token_id", &out.seperator_token_id},
      {"mask_token_id", &out.mask_token_id}};
  for (const auto& [name, id] : ids) PTERON_TRY(read_id(file, name, count, *id));
  const std::pair<const char*, int8_t*> flags[] = {{"add_bos_token", &out.add_bos_token},
                                                   {"add_eos_token", &out.add_eos_token},
                                                   {"add_space_prefix", &out.add_space_prefix},
                                                   {"remove_extra_whitespaces", &out.remove_extra_whitespaces}};
  for (const auto& [name, flag] : flags) PTERON_TRY(read_flag(file, name, *flag));
  PTERON_TRY(read_bytes(file, key("precompiled_charsmap"), out.precompiled_charsmap));
  return out;
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
  if (file.metadata().contains(std::string(kTokenizer) + "tokens")) {
    PTERON_ASSIGN(checkpoint.tokenizer.gguf, read_vocabulary(file));
  }
  PTERON_TRY(read_text(file, std::string(kTemplate), checkpoint.chat_template));
  PTERON_TRY(read_text(file, "general.name", checkpoint.name));
  PTERON_TRY(read_text(file, "general.license", checkpoint.licence));
  if (checkpoint.name.empty()) checkpoint.name = std::filesystem::path(path).stem().string();
  const std::string named = std::string(kTemplate) + ".";
  for (auto entry = file.metadata().lower_bound(named); entry != file.metadata().end() && entry->first.starts_with(named); ++entry) {
    PTERON_ASSIGN(const std::optional<std::string> text, file.string(entry->first));
    checkpoint.named_chat_templates.emplace_back(entry->first.substr(named.size()), *text);
  }
  return checkpoint;
}

}  // namespace pteron::importer
