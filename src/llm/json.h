// JSON as a small strict tree: what a contract object and a generation config are read through. Duplicate keys are errors, integers keep
// their exact value, and every error names the path of the value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace pteron::llm {

// Where a value stands, as a chain of keys and indices that becomes text only when an error needs it. Points to its parent.
struct JsonPath {
  const JsonPath* parent = nullptr;
  std::string_view key;  // of an object; empty: the element `index` of an array, or the root where there is no parent
  size_t index = 0;

  JsonPath member(std::string_view name) const { return {this, name, 0}; }
  JsonPath element(size_t i) const { return {this, {}, i}; }
  std::string text() const;  // "methods[0].inputs[3].shape[2]"
};

class Json {
 public:
  enum class Kind : uint8_t { null, boolean, integer, number, string, array, object };

  // Parses a whole document of at most 16 MiB and 32 levels. Errors (invalid_data): syntax, a duplicate key, anything after the value.
  static Result<Json> parse(std::string_view text);

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  // What the value is, for messages: `"text"`, `3`, `an object`.
  std::string describe() const;

  // The member of an object with that key, or null; null also for other kinds.
  const Json* find(std::string_view key) const;
  const std::vector<std::pair<std::string, Json>>& members() const { return members_; }
  const std::vector<Json>& items() const { return items_; }
  bool boolean() const { return integer_ != 0; }
  int64_t integer() const { return integer_; }    // `integer`: a number without fraction and exponent that fits
  double number() const { return number_; }       // `integer` and `number`
  const std::string& string() const { return text_; }

 private:
  struct Builder;
  Kind kind_ = Kind::null;
  int64_t integer_ = 0;
  double number_ = 0;
  std::string text_;                              // the string, or the digits of a number as they stand
  std::vector<Json> items_;
  std::vector<std::pair<std::string, Json>> members_;
};

// Typed access with errors that name the path. `expected` texts are fixed, so that equal mistakes read alike.
Result<int64_t> json_size(const Json& value, const JsonPath& path);  // a non-negative integer
Result<std::string_view> json_string(const Json& value, const JsonPath& path);
Status json_expect(const Json& value, Json::Kind kind, const JsonPath& path);
// The member `key` of the object at `path`, which must be there.
Result<const Json*> json_member(const Json& object, std::string_view key, const JsonPath& path);
Status json_error(const JsonPath& path, std::string_view expected, const Json& found);

// The same paths as text: "path.key" ("key" where path is empty), "path[index]".
std::string json_path(std::string_view path, std::string_view key);
std::string json_path(std::string_view path, size_t index);

}  // namespace pteron::llm
