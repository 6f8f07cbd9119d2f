// What the names in `tokenizer.ggml.pre` mean.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "text/token_table_writer.h"

namespace pteron::text {

struct GgufPreTokenizer {
  std::string_view names;                   // separated by spaces
  std::span<const std::string_view> cuts;   // expressions, one after the other; each match is a piece
  bool ignore_merges = false;
  bool add_bos = false;                     // where the file does not say
  bool nfc = false;
};

// Null for an unknown name. No name, or "default", is GPT-2's.
const GgufPreTokenizer* find_gguf_pre_tokenizer(std::string_view name);
// All names, for error messages.
std::string known_gguf_pre_tokenizers();

// Adds its steps, the byte-level mapping included, and flags.
Status append_gguf_pre_tokenizer(const GgufPreTokenizer& pre, TokenizerContent& content);

}  // namespace pteron::text
