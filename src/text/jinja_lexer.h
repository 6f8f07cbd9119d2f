// Splits a template into text and tokens, under the settings that Hugging Face uses: trim_blocks, lstrip_blocks, one final newline dropped.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace pteron::text::jinja {

enum class TokenKind : uint8_t { text, variable_begin, variable_end, block_begin, block_end, name, integer, number, string, symbol, end };

struct Token {
  TokenKind kind = TokenKind::end;
  std::string text;    // of text and string: the value; of name and symbol: as written
  int64_t integer = 0;
  double number = 0;
  int line = 1;
};

// Ends with a token of kind `end`. Errors: invalid_data with field "line N".
Result<std::vector<Token>> tokenize(std::string_view source);

// The error of a template that does not compile.
Status syntax_error(int line, std::string_view what);

}  // namespace pteron::text::jinja
