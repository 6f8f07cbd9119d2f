// How Python writes values as text, for templates: str, repr, JSON, formats, time.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "text/jinja_value.h"

namespace pteron::text::jinja {

// The characters (code points) of a UTF-8 text; a byte that begins none stands alone.
std::vector<std::string_view> characters_of(std::string_view text);
std::vector<std::string_view> characters_of(std::string&& text) = delete;  // the views would outlive it
size_t character_count(std::string_view text);
std::string encode_utf8(uint32_t code_point);
uint32_t decode_utf8(std::string_view character);

std::string repr_number(double value);         // 1e+16, 0.1, inf
std::string repr(const Value& value);          // 'text', [1, 'a']
std::string to_text(const Value& value);       // what {{ }} prints

struct JsonStyle {
  bool ensure_ascii = false;
  bool sort_keys = false;
  std::optional<std::string> indent;
  std::optional<std::string> item_separator, key_separator;  // unset: ", " (without indent) and ": "
};
Result<std::string> to_json(const Value& value, const JsonStyle& style);

std::string upper(std::string_view text);
std::string lower(std::string_view text);
std::string title(std::string_view text);
std::string capitalize(std::string_view text);
// Without the characters of `set` (white space as Unicode has it, if there is none) at the ends.
std::string_view strip(std::string_view text, std::optional<std::string_view> set, bool left, bool right);
bool is_space(uint32_t code_point);
std::string replace_all(std::string_view text, std::string_view from, std::string_view to, int64_t count);

// '%s/%d' % values
Result<std::string> percent_format(std::string_view format, const Value& values);
// '{} {name}'.format(...): fields reach into items, never into attributes.
Result<std::string> brace_format(std::string_view format, const Arguments& arguments);
// strftime in the C locale. `now` as 2024-07-26T09:05:03; unset: the local clock.
Result<std::string> format_time(std::string_view format, const std::optional<std::string>& now);

}  // namespace pteron::text::jinja
