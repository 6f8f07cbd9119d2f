// Compiles a tokenizer.json or the vocabulary of a GGUF file into the table that `Tokenizer` runs from (named data `tokenizer`).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace pteron::text {

// `tokenizer_config_json` (may be empty) names the beginning, end, unknown and padding tokens. What the file asks for and this build cannot do
// is an error that names the JSON path and the value. The same input gives the same bytes.
// `go_on` is asked many times a second while a large vocabulary is worked through; its error ends the work.
using GoOn = std::function<Status()>;
Result<std::vector<std::byte>> compile_tokenizer_json(std::string_view tokenizer_json, std::string_view tokenizer_config_json = {}, const GoOn& go_on = {});

// The `tokenizer.ggml.*` keys of a GGUF file; names of the members are the keys. Ids are -1 where the key is absent.
struct GgufVocabulary {
  std::string model;                 // "gpt2", "llama", "bert", "t5"
  std::string pre;                   // name of the pre-tokenizer, for "gpt2"; empty where absent
  std::string architecture;          // general.architecture
  std::vector<std::string> tokens;
  std::vector<float> scores;         // empty, or one a token
  std::vector<int32_t> token_types;  // empty, or one a token: 1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte
  std::vector<std::string> merges;   // "left right"
  int32_t bos_token_id = -1, eos_token_id = -1, unknown_token_id = -1, padding_token_id = -1;
  int32_t cls_token_id = -1, seperator_token_id = -1, mask_token_id = -1;  // the format spells it so
  // -1 absent, else 0 or 1.
  int8_t add_bos_token = -1, add_eos_token = -1, add_space_prefix = -1, remove_extra_whitespaces = -1;
  std::string precompiled_charsmap;  // raw bytes, for "t5" and "llama"
};

Result<std::vector<std::byte>> compile_gguf_vocabulary(const GgufVocabulary& vocabulary, const GoOn& go_on = {});

}  // namespace pteron::text
