// Whether text from a file is UTF-8.
#pragma once

#include <string_view>

namespace pteron::format {

// Whether `text` is well-formed UTF-8 (no overlong forms, surrogates or values above U+10FFFF).
bool is_utf8(std::string_view text);

}  // namespace pteron::format
