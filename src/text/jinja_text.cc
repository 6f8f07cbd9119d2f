#include "text/jinja_text.h"

#include <utf8proc.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>


namespace pteron::text::jinja {
namespace {

constexpr size_t kMaxJson = size_t{256} << 20;

size_t character_size(std::string_view text, size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  const size_t size = lead < 0x80 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  return std::min(size, text.size() - at);
}

template <class F>
std::string map_characters(std::string_view text, F&& f) {
  std::string out;
  for (std::string_view c : characters_of(text)) out += f(c);
  return out;
}

bool is_letter(uint32_t code_point) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(code_point))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT: return true;
    default: return false;
  }
}

// What Python's repr writes as it is: no controls, formats, surrogates, unassigned code points or blanks other than the space.
bool is_printable(uint32_t code_point) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(code_point))) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP: return false;
    case UTF8PROC_CATEGORY_ZS: return code_point == ' ';
    default: return true;
  }
}

std::string upper_character(std::string_view c) {
  const uint32_t code_point = decode_utf8(c);
  if (code_point == 0xdf) return "SS";  // the one common letter whose capital is two
  return encode_utf8(static_cast<uint32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(code_point))));
}

std::string lower_character(std::string_view c) { return encode_utf8(static_cast<uint32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(decode_utf8(c))))); }

std::string title_character(std::string_view c) {
  const uint32_t code_point = decode_utf8(c);
  if (code_point == 0xdf) return "Ss";
  return encode_utf8(static_cast<uint32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(code_point))));
}

std::string repr_string(const std::string& text) {
  const char quote = text.find('\'') != std::string::npos && text.find('"') == std::string::npos ? '"' : '\'';
  std::string out(1, quote);
  for (std::string_view c : characters_of(text)) {
    const uint32_t code_point = decode_utf8(c);
    char escape[16];
    if (c == "\n") out += "\\n";
    else if (c == "\r") out += "\\r";
    else if (c == "\t") out += "\\t";
    else if (c == "\\") out += "\\\\";
    else if (c.size() == 1 && c[0] == quote) out += std::string("\\") + quote;
    else if (!is_printable(code_point)) {
      std::snprintf(escape, sizeof escape, code_point < 0x100 ? "\\x%02x" : code_point < 0x10000 ? "\\u%04x" : "\\U%08x", code_point);
      out += escape;
    } else out += c;
  }
  return out + quote;
}

std::string join_repr(const std::vector<Value>& items) {
  std::string out;
  for (const Value& item : items) out += (out.empty() ? "" : ", ") + repr(item);
  return out;
}

Result<std::string> json_key(const Value& key) {
  switch (key.kind()) {
    case Kind::string: return key.text();
    case Kind::none: return std::string("null");
    case Kind::boolean: return std::string(key.boolean() ? "true" : "false");
    case Kind::integer:
    case Kind::number: return to_text(key);
    default: return template_error("keys must be str, int, float, bool or None, not " + std::string(key.type_name()));
  }
}

std::string json_string(const std::string& text, bool ensure_ascii) {
  std::string out = "\"";
  for (std::string_view c : characters_of(text)) {
    const uint32_t code_point = decode_utf8(c);
    char escape[16];
    switch (code_point) {
      case '"': out += "\\\""; continue;
      case '\\': out += "\\\\"; continue;
      case '\n': out += "\\n"; continue;
      case '\r': out += "\\r"; continue;
      case '\t': out += "\\t"; continue;
      case '\b': out += "\\b"; continue;
      case '\f': out += "\\f"; continue;
      default: break;
    }
    if (code_point >= 0x20 && (!ensure_ascii || code_point < 0x7f)) {
      out += c;
    } else if (code_point < 0x10000) {
      std::snprintf(escape, sizeof escape, "\\u%04x", code_point);
      out += escape;
    } else {
      const uint32_t rest = code_point - 0x10000;
      std::snprintf(escape, sizeof escape, "\\u%04x\\u%04x", 0xd800 + (rest >> 10), 0xdc00 + (rest & 0x3ff));
      out += escape;
    }
  }
  return out + "\"";
}

// Writes JSON as Python's json.dumps does.
class JsonWriter {
 public:
  explicit JsonWriter(const JsonStyle& style) : style_(style) {
    item_separator_ = style.item_separator.value_or(style.indent ? "," : ", ");
    key_separator_ = style.key_separator.value_or(": ");
  }

