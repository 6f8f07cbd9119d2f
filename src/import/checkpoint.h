// A language-model checkpoint as files hold it: configuration, weights by Hugging Face names, tokenizer, chat template.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "core/constant_source.h"
#include "text/tokenizer_compile.h"

namespace pteron::importer {

struct TokenizerAssets {
  std::string tokenizer_json;       // text of tokenizer.json; empty where there is none
  nlohmann::json tokenizer_config;  // null where there is no such file; so are the next two
  nlohmann::json special_tokens_map;
  nlohmann::json added_tokens;
  std::optional<text::GgufVocabulary> gguf;  // of GGUF files that have one
};

struct Checkpoint {
  std::string source;  // the path given to `open_checkpoint`

  // What config.json holds. For GGUF the same keys, mapped from metadata, always with "architectures" and "model_type". One key is pteron's
  // own: "norm_weights_include_one": true says that RMS norm weights of a Gemma already contain the 1 that the architecture adds, so x * w
  // and not x * (1 + w) is meant (GGUF stores them so; taking the 1 off again in float32 would lose bits).
  nlohmann::json config;
  nlohmann::json generation_config;  // null where there is none

  std::shared_ptr<const WeightSource> weights;
  TokenizerAssets tokenizer;
  std::string chat_template;                                              // the default template; empty where there is none
  std::vector<std::pair<std::string, std::string>> named_chat_templates;  // name and text, beside the default
  std::string name;     // as the checkpoint calls itself, else the folder's or file's name
  std::string licence;  // empty where unknown

  std::vector<std::string> files;  // the files the checkpoint was read from, sorted
};

// Opens a folder with config.json, or a .gguf file. Maps the weights; checks every header; computes nothing.
Result<Checkpoint> open_checkpoint(const std::string& path);

struct FileDigest {
  std::string name;    // without folders
  std::string sha256;  // hex
};
// The digests of `checkpoint.files` in order, by at most `threads` threads (0: one a core). `progress` is told the bytes done of all, in this thread, several
// times a second; its error ends the work.
using DigestProgress = std::function<Status(uint64_t done, uint64_t total)>;
Result<std::vector<FileDigest>> source_digests(const Checkpoint& checkpoint, size_t threads = 0, const DigestProgress& progress = {});

}  // namespace pteron::importer
