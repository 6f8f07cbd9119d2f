// The error for a manifest that breaks its format.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace pteron::manifest {

// `field` without the "manifest." in front.
inline Status malformed(std::string_view what, std::string_view field, std::string expected = {}, std::string found = {}) {
  Detail detail{.file = {}, .field = "manifest." + std::string(field), .expected = std::move(expected), .found = std::move(found)};
  return Status::error(Code::invalid_data, what, std::move(detail));
}

}  // namespace pteron::manifest
