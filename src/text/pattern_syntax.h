// Patterns of tokenizer.json are written for Oniguruma (Ruby syntax); this rewrites them for PCRE2.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace pteron::text {

// The PCRE2 expression that matches what Oniguruma's does. Classes such as \s, \w and \h, scripts, nested and intersected sets, anchors, options and
// stacked quantifiers are spelled out where the two differ. Errors (unsupported) name the construct.
Result<std::string> translate_pattern(std::string_view expression);

// A PCRE2 expression for exactly this text.
std::string quote_pattern(std::string_view text);

}  // namespace pteron::text
