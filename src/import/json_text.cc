#include "import/json_text.h"

#include <set>
#include <utility>
#include <vector>

#include "base/file.h"

namespace pteron::importer {
namespace {

using nlohmann::json;

// Deepest nesting of brackets outside strings. Done first, because a value is destroyed and printed by recursion.
int nesting(std::string_view text) {
  int depth = 0, deepest = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      deepest = std::max(deepest, ++depth);
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return deepest;
}

}  // namespace

Result<json> parse_json(std::string_view text) {
  if (text.size() > kMaxJsonBytes) {
    return Status::error(Code::out_of_capacity, "JSON is too large",
                         {"", "", "at most " + std::to_string(kMaxJsonBytes) + " bytes", std::to_string(text.size())});
  }
  if (const int depth = nesting(text); depth > kMaxJsonDepth) {
    return Status::error(Code::out_of_capacity, "JSON is nested too deeply",
                         {"", "", "at most " + std::to_string(kMaxJsonDepth) + " levels", std::to_string(depth)});
  }
  std::vector<std::set<std::string>> keys;
  std::string duplicate;
  const auto watch = [&](int, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event == json::parse_event_t::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!keys.back().insert(key).second && duplicate.empty()) duplicate = key.empty() ? "(empty)" : key;
    }
    return true;
  };
  json value;
  try {
    value = json::parse(text.begin(), text.end(), watch);
  } catch (const json::parse_error& error) {
    return Status::error(Code::invalid_data, "not valid JSON", {"", "byte " + std::to_string(error.byte), "", ""});
  } catch (const json::exception& error) {  // a number that no type holds
    return Status::error(Code::invalid_data, "not valid JSON", {"", "", "", error.what()});
  }
  if (!duplicate.empty()) return Status::error(Code::invalid_data, "JSON has a key twice", {"", duplicate, "", ""});
  return value;
}

Result<json> read_json_object(const std::string& path) {
  PTERON_ASSIGN(const std::string text, read_text_file(path, kMaxJsonBytes));
  Result<json> value = parse_json(text);
  if (!value.ok()) return std::move(value).status().in_file(path);
  if (!value->is_object()) return Status::error(Code::invalid_data, "not a JSON object", {path, "", "an object", json_kind(*value)});
  return value;
}

std::string json_kind(const json& value) { return value.type_name(); }

}  // namespace pteron::importer
