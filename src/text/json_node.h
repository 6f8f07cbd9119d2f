// A JSON value that knows its path, so that errors can name it. Compile-time use only.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace pteron::text {

class JsonNode {
 public:
  JsonNode(simdjson::dom::element element, std::string path) : element_(element), path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  simdjson::dom::element element() const { return element_; }
  bool is_null() const { return element_.is_null(); }

  // The member of that name; nothing where it is absent or null, and where this is no object.
  std::optional<JsonNode> find(std::string_view key) const;
  Result<JsonNode> get(std::string_view key) const;

  Result<std::string> text() const;
  Result<bool> boolean() const;
  Result<uint32_t> number() const;
  Result<std::vector<JsonNode>> items() const;

  Result<std::string> text_of(std::string_view key) const;
  Result<std::string> text_or(std::string_view key, std::string_view absent) const;
  Result<bool> boolean_or(std::string_view key, bool absent) const;
  Result<uint32_t> number_or(std::string_view key, uint32_t absent) const;
  Result<std::vector<JsonNode>> items_of(std::string_view key) const;

  // The error that this value is not what was expected (invalid_data), or is nothing that this build can do (unsupported).
  Status expected(std::string_view what) const;
  Status unsupported(std::string_view known) const;

 private:
  std::string describe() const;
  std::string member_path(std::string_view key) const;
  simdjson::dom::element element_;
  std::string path_;
};

}  // namespace pteron::text