  Status write(const Value& value, size_t depth) {
    if (depth > 200) return template_error("tojson: values are nested too deeply");
    if (out.size() > kMaxJson) return Status::error(Code::out_of_capacity, "tojson: the result is too long");
    switch (value.kind()) {
      case Kind::none: out += "null"; return {};
      case Kind::boolean: out += value.boolean() ? "true" : "false"; return {};
      case Kind::integer: out += std::to_string(value.integer()); return {};
      case Kind::number: out += std::isnan(value.number()) ? "NaN" : std::isinf(value.number()) ? (value.number() < 0 ? "-Infinity" : "Infinity") : repr_number(value.number()); return {};
      case Kind::string: out += json_string(value.text(), style_.ensure_ascii); return {};
      case Kind::list:
      case Kind::tuple: return write_list(value.sequence().items, depth);
      case Kind::dict: return write_dict(value.dict(), depth);
      default: return template_error("Object of type " + std::string(value.type_name()) + " is not JSON serializable");
    }
  }

  std::string out;

 private:
  void line(size_t depth) {
    if (!style_.indent) return;
    out += '\n';
    for (size_t i = 0; i < depth; ++i) out += *style_.indent;
  }

  Status write_list(const std::vector<Value>& items, size_t depth) {
    if (items.empty()) {
      out += "[]";
      return {};
    }
    out += '[';
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out += item_separator_;
      line(depth + 1);
      PTERON_TRY(write(items[i], depth + 1));
    }
    line(depth);
    out += ']';
    return {};
  }

  Status write_dict(const Dict& dict, size_t depth) {
    if (dict.entries.empty()) {
      out += "{}";
      return {};
    }
    std::vector<std::pair<std::string, const Value*>> entries;
    for (const auto& [key, value] : dict.entries) {
      PTERON_ASSIGN(std::string name, json_key(key));
      entries.emplace_back(std::move(name), &value);
    }
    if (style_.sort_keys) std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    out += '{';
    bool first = true;
    for (const auto& [name, value] : entries) {
      if (!first) out += item_separator_;
      first = false;
      line(depth + 1);
      out += json_string(name, style_.ensure_ascii) + key_separator_;
      PTERON_TRY(write(*value, depth + 1));
    }
    line(depth);
    out += '}';
    return {};
  }

  const JsonStyle& style_;
  std::string item_separator_, key_separator_;
};

}  // namespace

std::vector<std::string_view> characters_of(std::string_view text) {
  std::vector<std::string_view> characters;
  characters.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const size_t size = character_size(text, at);
    characters.push_back(text.substr(at, size));
    at += size;
  }
  return characters;
}

size_t character_count(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string encode_utf8(uint32_t code_point) {
  utf8proc_uint8_t bytes[4];
  const utf8proc_ssize_t size = utf8proc_encode_char(static_cast<utf8proc_int32_t>(code_point), bytes);
  return size > 0 ? std::string(reinterpret_cast<char*>(bytes), static_cast<size_t>(size)) : std::string("\xef\xbf\xbd");
}

uint32_t decode_utf8(std::string_view character) {
  utf8proc_int32_t code_point = 0;
  const utf8proc_ssize_t size =
      utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(character.data()), static_cast<utf8proc_ssize_t>(character.size()), &code_point);
  return size > 0 && code_point >= 0 ? static_cast<uint32_t>(code_point) : 0xfffd;
}

std::string repr_number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char text[40];
  const auto end = std::to_chars(text, text + sizeof text - 1, value, std::chars_format::scientific);
  *end.ptr = '\0';
  const std::string_view shortest(text, static_cast<size_t>(end.ptr - text));
  const size_t e = shortest.find('e');
  const bool negative = shortest[0] == '-';
  std::string digits;
  for (char c : shortest.substr(negative ? 1 : 0, e - (negative ? 1 : 0))) {
    if (c != '.') digits += c;
  }
  const int exponent = std::atoi(shortest.data() + e + 1);
  std::string out = negative ? "-" : "";
  if (exponent < -4 || exponent >= 16) {
    out += digits.substr(0, 1) + (digits.size() > 1 ? "." + digits.substr(1) : "");
    std::snprintf(text, sizeof text, "e%c%02d", exponent < 0 ? '-' : '+', std::abs(exponent));
    return out + text;
  }
  if (exponent < 0) return out + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  const size_t whole = static_cast<size_t>(exponent) + 1;
  if (digits.size() <= whole) return out + digits + std::string(whole - digits.size(), '0') + ".0";
  return out + digits.substr(0, whole) + "." + digits.substr(whole);
}

std::string repr(const Value& value) {
  switch (value.kind()) {
    case Kind::undefined: return "Undefined";
    case Kind::string: return repr_string(value.text());
    case Kind::list: return "[" + join_repr(value.sequence().items) + "]";
    case Kind::tuple: return "(" + join_repr(value.sequence().items) + (value.sequence().items.size() == 1 ? ",)" : ")");
    case Kind::dict: {
      std::string out = "{";
      for (const auto& [key, item] : value.dict().entries) out += (out.size() > 1 ? ", " : "") + repr(key) + ": " + repr(item);
      return out + "}";
    }
    default: return to_text(value);
  }
}

