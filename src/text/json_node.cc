#include "text/json_node.h"

namespace pteron::text {

std::string JsonNode::member_path(std::string_view key) const { return path_.empty() ? std::string(key) : path_ + "." + std::string(key); }

std::string JsonNode::describe() const {
  constexpr size_t kMaxShown = 80;
  switch (element_.type()) {
    case simdjson::dom::element_type::ARRAY: return "a list";
    case simdjson::dom::element_type::OBJECT: return "an object";
    case simdjson::dom::element_type::NULL_VALUE: return "null";
    case simdjson::dom::element_type::STRING: {
      std::string_view text;
      if (element_.get(text) != simdjson::SUCCESS) return "a string";
      return "\"" + std::string(text.substr(0, kMaxShown)) + "\"";
    }
    default: return std::string(simdjson::minify(element_));
  }
}

Status JsonNode::expected(std::string_view what) const {
  return Status::error(Code::invalid_data, "tokenizer", {.field = path_, .expected = std::string(what), .found = describe()});
}

Status JsonNode::unsupported(std::string_view known) const {
  return Status::error(Code::unsupported, "tokenizer", {.field = path_, .expected = std::string(known), .found = describe()});
}

std::optional<JsonNode> JsonNode::find(std::string_view key) const {
  simdjson::dom::element value;
  if (element_.at_key(key).get(value) != simdjson::SUCCESS || value.is_null()) return std::nullopt;
  return JsonNode(value, member_path(key));
}

Result<JsonNode> JsonNode::get(std::string_view key) const {
  simdjson::dom::object object;
  if (element_.get(object) != simdjson::SUCCESS) return expected("an object");
  simdjson::dom::element value;
  if (object.at_key(key).get(value) != simdjson::SUCCESS) {
    return Status::error(Code::invalid_data, "tokenizer", {.field = member_path(key), .expected = "a value", .found = "nothing"});
  }
  return JsonNode(value, member_path(key));
}

Result<std::string> JsonNode::text() const {
  std::string_view value;
  if (element_.get(value) != simdjson::SUCCESS) return expected("a string");
  return std::string(value);
}

Result<bool> JsonNode::boolean() const {
  bool value = false;
  if (element_.get(value) != simdjson::SUCCESS) return expected("true or false");
  return value;
}

Result<uint32_t> JsonNode::number() const {
  uint64_t value = 0;
  if (element_.get(value) != simdjson::SUCCESS || value > 0x7fffffff) return expected("a whole number below 2^31");
  return static_cast<uint32_t>(value);
}

Result<std::vector<JsonNode>> JsonNode::items() const {
  simdjson::dom::array array;
  if (element_.get(array) != simdjson::SUCCESS) return expected("a list");
  std::vector<JsonNode> nodes;
  for (const simdjson::dom::element item : array) nodes.emplace_back(item, path_ + "[" + std::to_string(nodes.size()) + "]");
  return nodes;
}

Result<std::string> JsonNode::text_of(std::string_view key) const {
  PTERON_ASSIGN(const JsonNode node, get(key));
  return node.text();
}

Result<std::string> JsonNode::text_or(std::string_view key, std::string_view absent) const {
  const auto node = find(key);
  return node ? node->text() : Result<std::string>(std::string(absent));
}

Result<bool> JsonNode::boolean_or(std::string_view key, bool absent) const {
  const auto node = find(key);
  return node ? node->boolean() : Result<bool>(absent);
}

Result<uint32_t> JsonNode::number_or(std::string_view key, uint32_t absent) const {
  const auto node = find(key);
  return node ? node->number() : Result<uint32_t>(absent);
}

Result<std::vector<JsonNode>> JsonNode::items_of(std::string_view key) const {
  PTERON_ASSIGN(const JsonNode node, get(key));
  return node.items();
}

}  // namespace pteron::text
