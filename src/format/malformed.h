// How this folder reports what is wrong with a file.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace pteron::format {

inline Status malformed(std::string_view field, std::string_view expected, std::string_view found, Code code = Code::invalid_data) {
  return Status::error(code, "malformed file", {{}, std::string(field), std::string(expected), std::string(found)});
}

// "values[12]"
inline std::string indexed(std::string_view field, size_t index) { return std::string(field) + "[" + std::to_string(index) + "]"; }

}  // namespace pteron::format