std::string to_text(const Value& value) {
  switch (value.kind()) {
    case Kind::undefined: return {};
    case Kind::none: return "None";
    case Kind::boolean: return value.boolean() ? "True" : "False";
    case Kind::integer: return std::to_string(value.integer());
    case Kind::number: return repr_number(value.number());
    case Kind::string: return value.text();
    case Kind::generator: return "<generator object>";
    case Kind::callable: return "<function " + value.callable().name + ">";
    case Kind::members: return "<" + value.members().type + ">";
    default: return repr(value);
  }
}

Result<std::string> to_json(const Value& value, const JsonStyle& style) {
  JsonWriter writer(style);
  PTERON_TRY(writer.write(value, 0));
  return std::move(writer.out);
}

std::string upper(std::string_view text) { return map_characters(text, upper_character); }
std::string lower(std::string_view text) { return map_characters(text, lower_character); }

std::string title(std::string_view text) {
  bool inside = false;
  return map_characters(text, [&](std::string_view c) {
    const bool letter = is_letter(decode_utf8(c));
    std::string out = !letter ? std::string(c) : inside ? lower_character(c) : title_character(c);
    inside = letter;
    return out;
  });
}

std::string capitalize(std::string_view text) {
  bool first = true;
  return map_characters(text, [&](std::string_view c) {
    std::string out = first ? title_character(c) : lower_character(c);
    first = false;
    return out;
  });
}

bool is_space(uint32_t c) {
  return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 ||
         c == 0x202f || c == 0x205f || c == 0x3000;
}

std::string_view strip(std::string_view text, std::optional<std::string_view> set, bool left, bool right) {
  const std::vector<std::string_view> characters = characters_of(text), members = set ? characters_of(*set) : std::vector<std::string_view>();
  const auto drop = [&](std::string_view c) { return set ? std::find(members.begin(), members.end(), c) != members.end() : is_space(decode_utf8(c)); };
  size_t first = 0, last = characters.size();
  while (left && first < last && drop(characters[first])) ++first;
  while (right && last > first && drop(characters[last - 1])) --last;
  if (first == last) return {};
  return std::string_view(characters[first].data(), static_cast<size_t>(characters[last - 1].data() + characters[last - 1].size() - characters[first].data()));
}

std::string replace_all(std::string_view text, std::string_view from, std::string_view to, int64_t count) {
  std::string out;
  if (from.empty()) {
    for (std::string_view c : characters_of(text)) {
      if (count != 0) {
        out += to;
        --count;
      }
      out += c;
    }
    if (count != 0) out += to;
    return out;
  }
  for (size_t at = 0;;) {
    const size_t next = count == 0 ? std::string_view::npos : text.find(from, at);
    if (next == std::string_view::npos) return out.append(text.substr(at));
    out.append(text.substr(at, next - at)).append(to);
    at = next + from.size();
    --count;
  }
}

Result<std::string> format_time(std::string_view format, const std::optional<std::string>& now) {
  std::tm time{};
  if (now) {
    const Status malformed = Status::error(Code::invalid_argument, "malformed time", {.file = {}, .field = "now", .expected = "a time like 2024-07-26T09:05:03", .found = *now});
    int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, used = 0;
    if (std::sscanf(now->c_str(), "%4d-%2d-%2dT%2d:%2d:%2d%n", &year, &month, &day, &hour, &minute, &second, &used) != 6 || static_cast<size_t>(used) != now->size() || year < 1 ||
        month < 1 || month > 12 || day < 1 || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60) {
      return malformed;
    }
    time.tm_year = year - 1900;
    time.tm_mon = month - 1;
    time.tm_mday = day;
    time.tm_hour = hour;
    time.tm_min = minute;
    time.tm_sec = second;
    const std::time_t seconds = ::timegm(&time);
    ::gmtime_r(&seconds, &time);  // fills in the day of the week and of the year
    if (second < 60 && time.tm_mday != day) return malformed;  // a day that its month does not have
  } else {
    const std::time_t seconds = std::time(nullptr);
    ::localtime_r(&seconds, &time);
  }
  if (format.size() > 4096) return template_error("strftime_now: the format is too long");
  // A mark at the end tells an empty result from a buffer that is too small.
  const std::string marked = std::string(format) + "|";
  std::string out(4096 + 64 * format.size(), '\0');
  const size_t size = std::strftime(out.data(), out.size(), marked.c_str(), &time);
  if (size == 0) return template_error("strftime_now: the result is too long");
  out.resize(size - 1);
  return out;
}

}  // namespace pteron::text::jinja
