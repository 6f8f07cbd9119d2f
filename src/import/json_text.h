// JSON from outside: size and depth bounded, duplicate keys refused, errors as values.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/status.h"

namespace pteron::importer {

constexpr size_t kMaxJsonBytes = size_t{64} << 20;
constexpr int kMaxJsonDepth = 64;

// The value that `text` spells; at most kMaxJsonBytes and kMaxJsonDepth levels. No file in the error.
Result<nlohmann::json> parse_json(std::string_view text);

// The same from a file, which must hold an object.
Result<nlohmann::json> read_json_object(const std::string& path);

// What a JSON value is, for messages: "string", "null", ...
std::string json_kind(const nlohmann::json& value);

}  // namespace pteron::importer
