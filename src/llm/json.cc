#include "llm/json.h"

#include <algorithm>
#include <charconv>

#include <simdjson.h>

namespace pteron::llm {
namespace {

constexpr size_t kMaxBytes = size_t{16} << 20;
constexpr size_t kMaxDepth = 32;

Status syntax_error(const JsonPath& path, std::string_view found) {
  return Status::error(Code::invalid_data, "malformed JSON", {"", path.text(), "valid JSON", std::string(found)});
}

// A printable, short form of text from the file.
std::string short_text(std::string_view text) {
  constexpr size_t kShown = 40;
  std::string out = "\"";
  for (char c : text.substr(0, kShown)) out += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
  return out + (text.size() > kShown ? "...\"" : "\"");
}

size_t count_digits(std::string_view text, size_t from) {
  size_t end = from;
  while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
  return end - from;
}

// Checks the number grammar of JSON. Returns false where `token` is no number; sets `integral` where it has neither fraction nor exponent.
bool is_number(std::string_view token, bool& integral) {
  size_t at = !token.empty() && token[0] == '-' ? 1 : 0;
  const size_t whole = count_digits(token, at);
  if (whole == 0 || (whole > 1 && token[at] == '0')) return false;
  at += whole;
  integral = true;
  if (at < token.size() && token[at] == '.') {
    const size_t fraction = count_digits(token, at + 1);
    if (fraction == 0) return false;
    integral = false;
    at += 1 + fraction;
  }
  if (at < token.size() && (token[at] == 'e' || token[at] == 'E')) {
    ++at;
    if (at < token.size() && (token[at] == '+' || token[at] == '-')) ++at;
    const size_t exponent = count_digits(token, at);
    if (exponent == 0) return false;
    integral = false;
    at += exponent;
  }
  return at == token.size();
}

std::string_view trimmed(std::string_view token) {
  while (!token.empty() && (token.back() == ' ' || token.back() == '\n' || token.back() == '\t' || token.back() == '\r')) token.remove_suffix(1);
  return token;
}

}  // namespace

// Walks the whole document, so that every value is looked at, known or not.
struct Json::Builder {
  using Value = simdjson::ondemand::value;

  // The scalar kinds; `token` is the value's text as it stands.
  static Status scalar(std::string_view token, Json& out, const JsonPath& path) {
    if (token == "true" || token == "false") {
      out.kind_ = Kind::boolean;
      out.integer_ = token == "true";
      return {};
    }
    if (token == "null") return {};
    bool integral = false;
    if (!is_number(token, integral)) return syntax_error(path, short_text(token));
    out.text_ = token;
    const char* const end = token.data() + token.size();
    const bool fits = integral && std::from_chars(token.data(), end, out.integer_).ec == std::errc();
    out.kind_ = fits ? Kind::integer : Kind::number;
    std::from_chars(token.data(), end, out.number_);  // out of range leaves 0: nobody takes such a number
    return {};
  }

  static Status build(Value value, Json& out, const JsonPath& path, size_t depth) {
    simdjson::ondemand::json_type type;
    if (value.type().get(type) != simdjson::SUCCESS) return syntax_error(path, "something else");
    if (type == simdjson::ondemand::json_type::string) return string(value, out, path);
    if (type == simdjson::ondemand::json_type::array || type == simdjson::ondemand::json_type::object) {
      if (depth == kMaxDepth) return syntax_error(path, "nesting deeper than " + std::to_string(kMaxDepth));
      return type == simdjson::ondemand::json_type::array ? array(value, out, path, depth) : object(value, out, path, depth);
    }
    return scalar(trimmed(value.raw_json_token()), out, path);
  }

  static Status string(Value value, Json& out, const JsonPath& path) {
    std::string_view text;
    if (value.get_string().get(text) != simdjson::SUCCESS) return syntax_error(path, "a broken string");
    out.kind_ = Kind::string;
    out.text_ = text;
    return {};
  }

  static Status array(Value value, Json& out, const JsonPath& path, size_t depth) {
    out.kind_ = Kind::array;
    simdjson::ondemand::array items;
    if (value.get_array().get(items) != simdjson::SUCCESS) return syntax_error(path, "a broken array");
    for (auto item : items) {
      Value element;
      const JsonPath here = path.element(out.items_.size());
      if (std::move(item).get(element) != simdjson::SUCCESS) return syntax_error(here, "a broken array");
      PTERON_TRY(build(element, out.items_.emplace_back(), here, depth + 1));
    }
    return {};
  }

