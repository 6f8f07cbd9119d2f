// Text from files and for files.
#pragma once

#include <string_view>

#include "base/status.h"

namespace pteron::format {

// Whether `text` is well-formed UTF-8 (no overlong forms, surrogates or values above U+10FFFF).
bool is_utf8(std::string_view text);

// UTF-8 without NUL, because it becomes a C string somewhere.
Status check_text(std::string_view text, std::string_view field);

// The same, and not empty.
Status check_name(std::string_view text, std::string_view field);

}  // namespace pteron::format
