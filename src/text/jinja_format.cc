// Python's two ways to format: '%s' % values and '{}'.format(values).
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "text/jinja_text.h"

namespace pteron::text::jinja {
namespace {

constexpr int kMaxWidth = 10000;
constexpr size_t kMaxFormatted = size_t{64} << 20;

// What stands between % or : and the type letter.
struct Spec {
  std::string fill = " ";
  char align = '\0', sign = '\0', type = '\0';
  bool alternate = false, comma = false;
  int width = 0, precision = -1;
};

std::string padded(std::string text, const Spec& spec, char default_align) {
  const auto missing = spec.width - static_cast<int>(character_count(text));
  if (missing <= 0) return text;
  const char align = spec.align == '\0' ? default_align : spec.align;
  int left = align == '<' ? 0 : align == '^' ? missing / 2 : missing;
  if (align == '=') {
    const size_t sign = !text.empty() && (text[0] == '-' || text[0] == '+' || text[0] == ' ') ? 1 : 0;
    std::string zeros;
    for (int i = 0; i < missing; ++i) zeros += spec.fill;
    return text.substr(0, sign) + zeros + text.substr(sign);
  }
  std::string out;
  for (int i = 0; i < left; ++i) out += spec.fill;
  out += text;
  for (int i = left; i < missing; ++i) out += spec.fill;
  return out;
}

std::string with_commas(std::string text) {
  const size_t digits_begin = text.find_first_of("0123456789"), digits_end = text.find_first_not_of("0123456789", digits_begin);
  if (digits_begin == std::string::npos) return text;
  size_t at = digits_end == std::string::npos ? text.size() : digits_end;
  while (at > digits_begin + 3) text.insert(at -= 3, ",");
  return text;
}

std::string signed_text(std::string text, char sign) {
  if (sign != '\0' && sign != '-' && !text.starts_with("-")) text.insert(0, 1, sign);
  return text;
}

Result<std::string> format_integer(int64_t value, const Spec& spec) {
  const int base = spec.type == 'x' || spec.type == 'X' ? 16 : spec.type == 'o' ? 8 : spec.type == 'b' ? 2 : 10;
  char digits[80];
  const auto end = std::to_chars(digits, digits + sizeof digits, value, base);
  std::string text(digits, end.ptr);
  if (spec.type == 'X') std::transform(text.begin(), text.end(), text.begin(), [](char c) { return c >= 'a' ? static_cast<char>(c - 32) : c; });
  if (spec.alternate && base != 10) text.insert(value < 0 ? 1 : 0, std::string("0") + spec.type);
  if (spec.comma) text = with_commas(std::move(text));
  return signed_text(std::move(text), spec.sign);
}

Result<std::string> format_number(double value, const Spec& spec) {
  if (spec.precision > kMaxWidth) return template_error("format: the precision is out of range");
  const bool percent = spec.type == '%';
  const char type = percent ? 'f' : spec.type;
  std::string text(400 + static_cast<size_t>(std::max(spec.precision, 6)), '\0');
  char pattern[8] = "%.*f";
  pattern[3] = type;
  const int size = std::snprintf(text.data(), text.size(), pattern, spec.precision < 0 ? 6 : spec.precision, percent ? value * 100 : value);
  text.resize(static_cast<size_t>(std::max(0, size)));
  if (percent) text += '%';
  if (spec.comma) text = with_commas(std::move(text));
  return signed_text(std::move(text), spec.sign);
}

// A value under a type letter; '\0' is Python's default for its kind.
Result<std::string> format_value(const Value& value, Spec spec) {
  const bool integer = value.is(Kind::integer) || value.is(Kind::boolean);
  switch (spec.type) {
    case 'd':
    case 'i':
    case 'u':
    case 'x':
    case 'X':
    case 'o':
    case 'b': {
      if (!value.is_number()) return template_error(std::string("%") + spec.type + " format: a number is required, not " + std::string(value.type_name()));
      if (value.is(Kind::number) && !(std::fabs(value.number()) < 9.2e18)) return template_error("format: the number is out of range");
      PTERON_ASSIGN(std::string text, format_integer(value.is(Kind::number) ? static_cast<int64_t>(value.number()) : value.integer(), spec));
      return padded(std::move(text), spec, '>');
    }
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
    case '%': {
      if (!value.is_number()) return template_error("must be real number, not " + std::string(value.type_name()));
      PTERON_ASSIGN(std::string text, format_number(value.as_number(), spec));
      return padded(std::move(text), spec, '>');
    }
    default: break;
  }
  if (spec.type == '\0' && integer && value.is(Kind::integer)) {
    PTERON_ASSIGN(std::string text, format_integer(value.integer(), spec));
    return padded(std::move(text), spec, '>');
  }
  if (spec.type == '\0' && value.is(Kind::number) && spec.precision >= 0) {
    spec.type = 'g';
    return format_value(value, spec);
  }
  std::string text = spec.type == 'r' || spec.type == 'a' ? repr(value) : to_text(value);
  if (spec.precision >= 0) {
    std::string cut;
    const std::vector<std::string_view> characters = characters_of(text);
    for (size_t i = 0; i < characters.size() && i < static_cast<size_t>(spec.precision); ++i) cut += characters[i];
    text = std::move(cut);
  }
  return padded(std::move(text), spec, value.is_number() ? '>' : '<');
}

Result<int> small_number(std::string_view text, size_t& at) {
  int value = 0;
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
    value = value * 10 + (text[at++] - '0');
    if (value > kMaxWidth) return template_error("format: a width or precision is out of range");
  }
  return value;
}

// The mini-language after ':' in a brace field.
Result<Spec> parse_spec(std::string_view text) {
  Spec spec;
  const std::vector<std::string_view> characters = characters_of(text);
  size_t at = 0;
  const auto is_align = [](std::string_view c) { return c == "<" || c == ">" || c == "^" || c == "="; };
  if (characters.size() > 1 && is_align(characters[1])) {
    spec.fill = characters[0];
    spec.align = characters[1][0];
    at = characters[0].size() + 1;
  } else if (!characters.empty() && is_align(characters[0])) {
    spec.align = characters[0][0];
    at = 1;
  }
  if (at < text.size() && (text[at] == '+' || text[at] == '-' || text[at] == ' ')) spec.sign = text[at++];
  if (at < text.size() && text[at] == '#') spec.alternate = ++at > 0;
  if (at < text.size() && text[at] == '0') {
    ++at;
    if (spec.align == '\0') {
      spec.fill = "0";
      spec.align = '=';
    }
  }
  PTERON_ASSIGN(spec.width, small_number(text, at));
  if (at < text.size() && (text[at] == ',' || text[at] == '_')) spec.comma = ++at > 0;
  if (at < text.size() && text[at] == '.') {
    ++at;
    PTERON_ASSIGN(spec.precision, small_number(text, at));
  }
  if (at < text.size()) spec.type = text[at++];
  if (at != text.size() || std::string_view("sdnxXobeEfFgG%\0", 15).find(spec.type) == std::string_view::npos) return template_error("Invalid format specifier");
  if (spec.type == 's') spec.type = '\0';
  if (spec.type == 'n') spec.type = 'd';
  return spec;
}

// The value of a field: a number or name, then items in brackets. Attributes are not reached.
Result<Value> field_value(std::string_view field, const Arguments& arguments, size_t& automatic) {
  size_t at = field.find_first_of(".[");
  const std::string_view head = field.substr(0, at);
  Value value;
  int64_t index = 0;
  const auto [last, error] = std::from_chars(head.data(), head.data() + head.size(), index);
  const bool numeric = head.empty() || (error == std::errc() && last == head.data() + head.size());
  if (numeric) {
    const size_t position = head.empty() ? automatic++ : static_cast<size_t>(index);
    if (index < 0 || position >= arguments.positional.size()) return template_error("Replacement index " + std::to_string(position) + " out of range for positional args tuple");
    value = arguments.positional[position];
  } else {
    const auto found = std::find_if(arguments.named.begin(), arguments.named.end(), [&](const auto& named) { return named.first == head; });
    if (found == arguments.named.end()) return template_error("no argument named '" + std::string(head) + "'");
    value = found->second;
  }
  while (at != std::string_view::npos && at < field.size()) {
    if (field[at] == '.') return Value();  // the sandbox reaches no attributes
    const size_t close = field.find(']', at);
    if (close == std::string_view::npos) return template_error("Missing ']' in format string");
    const std::string_view key = field.substr(at + 1, close - at - 1);
    const auto [end, bad] = std::from_chars(key.data(), key.data() + key.size(), index);
    const Value* found = nullptr;
    if (value.is(Kind::dict)) found = value.dict().find(key);
    else if (value.is_sequence() && bad == std::errc() && end == key.data() + key.size() && index >= 0 && static_cast<size_t>(index) < value.sequence().items.size()) {
      found = &value.sequence().items[static_cast<size_t>(index)];
    }
    if (found == nullptr) return template_error("format: no item '" + std::string(key) + "'");
    value = Value(*found);
    at = close + 1 == field.size() ? std::string_view::npos : close + 1;
  }
  return value;
}

Status append_piece(std::string& out, std::string_view piece) {
  if (out.size() + piece.size() > kMaxFormatted) return Status::error(Code::out_of_capacity, "format: the result is too long");
  out += piece;
  return {};
}

}  // namespace