  static Status object(Value value, Json& out, const JsonPath& path, size_t depth) {
    out.kind_ = Kind::object;
    simdjson::ondemand::object fields;
    if (value.get_object().get(fields) != simdjson::SUCCESS) return syntax_error(path, "a broken object");
    for (auto item : fields) {
      simdjson::ondemand::field field;
      std::string_view name;
      if (std::move(item).get(field) != simdjson::SUCCESS) return syntax_error(path, "a broken object");
      if (field.unescaped_key().get(name) != simdjson::SUCCESS) return syntax_error(path, "a broken key");
      const JsonPath here = path.member(name);
      if (out.find(name) != nullptr) return Status::error(Code::invalid_data, "duplicate key", {"", here.text(), "one value", "a second one"});
      if (out.members_.empty()) out.members_.reserve(8);
      PTERON_TRY(build(field.value(), out.members_.emplace_back(name, Json()).second, here, depth + 1));
    }
    return {};
  }
};

Result<Json> Json::parse(std::string_view text) {
  if (text.size() > kMaxBytes) return syntax_error({}, "more than " + std::to_string(kMaxBytes) + " bytes");
  const simdjson::padded_string padded(text.data(), text.size());
  simdjson::ondemand::parser parser;
  simdjson::ondemand::document document;
  if (const auto error = parser.iterate(padded).get(document); error != simdjson::SUCCESS) {
    return syntax_error({}, simdjson::error_message(error));
  }
  Json root;
  simdjson::ondemand::value value;
  if (document.get_value().get(value) != simdjson::SUCCESS) return syntax_error({}, "a document that is not an object or array");
  PTERON_TRY(Builder::build(value, root, {}, 0));
  // What follows the value starts where the document stands now.
  const char* rest = nullptr;
  if (document.current_location().get(rest) == simdjson::SUCCESS) return syntax_error({}, "text after the value");
  return root;
}

std::string Json::describe() const {
  switch (kind_) {
    case Kind::null: return "null";
    case Kind::boolean: return integer_ != 0 ? "true" : "false";
    case Kind::integer:
    case Kind::number: return text_.size() > 40 ? text_.substr(0, 40) + "..." : text_;
    case Kind::string: return short_text(text_);
    case Kind::array: return "an array";
    case Kind::object: return "an object";
  }
  return "";
}

const Json* Json::find(std::string_view key) const {
  const auto at = std::find_if(members_.begin(), members_.end(), [&](const auto& member) { return member.first == key; });
  return at == members_.end() ? nullptr : &at->second;
}

std::string JsonPath::text() const {
  if (parent == nullptr) return std::string(key);
  return key.empty() ? json_path(parent->text(), index) : json_path(parent->text(), key);
}

std::string json_path(std::string_view path, std::string_view key) {
  std::string out(path);
  if (!out.empty()) out += '.';
  return out.append(key);
}

std::string json_path(std::string_view path, size_t index) { return std::string(path) + '[' + std::to_string(index) + ']'; }

Status json_error(const JsonPath& path, std::string_view expected, const Json& found) {
  return Status::error(Code::invalid_data, "wrong value", {"", path.text(), std::string(expected), found.describe()});
}

Result<int64_t> json_size(const Json& value, const JsonPath& path) {
  if (!value.is(Json::Kind::integer) || value.integer() < 0) return json_error(path, "a non-negative integer of at most 63 bits", value);
  return value.integer();
}

Result<std::string_view> json_string(const Json& value, const JsonPath& path) {
  if (!value.is(Json::Kind::string)) return json_error(path, "a string", value);
  return std::string_view(value.string());
}

Status json_expect(const Json& value, Json::Kind kind, const JsonPath& path) {
  if (value.is(kind)) return {};
  return json_error(path, kind == Json::Kind::array ? "an array" : kind == Json::Kind::object ? "an object" : "another kind", value);
}

Result<const Json*> json_member(const Json& object, std::string_view key, const JsonPath& path) {
  const Json* value = object.find(key);
  if (value == nullptr) return Status::error(Code::invalid_data, "missing key", {"", path.member(key).text(), "a value", "nothing"});
  return value;
}

}  // namespace pteron::llm
