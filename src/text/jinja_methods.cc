// Methods of strings, dicts and lists.
#include <algorithm>
#include <array>
#include <utf8proc.h>

#include "text/jinja_builtins.h"
#include "text/jinja_text.h"

namespace pteron::text::jinja {
namespace {

using Method = Result<Value> (*)(const Value& self, Arguments& arguments, Meter& meter);
struct Row {
  std::string_view name;
  Method method;
};

Value text_value(std::string text) { return Value::string(std::move(text)); }
Value list_of(const std::vector<std::string_view>& parts) {
  std::vector<Value> items;
  for (std::string_view part : parts) items.push_back(text_value(std::string(part)));
  return Value::list(std::move(items));
}

template <std::string (*F)(std::string_view)>
Result<Value> mapped(const Value& self, Arguments& arguments, Meter& meter) {
  PTERON_ASSIGN(const Bound bound, Bound::bind("method", arguments, {}));
  PTERON_TRY(meter.charge(self.text().size()));
  return text_value(F(self.text()));
}

template <bool Left, bool Right>
Result<Value> stripped(const Value& self, Arguments& arguments, Meter&) {
  PTERON_ASSIGN(const Bound bound, Bound::bind("strip", arguments, {"chars"}));
  const Value* set = bound.get(0);
  if (set != nullptr && !set->is(Kind::none) && !set->is(Kind::string)) return template_error("strip arg must be None or str");
  const bool has_set = set != nullptr && set->is(Kind::string);
  return text_value(std::string(strip(self.text(), has_set ? std::optional<std::string_view>(set->text()) : std::nullopt, Left, Right)));
}

// Splits at white space (the rest keeps what it ends with), at most `most` times (below 0: everywhere), from the left or the right.
std::vector<std::string_view> split_blank(std::string_view text, int64_t most, bool from_right) {
  const std::vector<std::string_view> characters = characters_of(text);
  std::vector<std::string_view> parts;
  const auto piece = [&](size_t first, size_t last) {
    return std::string_view(characters[first].data(), static_cast<size_t>(characters[last - 1].data() + characters[last - 1].size() - characters[first].data()));
  };
  const auto blank = [&](size_t i) { return is_space(decode_utf8(characters[i])); };
  if (!from_right) {
    for (size_t at = 0; at < characters.size();) {
      while (at < characters.size() && blank(at)) ++at;
      if (at == characters.size()) break;
      size_t end = at;
      const bool rest = most >= 0 && static_cast<int64_t>(parts.size()) == most;
      while (end < characters.size() && (rest || !blank(end))) ++end;
      parts.push_back(piece(at, end));
      at = rest ? characters.size() : end;
    }
    return parts;
  }
  for (size_t end = characters.size(); end > 0;) {
    while (end > 0 && blank(end - 1)) --end;
    if (end == 0) break;
    size_t at = end;
    const bool rest = most >= 0 && static_cast<int64_t>(parts.size()) == most;
    while (at > 0 && (rest || !blank(at - 1))) --at;
    parts.push_back(piece(at, end));
    end = rest ? 0 : at;
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

template <bool FromRight>
Result<Value> split(const Value& self, Arguments& arguments, Meter& meter) {
  PTERON_ASSIGN(const Bound bound, Bound::bind("split", arguments, {"sep", "maxsplit"}));
  PTERON_ASSIGN(const int64_t most, bound.integer(1, -1));
  const std::string& text = self.text();
  PTERON_TRY(meter.charge(text.size() * 2));
  if (bound.get(0) == nullptr || bound.get(0)->is(Kind::none)) return list_of(split_blank(text, most, FromRight));
  PTERON_ASSIGN(const std::string separator, bound.string(0, ""));
  if (separator.empty()) return template_error("empty separator");
  std::vector<std::string_view> parts;
  std::string_view rest = text;
  while (most < 0 || static_cast<int64_t>(parts.size()) < most) {
    const size_t at = FromRight ? rest.rfind(separator) : rest.find(separator);
    if (at == std::string_view::npos) break;
    parts.push_back(FromRight ? rest.substr(at + separator.size()) : rest.substr(0, at));
    rest = FromRight ? rest.substr(0, at) : rest.substr(at + separator.size());
  }
  parts.push_back(rest);
  if (FromRight) std::reverse(parts.begin(), parts.end());
  return list_of(parts);
}

Result<Value> splitlines(const Value& self, Arguments& arguments, Meter& meter) {
  PTERON_ASSIGN(const Bound bound, Bound::bind("splitlines", arguments, {"keepends"}));
  PTERON_TRY(meter.charge(self.text().size() * 2));
  std::vector<std::string_view> lines;
  const std::string_view text = self.text();
  for (size_t at = 0; at < text.size();) {
    size_t end = text.find_first_of("\n\r", at), after = end;
    if (end == std::string_view::npos) end = after = text.size();
    else after += text.substr(end, 2) == "\r\n" ? 2 : 1;
    lines.push_back(text.substr(at, (bound.truthy(0, false) ? after : end) - at));
    at = after;
  }
  return list_of(lines);
}

template <bool Ends>
Result<Value> affix(const Value& self, Arguments& arguments, Meter&) {
  PTERON_ASSIGN(const Bound bound, Bound::bind(Ends ? "endswith" : "startswith", arguments, {"prefix", "start", "end"}));
  std::vector<Value> choices;
  if (bound.get(0) != nullptr && bound.get(0)->is(Kind::tuple)) choices = bound.get(0)->sequence().items;
  else if (bound.get(0) != nullptr) choices.push_back(*bound.get(0));
  for (const Value& choice : choices) {
    if (!choice.is(Kind::string)) return template_error("startswith first arg must be str or a tuple of str, not " + std::string(choice.type_name()));
    if (Ends ? self.text().ends_with(choice.text()) : self.text().starts_with(choice.text())) return Value::boolean(true);
  }
  if (choices.empty() && bound.get(0) == nullptr) return template_error("startswith takes at least 1 argument");
  return Value::boolean(false);
}

template <bool FromRight, bool MustFind>
Result<Value> find(const Value& self, Arguments& arguments, Meter&) {
  PTERON_ASSIGN(const Bound bound, Bound::bind("find", arguments, {"sub", "start"}));
  PTERON_ASSIGN(const std::string part, bound.string(0, ""));
  PTERON_ASSIGN(int64_t start, bound.integer(1, 0));
  const std::string& text = self.text();
  const std::vector<std::string_view> characters = characters_of(text);
  if (start < 0) start = std::max<int64_t>(0, start + static_cast<int64_t>(characters.size()));
  const size_t from = static_cast<size_t>(start) < characters.size() ? static_cast<size_t>(characters[static_cast<size_t>(start)].data() - text.data()) : text.size();
  const size_t at = FromRight ? text.rfind(part) : text.find(part, from);
  if (at == std::string::npos || (FromRight && at < from)) {
    if (MustFind) return template_error("substring not found");
    return Value::integer(-1);
  }
  return Value::integer(static_cast<int64_t>(character_count(std::string_view(text).substr(0, at))));
}

Result<Value> count_text(const Value& self, Arguments& arguments, Meter&) {
  PTERON_ASSIGN(const Bound bound, Bound::bind("count", arguments, {"sub"}));
  PTERON_ASSIGN(const std::string part, bound.string(0, ""));
  if (part.empty()) return Value::integer(static_cast<int64_t>(character_count(self.text())) + 1);
  int64_t count = 0;
  for (size_t at = self.text().find(part); at != std::string::npos; at = self.text().find(part, at + part.size())) ++count;
  return Value::integer(count);
}

Result<Value> replace(const Value& self, Arguments& arguments, Meter& meter) {
  PTERON_ASSIGN(const Bound bound, Bound::bind("replace", arguments, {"old", "new", "count"}));
  if (bound.get(1) == nullptr) return template_error("replace expected at least 2 arguments");
  PTERON_ASSIGN(const std::string from, bound.string(0, ""));
  PTERON_ASSIGN(const std::string to, bound.string(1, ""));
  PTERON_ASSIGN(const int64_t count, bound.integer(2, -1));
  const size_t places = from.empty() ? self.text().size() + 1 : self.text().size() / from.size();
  PTERON_TRY(meter.charge(self.text().size() + places * to.size()));
  return text_value(replace_all(self.text(), from, to, count));
}

Result<Value> join(const Value& self, Arguments& arguments, Meter& meter) {
  PTERON_ASSIGN(const Bound bound, Bound::bind("join", arguments, {"iterable"}));
  PTERON_ASSIGN(const std::vector<Value> items, iterate(bound.get(0) != nullptr ? *bound.get(0) : Value()));
  std::string out;
  for (size_t i = 0; i < items.size(); ++i) {
    if (!items[i].is(Kind::string)) return template_error("sequence item " + std::to_string(i) + ": expected str instance, " + std::string(items[i].type_name()) + " found");
    PTERON_TRY(meter.charge(self.text().size() + items[i].text().size()));
    if (i > 0) out += self.text();
    out += items[i].text();
  }
  return text_value(std::move(out));
}

Result<Value> format(const Value& self, Arguments& arguments, Meter& meter) {
  PTERON_ASSIGN(std::string out, brace_format(self.text(), arguments));
  PTERON_TRY(meter.charge(out.size()));
  return text_value(std::move(out));
}

enum class Side { left, right, both };
template <Side Where>
Result<Value> justify(const Value& self, Arguments& arguments, Meter& meter) {
  PTERON_ASSIGN(const Bound bound, Bound::bind("just", arguments, {"width", "fillchar"}));
  PTERON_ASSIGN(const int64_t width, bound.integer(0, 0));
  PTERON_ASSIGN(const std::string fill, bound.string(1, " "));
  if (character_count(fill) != 1) return template_error("The fill character must be exactly one character long");
  const int64_t missing = std::max<int64_t>(0, width - static_cast<int64_t>(character_count(self.text())));
  PTERON_TRY(meter.charge(self.text().size() + static_cast<uint64_t>(missing) * fill.size()));
  const int64_t left = Where == Side::left ? 0 : Where == Side::right ? missing : missing / 2 + (missing & width & 1);
  std::string out;
  for (int64_t i = 0; i < left; ++i) out += fill;
  out += self.text();
  for (int64_t i = left; i < missing; ++i) out += fill;
  return text_value(std::move(out));
}

Result<Value> zfill(const Value& self, Arguments& arguments, Meter& meter) {
  PTERON_ASSIGN(const Bound bound, Bound::bind("zfill", arguments, {"width"}));
  PTERON_ASSIGN(const int64_t width, bound.integer(0, 0));
  const int64_t missing = std::max<int64_t>(0, width - static_cast<int64_t>(character_count(self.text())));
  PTERON_TRY(meter.charge(self.text().size() + static_cast<uint64_t>(missing)));
  const size_t sign = !self.text().empty() && (self.text()[0] == '-' || self.text()[0] == '+') ? 1 : 0;
  return text_value(self.text().substr(0, sign) + std::string(static_cast<size_t>(missing), '0') + self.text().substr(sign));
}

template <bool FromRight>
Result<Value> partition(const Value& self, Arguments& arguments, Meter&) {
  PTERON_ASSIGN(const Bound bound, Bound::bind("partition", arguments, {"sep"}));
  PTERON_ASSIGN(const std::string separator, bound.string(0, ""));
  if (separator.empty()) return template_error("empty separator");
  const std::string& text = self.text();
  const size_t at = FromRight ? text.rfind(separator) : text.find(separator);
  if (at == std::string::npos) return Value::tuple(FromRight ? std::vector<Value>{text_value(""), text_value(""), self} : std::vector<Value>{self, text_value(""), text_value("")});
  return Value::tuple({text_value(text.substr(0, at)), text_value(separator), text_value(text.substr(at + separator.size()))});
}

template <bool Suffix>
Result<Value> remove_affix(const Value& self, Arguments& arguments, Meter&) {
  PTERON_ASSIGN(const Bound bound, Bound::bind(Suffix ? "removesuffix" : "removeprefix", arguments, {"affix"}));
  PTERON_ASSIGN(const std::string part, bound.string(0, ""));
  const std::string& text = self.text();
  if (Suffix) return text_value(!part.empty() && text.ends_with(part) ? text.substr(0, text.size() - part.size()) : text);
  return text_value(text.starts_with(part) ? text.substr(part.size()) : text);
}

std::string swap_case(std::string_view text) {
  std::string out;
  for (std::string_view c : characters_of(text)) {
    const std::string big = upper(c);
    out += big == c ? lower(c) : big;
  }
  return out;
}

bool category(uint32_t c, std::initializer_list<int> wanted) {
  return std::find(wanted.begin(), wanted.end(), static_cast<int>(utf8proc_category(static_cast<utf8proc_int32_t>(c)))) != wanted.end();
}
bool is_alpha(uint32_t c) { return category(c, {UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LL, UTF8PROC_CATEGORY_LT, UTF8PROC_CATEGORY_LM, UTF8PROC_CATEGORY_LO}); }
bool is_decimal(uint32_t c) { return category(c, {UTF8PROC_CATEGORY_ND}); }
bool is_numeric(uint32_t c) { return category(c, {UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NL, UTF8PROC_CATEGORY_NO}); }
bool is_alnum(uint32_t c) { return is_alpha(c) || is_numeric(c); }
bool is_ascii(uint32_t c) { return c < 0x80; }

// Whether there is a character and all are of a kind.
template <bool (*F)(uint32_t), bool Empty = false>
Result<Value> all_are(const Value& self, Arguments& arguments, Meter&) {
  PTERON_ASSIGN(const Bound bound, Bound::bind("is", arguments, {}));
  const std::vector<std::string_view> characters = characters_of(self.text());
  return Value::boolean(characters.empty() ? Empty : std::all_of(characters.begin(), characters.end(), [](std::string_view c) { return F(decode_utf8(c)); }));
}

template <std::string (*Wanted)(std::string_view)>
Result<Value> is_cased(const Value& self, Arguments&, Meter&) {
  return Value::boolean(Wanted(self.text()) == self.text() && (upper(self.text()) != lower(self.text())));
}

Result<Value> expandtabs(const Value& self, Arguments& arguments, Meter& meter) {
  PTERON_ASSIGN(const Bound bound, Bound::bind("expandtabs", arguments, {"tabsize"}));
  PTERON_ASSIGN(const int64_t size, bound.integer(0, 8));
  PTERON_TRY(meter.charge(self.text().size() * static_cast<uint64_t>(std::clamp<int64_t>(size, 1, 1 << 20))));
  std::string out;
  int64_t column = 0;
  for (std::string_view c : characters_of(self.text())) {
    if (c == "\t" && size > 0) {
      const int64_t spaces = size - column % size;
      out.append(static_cast<size_t>(spaces), ' ');
      column += spaces;
    } else {
      out += c;
      column = c == "\n" ? 0 : column + 1;
    }
  }
  return text_value(std::move(out));
}

constexpr std::array kStringMethods = {
    Row{"upper", mapped<upper>}, Row{"lower", mapped<lower>}, Row{"casefold", mapped<lower>}, Row{"title", mapped<title>}, Row{"capitalize", mapped<capitalize>},
    Row{"swapcase", mapped<swap_case>}, Row{"strip", stripped<true, true>}, Row{"lstrip", stripped<true, false>}, Row{"rstrip", stripped<false, true>},
    Row{"split", split<false>}, Row{"rsplit", split<true>}, Row{"splitlines", splitlines}, Row{"startswith", affix<false>}, Row{"endswith", affix<true>},
    Row{"find", find<false, false>}, Row{"rfind", find<true, false>}, Row{"index", find<false, true>}, Row{"rindex", find<true, true>}, Row{"count", count_text},
    Row{"replace", replace}, Row{"join", join}, Row{"format", format}, Row{"ljust", justify<Side::left>}, Row{"rjust", justify<Side::right>},
    Row{"center", justify<Side::both>}, Row{"zfill", zfill}, Row{"partition", partition<false>}, Row{"rpartition", partition<true>},
    Row{"removeprefix", remove_affix<false>}, Row{"removesuffix", remove_affix<true>}, Row{"expandtabs", expandtabs},
    Row{"isalpha", all_are<is_alpha>}, Row{"isdigit", all_are<is_decimal>}, Row{"isdecimal", all_are<is_decimal>}, Row{"isnumeric", all_are<is_numeric>},
    Row{"isalnum", all_are<is_alnum>}, Row{"isspace", all_are<is_space>}, Row{"isascii", all_are<is_ascii, true>}, Row{"isupper", is_cased<upper>},
    Row{"islower", is_cased<lower>}, Row{"istitle", is_cased<title>},
};

Result<Value> dict_get(const Value& self, Arguments& arguments, Meter&) {
  PTERON_ASSIGN(const Bound bound, Bound::bind("get", arguments, {"key", "default"}));
  if (bound.get(0) == nullptr) return template_error("get expected at least 1 argument, got 0");
  if (const Value* found = self.dict().find(*bound.get(0))) return *found;
  return bound.get(1) != nullptr ? *bound.get(1) : Value::none();
}

Result<Value> dict_items(const Value& self, Arguments&, Meter& meter) {
  PTERON_TRY(meter.charge(self.dict().entries.size() * sizeof(Value) * 4));
  std::vector<Value> items;
  for (const auto& [key, value] : self.dict().entries) items.push_back(Value::tuple({key, value}));
  return Value::list(std::move(items));
}

Result<Value> dict_keys(const Value& self, Arguments&, Meter&) {
  PTERON_ASSIGN(std::vector<Value> keys, iterate(self));
  return Value::list(std::move(keys));
}

Result<Value> dict_values(const Value& self, Arguments&, Meter& meter) {
  PTERON_TRY(meter.charge(self.dict().entries.size() * sizeof(Value)));
  std::vector<Value> values;
  for (const auto& [key, value] : self.dict().entries) values.push_back(value);
  return Value::list(std::move(values));
}

Result<Value> itself(const Value& self, Arguments&, Meter&) { return self; }

constexpr std::array kDictMethods = {Row{"get", dict_get}, Row{"items", dict_items}, Row{"keys", dict_keys}, Row{"values", dict_values}, Row{"copy", itself}};

Result<Value> list_index(const Value& self, Arguments& arguments, Meter&) {
  PTERON_ASSIGN(const Bound bound, Bound::bind("index", arguments, {"value"}));
  const std::vector<Value>& items = self.sequence().items;
  for (size_t i = 0; bound.get(0) != nullptr && i < items.size(); ++i) {
    if (equals(items[i], *bound.get(0))) return Value::integer(static_cast<int64_t>(i));
  }
  return template_error("value is not in list");
}

Result<Value> list_count(const Value& self, Arguments& arguments, Meter&) {
  PTERON_ASSIGN(const Bound bound, Bound::bind("count", arguments, {"value"}));
  int64_t count = 0;
  for (const Value& item : self.sequence().items) count += bound.get(0) != nullptr && equals(item, *bound.get(0));
  return Value::integer(count);
}

constexpr std::array kListMethods = {Row{"index", list_index}, Row{"count", list_count}, Row{"copy", itself}};

// Methods that would change a value: the sandbox knows them and refuses the call.
constexpr std::array<std::string_view, 13> kMutators = {"append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "update", "setdefault", "popitem", "add", "discard"};

template <size_t N>
Method lookup(const std::array<Row, N>& rows, std::string_view name) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.name == name; });
  return found == rows.end() ? nullptr : found->method;
}

}  // namespace

Value method_of(const Value& value, std::string_view name, Meter& meter) {
  Method method = nullptr;
  if (value.is(Kind::string)) method = lookup(kStringMethods, name);
  if (value.is(Kind::dict)) method = lookup(kDictMethods, name);
  if (value.is_sequence()) method = lookup(kListMethods, name);
  if (method != nullptr) return Value::callable(std::string(name), [value, method, &meter](Arguments& arguments) { return method(value, arguments, meter); });
  const bool container = value.is(Kind::list) || value.is(Kind::dict);
  if (container && std::find(kMutators.begin(), kMutators.end(), name) != kMutators.end() && (value.is(Kind::list) || value.dict().find(name) == nullptr)) {
    return Value::callable(std::string(name), [text = std::string(name)](Arguments&) -> Result<Value> { return template_error("the sandbox refuses to change a value: " + text); });
  }
  return Value();
}

}  // namespace pteron::text::jinja