Result<std::string> percent_format(std::string_view format, const Value& values) {
  std::string out;
  size_t next = 0;
  const bool is_tuple = values.is(Kind::tuple);
  for (size_t at = 0; at < format.size(); ++at) {
    if (format[at] != '%') {
      out += format[at];
      continue;
    }
    if (++at == format.size()) return template_error("incomplete format");
    if (format[at] == '%') {
      out += '%';
      continue;
    }
    Spec spec;
    const Value* named = nullptr;
    if (format[at] == '(') {
      const size_t close = format.find(')', at);
      if (close == std::string_view::npos) return template_error("incomplete format key");
      if (!values.is(Kind::dict)) return template_error("format requires a mapping");
      named = values.dict().find(format.substr(at + 1, close - at - 1));
      if (named == nullptr) return template_error("format: no key '" + std::string(format.substr(at + 1, close - at - 1)) + "'");
      at = close + 1;
    }
    bool left = false, zero = false;
    for (; at < format.size() && std::string_view("-+ 0#").find(format[at]) != std::string_view::npos; ++at) {
      left = left || format[at] == '-';
      zero = zero || format[at] == '0';
      if (format[at] == '+' || (format[at] == ' ' && spec.sign == '\0')) spec.sign = format[at];
      spec.alternate = spec.alternate || format[at] == '#';
    }
    PTERON_ASSIGN(spec.width, small_number(format, at));
    if (at < format.size() && format[at] == '.') {
      ++at;
      PTERON_ASSIGN(spec.precision, small_number(format, at));
    }
    if (at >= format.size()) return template_error("incomplete format");
    spec.type = format[at];
    if (std::string_view("sradiuxXoeEfFgGc").find(spec.type) == std::string_view::npos) return template_error(std::string("unsupported format character '") + spec.type + "'");
    if (!is_tuple && named == nullptr && next > 0) return template_error("not enough arguments for format string");
    if (is_tuple && named == nullptr && next >= values.sequence().items.size()) return template_error("not enough arguments for format string");
    const Value value = named != nullptr ? *named : is_tuple ? values.sequence().items[next] : values;
    if (named == nullptr) ++next;
    const bool number = std::string_view("diuxXoeEfFgG").find(spec.type) != std::string_view::npos;
    spec.align = left ? '<' : zero && number ? '=' : '>';
    if (zero && number && !left) spec.fill = "0";
    if (spec.type == 's' || spec.type == 'c') {
      spec.type = 's';
    }
    PTERON_ASSIGN(const std::string piece, format_value(value, spec));
    PTERON_TRY(append_piece(out, piece));
  }
  const bool leftover = is_tuple ? next < values.sequence().items.size() : next == 0 && !values.is(Kind::dict) && !values.is(Kind::list);
  if (leftover) return template_error("not all arguments converted during string formatting");
  return out;
}

