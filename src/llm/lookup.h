// Prompt lookup: guesses the next tokens by finding the last ones earlier in the text.
#pragma once

#include <cstddef>
#include <span>

#include "llm/token.h"

namespace pteron::llm {

// The tokens, at most `most`, that followed the latest earlier place where the last `longest` tokens of `text` stood; if they stood nowhere,
// fewer last tokens are looked for, down to 2. Empty where nothing was found. Points into `text`.
std::span<const TokenId> lookup_draft(std::span<const TokenId> text, size_t longest, size_t most);

}  // namespace pteron::llm
