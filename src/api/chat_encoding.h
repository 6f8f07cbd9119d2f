// From a conversation to token ids: the template's special tokens are tokens, those that somebody wrote into a message are text.
#pragma once

#include <string_view>
#include <vector>

#include "base/status.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace pteron::api {

// Renders `variables` (as text::ChatTemplate::render takes them) and encodes the result. Special tokens inside the strings of `messages` and `tools`
// are encoded as the plain text that they are, wherever the template puts them.
Result<std::vector<TokenId>> encode_chat(const text::Tokenizer& tokenizer, const text::ChatTemplate& chat_template, std::string_view variables,
                                         const text::RenderOptions& options);

}  // namespace pteron::api