Result<std::string> brace_format(std::string_view format, const Arguments& arguments) {
  std::string out;
  size_t automatic = 0;
  for (size_t at = 0; at < format.size(); ++at) {
    const char c = format[at];
    if (c != '{' && c != '}') {
      out += c;
      continue;
    }
    if (at + 1 < format.size() && format[at + 1] == c) {
      out += c;
      ++at;
      continue;
    }
    const size_t close = c == '{' ? format.find('}', at) : std::string_view::npos;
    if (close == std::string_view::npos) return template_error(std::string("Single '") + c + "' encountered in format string");
    std::string_view field = format.substr(at + 1, close - at - 1), spec_text;
    char conversion = '\0';
    if (const size_t colon = field.find(':'); colon != std::string_view::npos) {
      spec_text = field.substr(colon + 1);
      field = field.substr(0, colon);
    }
    if (field.size() >= 2 && field[field.size() - 2] == '!') {
      conversion = field.back();
      field.remove_suffix(2);
    }
    PTERON_ASSIGN(Value value, field_value(field, arguments, automatic));
    if (conversion == 'r') value = Value::string(repr(value));
    if (conversion == 's') value = Value::string(to_text(value));
    PTERON_ASSIGN(const Spec spec, parse_spec(spec_text));
    PTERON_ASSIGN(const std::string piece, format_value(value, spec));
    PTERON_TRY(append_piece(out, piece));
    at = close;
  }
  return out;
}

}  // namespace pteron::text::jinja
