// Filters.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "text/jinja_builtins.h"
#include "text/jinja_parser.h"
#include "text/jinja_text.h"

namespace pteron::text::jinja {
namespace {

using Filter = Result<Value> (*)(const Value& self, Arguments& arguments, Meter& meter);
struct Row {
  std::string_view name;
  Filter filter;
};

Value text_value(std::string text) { return Value::string(std::move(text)); }

// a.b.0 of a value, as map(attribute=...) and the like reach in. Each part that is not there becomes `fallback`, if there is one.
Result<Value> path_item(const Value& value, const Value& path, Meter& meter, const Value* fallback = nullptr) {
  const auto item_of = [&](const Value& from, const Value& index) -> Result<Value> {
    PTERON_ASSIGN(Value item, get_item(from, index, meter));
    return item.is(Kind::undefined) && fallback != nullptr ? *fallback : std::move(item);
  };
  if (!path.is(Kind::string)) return item_of(value, path);
  Value current = value;
  const std::string& text = path.text();
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('.', at), text.size());
    const std::string part = text.substr(at, end - at);
    int64_t index = 0;
    const auto [last, error] = std::from_chars(part.data(), part.data() + part.size(), index);
    const bool numeric = error == std::errc() && last == part.data() + part.size() && !part.empty();
    PTERON_ASSIGN(current, item_of(current, numeric ? Value::integer(index) : text_value(part)));
    at = end + 1;
  }
  return current;
}

std::string fold_case(const Value& value, bool case_sensitive) { return case_sensitive ? value.text() : lower(value.text()); }

// Sorts by a key; an error in a comparison (kinds that do not compare) ends it.
Result<std::vector<Value>> sorted(std::vector<Value> items, const std::vector<Value>& keys, bool reverse) {
  std::vector<size_t> order(items.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  Status failure;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const Result<bool> before = reverse ? less(keys[b], keys[a]) : less(keys[a], keys[b]);
    if (!before.ok() && failure.ok()) failure = before.status();
    return before.ok() && *before;
  });
  if (!failure.ok()) return failure;
  std::vector<Value> out;
  for (size_t i : order) out.push_back(std::move(items[i]));
  return out;
}

// The keys that items are compared by: an attribute of each (several with commas), strings without case unless asked.
Result<std::vector<Value>> keys_of(const std::vector<Value>& items, const Value* attribute, bool case_sensitive, Meter& meter, const Value* fallback = nullptr) {
  std::vector<Value> keys;
  const auto fold = [&](Value value) { return value.is(Kind::string) ? text_value(fold_case(value, case_sensitive)) : value; };
  for (const Value& item : items) {
    if (attribute == nullptr || attribute->is(Kind::none)) {
      keys.push_back(fold(item));
    } else if (attribute->is(Kind::string) && attribute->text().find(',') != std::string::npos) {
      std::vector<Value> parts;
      for (size_t at = 0; at <= attribute->text().size();) {
        const size_t end = std::min(attribute->text().find(',', at), attribute->text().size());
        PTERON_ASSIGN(Value part, path_item(item, text_value(attribute->text().substr(at, end - at)), meter));
        parts.push_back(fold(std::move(part)));
        at = end + 1;
      }
      keys.push_back(Value::tuple(std::move(parts)));
    } else {
      PTERON_ASSIGN(Value key, path_item(item, *attribute, meter, fallback));
      keys.push_back(fold(std::move(key)));
    }
  }
  return keys;
}

Result<Value> filter_abs(const Value& self, Arguments&, Meter&) {
  if (self.is(Kind::number)) return Value::number(std::fabs(self.number()));
  if (!self.is_number()) return template_error("bad operand type for abs(): '" + std::string(self.type_name()) + "'");
  if (self.integer() == INT64_MIN) return template_error("abs: integer overflow");
  return Value::integer(std::abs(self.integer()));
}

Result<Value> filter_attr(const Value& self, Arguments& arguments, Meter& meter) {
  PTERON_ASSIGN(const Bound bound, Bound::bind("attr", arguments, {"name"}));
  PTERON_ASSIGN(const std::string name, bound.string(0, ""));
  if (self.is(Kind::dict)) return method_of(self, name, meter);  // members only, no items
  return get_attribute(self, name, meter);
}

template <bool Columns>
Result<Value> filter_batch(const Value& self, Arguments& arguments, Meter& meter) {
  PTERON_ASSIGN(const Bound bound, Bound::bind(Columns ? "slice" : "batch", arguments, {"count", "fill_with"}));
  PTERON_ASSIGN(const int64_t count, bound.integer(0, 0));
  PTERON_ASSIGN(const std::vector<Value> items, iterate(self));
  if (count < 1 || count > 100000) return template_error("batch: the count must be between 1 and 100000");
  PTERON_TRY(meter.charge((items.size() + static_cast<size_t>(count)) * sizeof(Value)));
  const bool fill = bound.get(1) != nullptr && !bound.get(1)->is(Kind::none);
  std::vector<Value> groups;
  if (Columns) {
    const size_t per = items.size() / static_cast<size_t>(count), extra = items.size() % static_cast<size_t>(count);
    size_t at = 0;
    for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
      std::vector<Value> group;
      for (size_t k = 0; k < per + (i < extra ? 1 : 0); ++k) group.push_back(items[at++]);
      if (fill && extra > 0 && i >= extra) group.push_back(*bound.get(1));
      groups.push_back(Value::list(std::move(group)));
    }
    return Value::generator(std::move(groups));
  }
  for (size_t at = 0; at < items.size(); at += static_cast<size_t>(count)) {
    std::vector<Value> group(items.begin() + static_cast<ptrdiff_t>(at), items.begin() + static_cast<ptrdiff_t>(std::min(items.size(), at + static_cast<size_t>(count))));
    while (fill && group.size() < static_cast<size_t>(count)) group.push_back(*bound.get(1));
    groups.push_back(Value::list(std::move(group)));
  }
  return Value::generator(std::move(groups));
}

template <std::string (*F)(std::string_view)>
Result<Value> filter_text(const Value& self, Arguments&, Meter& meter) {
  const std::string text = to_text(self);
  PTERON_TRY(meter.charge(text.size()));
  return text_value(F(text));
}

Result<Value> filter_center(const Value& self, Arguments& arguments, Meter& meter) {
  PTERON_ASSIGN(const Bound bound, Bound::bind("center", arguments, {"width"}));
  PTERON_ASSIGN(const int64_t width, bound.integer(0, 80));
  const Value text = text_value(to_text(self));
  Arguments forwarded{{Value::integer(width)}, {}};
  return method_of(text, "center", meter).callable().call(forwarded);
}

Result<Value> filter_length(const Value& self, Arguments&, Meter&) {
  if (self.is(Kind::string)) return Value::integer(static_cast<int64_t>(character_count(self.text())));
  if (self.is_sequence()) return Value::integer(static_cast<int64_t>(self.sequence().items.size()));
  if (self.is(Kind::dict)) return Value::integer(static_cast<int64_t>(self.dict().entries.size()));
  if (self.is(Kind::undefined)) return Value::integer(0);
  return template_error("object of type '" + std::string(self.type_name()) + "' has no len()");
}

Result<Value> filter_default(const Value& self, Arguments& arguments, Meter&) {
  PTERON_ASSIGN(const Bound bound, Bound::bind("default", arguments, {"default_value", "boolean"}));
  const bool use = self.is(Kind::undefined) || (bound.truthy(1, false) && !self.truthy());
  if (!use) return self;
  return bound.get(0) != nullptr ? *bound.get(0) : text_value("");
}

Result<Value> filter_dictsort(const Value& self, Arguments& arguments, Meter&) {
  PTERON_ASSIGN(const Bound bound, Bound::bind("dictsort", arguments, {"case_sensitive", "by", "reverse"}));
  PTERON_ASSIGN(const std::string by, bound.string(1, "key"));
  if (!self.is(Kind::dict)) return template_error("dictsort needs a mapping, not " + std::string(self.type_name()));
  if (by != "key" && by != "value") return template_error("You can only sort by either 'key' or 'value'");
  std::vector<Value> items, keys;
  for (const auto& [key, value] : self.dict().entries) {
    items.push_back(Value::tuple({key, value}));
    const Value& chosen = by == "key" ? key : value;
    keys.push_back(chosen.is(Kind::string) ? text_value(fold_case(chosen, bound.truthy(0, false))) : chosen);
  }
  PTERON_ASSIGN(std::vector<Value> out, sorted(std::move(items), keys, bound.truthy(2, false)));
  return Value::list(std::move(out));
}

std::string escape_html(std::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&#34;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string strip_tags(std::string_view text) {
  std::string plain;
  for (size_t at = 0; at < text.size();) {
    if (text.substr(at, 4) == "<!--") {
      const size_t end = text.find("-->", at);
      at = end == std::string_view::npos ? text.size() : end + 3;
    } else if (const size_t end = text[at] == '<' ? text.find('>', at) : std::string_view::npos; end != std::string_view::npos) {
      at = end + 1;
    } else {
      plain += text[at++];
    }
  }
  std::string out;  // runs of white space become one blank
  for (std::string_view c : characters_of(strip(plain, std::nullopt, true, true))) {
    if (!is_space(decode_utf8(c))) out += c;
    else if (out.empty() || out.back() != ' ') out += ' ';
  }
  return out;
}

Result<Value> filter_filesizeformat(const Value& self, Arguments& arguments, Meter&) {
  PTERON_ASSIGN(const Bound bound, Bound::bind("filesizeformat", arguments, {"binary"}));
  if (!self.is_number()) return template_error("filesizeformat needs a number");
  const bool binary = bound.truthy(0, false);
  const double base = binary ? 1024 : 1000, bytes = self.as_number();
  static constexpr std::array<std::array<const char*, 2>, 8> kUnits = {{{"kB", "KiB"}, {"MB", "MiB"}, {"GB", "GiB"}, {"TB", "TiB"}, {"PB", "PiB"}, {"EB", "EiB"}, {"ZB", "ZiB"}, {"YB", "YiB"}}};
  if (bytes == 1) return text_value("1 Byte");
  char text[48];
  if (bytes < base) {
    std::snprintf(text, sizeof text, "%.0f Bytes", std::trunc(bytes));
    return text_value(text);
  }
  double unit = base;
  size_t i = 0;
  while (i + 1 < kUnits.size() && bytes >= unit * base) {
    unit *= base;
    ++i;
  }
  std::snprintf(text, sizeof text, "%.1f %s", bytes / unit, kUnits[i][binary ? 1 : 0]);
  return text_value(text);
}

Result<Value> filter_first(const Value& self, Arguments&, Meter&) {
  PTERON_ASSIGN(const std::vector<Value> items, iterate(self));
  return items.empty() ? Value::undefined("the first item of an empty sequence") : items.front();
}

Result<Value> filter_last(const Value& self, Arguments&, Meter&) {
  PTERON_ASSIGN(const std::vector<Value> items, iterate(self));
  return items.empty() ? Value::undefined("the last item of an empty sequence") : items.back();
}

std::optional<double> parse_float(std::string_view text) {
  const std::string plain(strip(text, std::nullopt, true, true));
  if (plain.empty() || plain.find_first_of("xX(") != std::string::npos) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(plain.c_str(), &end);
  return *end == '\0' ? std::optional<double>(value) : std::nullopt;
}

Result<Value> filter_float(const Value& self, Arguments& arguments, Meter&) {
  PTERON_ASSIGN(const Bound bound, Bound::bind("float", arguments, {"default"}));
  if (self.is_number()) return Value::number(self.as_number());
  if (self.is(Kind::string)) {
    if (const auto value = parse_float(self.text())) return Value::number(*value);
  }
  return bound.get(0) != nullptr ? *bound.get(0) : Value::number(0);
}

Result<Value> filter_int(const Value& self, Arguments& arguments, Meter&) {
  PTERON_ASSIGN(const Bound bound, Bound::bind("int", arguments, {"default", "base"}));
  PTERON_ASSIGN(const int64_t base, bound.integer(1, 10));
  const auto whole = [](double value) { return std::fabs(value) < 9.2e18 ? std::optional<int64_t>(static_cast<int64_t>(value)) : std::nullopt; };
  std::optional<int64_t> value;
  if (self.is(Kind::number)) value = whole(self.number());
  else if (self.is_number()) value = self.integer();
  else if (self.is(Kind::string) && base >= 2 && base <= 36) {
    std::string_view text = strip(self.text(), std::nullopt, true, true);
    if (text.starts_with("+")) text.remove_prefix(1);
    if (base == 16 && (text.starts_with("0x") || text.starts_with("0X"))) text.remove_prefix(2);
    int64_t parsed = 0;
    const auto [last, error] = std::from_chars(text.data(), text.data() + text.size(), parsed, static_cast<int>(base));
    if (error == std::errc() && last == text.data() + text.size() && !text.empty()) value = parsed;
    else if (const auto number = parse_float(text)) value = whole(*number);
  }
  if (value) return Value::integer(*value);
  return bound.get(0) != nullptr ? *bound.get(0) : Value::integer(0);
}

Result<Value> filter_format(const Value& self, Arguments& arguments, Meter& meter) {
  Value values = Value::tuple(arguments.positional);
  if (!arguments.named.empty()) {
    values = Value::make_dict();
    for (const auto& [name, value] : arguments.named) values.dict().set(text_value(name), value);
  }
  PTERON_ASSIGN(std::string out, percent_format(to_text(self), values));
  PTERON_TRY(meter.charge(out.size()));
  return text_value(std::move(out));
}

Result<Value> filter_groupby(const Value& self, Arguments& arguments, Meter& meter) {
  PTERON_ASSIGN(const Bound bound, Bound::bind("groupby", arguments, {"attribute", "default", "case_sensitive"}));
  if (bound.get(0) == nullptr) return template_error("groupby needs an attribute");
  PTERON_ASSIGN(std::vector<Value> items, iterate(self));
  PTERON_ASSIGN(const std::vector<Value> keys, keys_of(items, bound.get(0), bound.truthy(2, false), meter, bound.get(1)));
  std::vector<Value> pairs;
  for (size_t i = 0; i < items.size(); ++i) pairs.push_back(Value::tuple({keys[i], items[i]}));
  PTERON_ASSIGN(pairs, sorted(std::move(pairs), keys, false));
  std::vector<Value> groups;
  std::vector<std::vector<Value>> members;
  std::vector<Value> names;
  for (const Value& pair : pairs) {
    const std::vector<Value>& two = pair.sequence().items;
    if (names.empty() || !equals(names.back(), two[0])) {
      names.push_back(two[0]);
      members.emplace_back();
    }
    members.back().push_back(two[1]);
  }
  for (size_t i = 0; i < names.size(); ++i) {
    Value name = names[i];
    if (Result<Value> original = path_item(members[i].front(), *bound.get(0), meter); original.ok() && !original->is(Kind::undefined)) name = *original;
    groups.push_back(Value::tuple({name, Value::list(std::move(members[i]))}));
  }
  return Value::list(std::move(groups));
}

Result<Value> filter_indent(const Value& self, Arguments& arguments, Meter& meter) {
  PTERON_ASSIGN(const Bound bound, Bound::bind("indent", arguments, {"width", "first", "blank"}));
  std::string indent;
  if (bound.get(0) != nullptr && bound.get(0)->is(Kind::string)) indent = bound.get(0)->text();
  else {
    PTERON_ASSIGN(const int64_t width, bound.integer(0, 4));
    PTERON_TRY(meter.charge(static_cast<uint64_t>(std::max<int64_t>(0, width))));
    indent.assign(static_cast<size_t>(std::max<int64_t>(0, width)), ' ');
  }
  const std::string text = to_text(self);
  PTERON_TRY(meter.charge(text.size() + indent.size() * (1 + static_cast<size_t>(std::count(text.begin(), text.end(), '\n')))));
  std::string out = bound.truthy(1, false) ? indent : "";
  for (size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    if (text[i] != '\n') continue;
    const bool empty_line = i + 1 >= text.size() || text[i + 1] == '\n';
    if (!empty_line || bound.truthy(2, false)) out += indent;
  }
  return text_value(std::move(out));
}

Result<Value> filter_items(const Value& self, Arguments& arguments, Meter& meter) {
  if (self.is(Kind::undefined)) return Value::list({});
  if (!self.is(Kind::dict)) return template_error("Can only get item pairs from a mapping.");
  PTERON_ASSIGN(Value items, method_of(self, "items", meter).callable().call(arguments));
  return Value::generator(items.sequence().items);
}

Result<Value> filter_join(const Value& self, Arguments& arguments, Meter& meter) {
  PTERON_ASSIGN(const Bound bound, Bound::bind("join", arguments, {"d", "attribute"}));
  PTERON_ASSIGN(const std::string separator, bound.string(0, ""));
  PTERON_ASSIGN(const std::vector<Value> items, iterate(self));
  std::string out;
  for (size_t i = 0; i < items.size(); ++i) {
    Value item = items[i];
    if (bound.get(1) != nullptr && !bound.get(1)->is(Kind::none)) {
      PTERON_ASSIGN(item, path_item(item, *bound.get(1), meter));
    }
    const std::string text = to_text(item);
    PTERON_TRY(meter.charge(separator.size() + text.size()));
    if (i > 0) out += separator;
    out += text;
  }
  return text_value(std::move(out));
}

Result<Value> filter_list(const Value& self, Arguments&, Meter& meter) {
  PTERON_ASSIGN(std::vector<Value> items, iterate(self));
  PTERON_TRY(meter.charge(items.size() * sizeof(Value)));
  return Value::list(std::move(items));
}

Result<Value> filter_map(const Value& self, Arguments& arguments, Meter& meter) {
  PTERON_ASSIGN(const std::vector<Value> items, iterate(self));
  const Value *attribute = nullptr, *fallback = nullptr;
  for (const auto& [name, value] : arguments.named) {
    if (name == "attribute") attribute = &value;
    else if (name == "default") fallback = &value;
  }
  std::vector<Value> out;
  if (attribute == nullptr && (arguments.positional.empty() || !arguments.positional[0].is(Kind::string))) return template_error("map requires a filter argument");
  for (const Value& item : items) {
    PTERON_TRY(meter.step());
    if (attribute != nullptr) {
      PTERON_ASSIGN(Value value, path_item(item, *attribute, meter, fallback));
      out.push_back(std::move(value));
      continue;
    }
    const std::string name = arguments.positional[0].text();
    if (!filter_exists(name)) return template_error("No filter named '" + name + "'.");
    Arguments rest{{arguments.positional.begin() + 1, arguments.positional.end()}, arguments.named};
    PTERON_ASSIGN(Value value, apply_filter(name, item, rest, meter));
    out.push_back(std::move(value));
  }
  return Value::generator(std::move(out));
}

template <bool Maximum>
Result<Value> filter_extreme(const Value& self, Arguments& arguments, Meter& meter) {
  PTERON_ASSIGN(const Bound bound, Bound::bind(Maximum ? "max" : "min", arguments, {"case_sensitive", "attribute"}));
  PTERON_ASSIGN(const std::vector<Value> items, iterate(self));
  if (items.empty()) return Value::undefined("an item of an empty sequence");
  PTERON_ASSIGN(const std::vector<Value> keys, keys_of(items, bound.get(1), bound.truthy(0, false), meter));
  size_t best = 0;
  for (size_t i = 1; i < items.size(); ++i) {
    PTERON_ASSIGN(const bool better, Maximum ? less(keys[best], keys[i]) : less(keys[i], keys[best]));
    if (better) best = i;
  }
  return items[best];
}

// select, reject, selectattr, rejectattr.
template <bool Attribute, bool Keep>
Result<Value> filter_select(const Value& self, Arguments& arguments, Meter& meter) {
  PTERON_ASSIGN(const std::vector<Value> items, iterate(self));
  size_t at = 0;
  if (Attribute && arguments.positional.empty()) return template_error("Missing parameter for attribute name");
  const Value attribute = Attribute ? arguments.positional[at++] : Value();
  std::string test;
  if (arguments.positional.size() > at) {
    if (!arguments.positional[at].is(Kind::string)) return template_error("select: the name of a test must be a string");
    test = arguments.positional[at++].text();
    if (!test_exists(test)) return template_error("No test named '" + test + "'.");
  }
  std::vector<Value> out;
  for (const Value& item : items) {
    PTERON_TRY(meter.step());
    Value subject = item;
    if (Attribute) {
      PTERON_ASSIGN(subject, path_item(item, attribute, meter));
    }
    bool passes = subject.truthy();
    if (!test.empty()) {
      Arguments rest{{arguments.positional.begin() + static_cast<ptrdiff_t>(at), arguments.positional.end()}, {}};
      PTERON_ASSIGN(passes, apply_test(test, subject, rest));
    }
    if (passes == Keep) out.push_back(item);
  }
  return Value::generator(std::move(out));
}

Result<Value> filter_replace(const Value& self, Arguments& arguments, Meter& meter) {
  PTERON_ASSIGN(const Bound bound, Bound::bind("replace", arguments, {"old", "new", "count"}));
  Arguments forwarded{{text_value(bound.get(0) != nullptr ? to_text(*bound.get(0)) : ""), text_value(bound.get(1) != nullptr ? to_text(*bound.get(1)) : "")}, {}};
  if (bound.get(2) != nullptr && !bound.get(2)->is(Kind::none)) forwarded.positional.push_back(*bound.get(2));
  return method_of(text_value(to_text(self)), "replace", meter).callable().call(forwarded);
}

Result<Value> filter_reverse(const Value& self, Arguments&, Meter& meter) {
  PTERON_ASSIGN(std::vector<Value> items, iterate(self));
  PTERON_TRY(meter.charge(items.size() * sizeof(Value)));
  std::reverse(items.begin(), items.end());
  if (!self.is(Kind::string)) return Value::generator(std::move(items));
  std::string out;
  for (const Value& c : items) out += c.text();
  return text_value(std::move(out));
}

Result<Value> filter_round(const Value& self, Arguments& arguments, Meter&) {
  PTERON_ASSIGN(const Bound bound, Bound::bind("round", arguments, {"precision", "method"}));
  PTERON_ASSIGN(const int64_t precision, bound.integer(0, 0));
  PTERON_ASSIGN(const std::string method, bound.string(1, "common"));
  if (!self.is_number()) return template_error("type " + std::string(self.type_name()) + " doesn't define __round__ method");
  if (precision < -300 || precision > 300) return template_error("round: the precision is out of range");
  const double value = self.as_number(), scale = std::pow(10.0, static_cast<double>(precision));
  if (method == "ceil") return Value::number(std::ceil(value * scale) / scale);
  if (method == "floor") return Value::number(std::floor(value * scale) / scale);
  if (method != "common") return template_error("method must be common, ceil or floor");
  if (precision <= 0) return Value::number(std::nearbyint(value * scale) / scale);
  // As Python: the decimal text that is nearest to the double, so 2.675 rounds down to 2.67.
  char text[400];
  std::snprintf(text, sizeof text, "%.*f", static_cast<int>(precision), value);
  return Value::number(std::strtod(text, nullptr));
}

Result<Value> filter_sort(const Value& self, Arguments& arguments, Meter& meter) {
  PTERON_ASSIGN(const Bound bound, Bound::bind("sort", arguments, {"reverse", "case_sensitive", "attribute"}));
  PTERON_ASSIGN(std::vector<Value> items, iterate(self));
  PTERON_TRY(meter.charge(items.size() * sizeof(Value) * 2));
  PTERON_ASSIGN(const std::vector<Value> keys, keys_of(items, bound.get(2), bound.truthy(1, false), meter));
  PTERON_ASSIGN(items, sorted(std::move(items), keys, bound.truthy(0, false)));
  return Value::list(std::move(items));
}

Result<Value> filter_string(const Value& self, Arguments&, Meter& meter) {
  std::string text = to_text(self);
  PTERON_TRY(meter.charge(text.size()));
  return text_value(std::move(text));
}

// Adding lists up puts them one behind the other.
Result<Value> sum_lists(const Value& start, const std::vector<Value>& items, const Value* attribute, Meter& meter) {
  std::vector<Value> out = start.sequence().items;
  for (const Value& item : items) {
    Value part = item;
    if (attribute != nullptr && !attribute->is(Kind::none)) {
      PTERON_ASSIGN(part, path_item(item, *attribute, meter));
    }
    if (part.kind() != start.kind()) return template_error("can only concatenate " + std::string(start.type_name()) + " (not \"" + std::string(part.type_name()) + "\")");
    PTERON_TRY(meter.charge(part.sequence().items.size() * sizeof(Value)));
    out.insert(out.end(), part.sequence().items.begin(), part.sequence().items.end());
  }
  return start.is(Kind::list) ? Value::list(std::move(out)) : Value::tuple(std::move(out));
}

Result<Value> filter_sum(const Value& self, Arguments& arguments, Meter& meter) {
  PTERON_ASSIGN(const Bound bound, Bound::bind("sum", arguments, {"attribute", "start"}));
  PTERON_ASSIGN(const std::vector<Value> items, iterate(self));
  if (const Value* start = bound.get(1); start != nullptr && start->is_sequence()) return sum_lists(*start, items, bound.get(0), meter);
  bool whole = true;
  __int128 integers = 0;
  double numbers = 0;
  const auto add = [&](const Value& value) -> Status {
    if (!value.is_number()) return template_error("unsupported operand type(s) for +: 'int' and '" + std::string(value.type_name()) + "'");
    whole = whole && !value.is(Kind::number);
    if (!value.is(Kind::number)) integers += value.integer();
    numbers += value.as_number();
    return {};
  };
  if (bound.get(1) != nullptr) PTERON_TRY(add(*bound.get(1)));
  for (const Value& item : items) {
    Value value = item;
    if (bound.get(0) != nullptr && !bound.get(0)->is(Kind::none)) {
      PTERON_ASSIGN(value, path_item(item, *bound.get(0), meter));
    }
    PTERON_TRY(add(value));
  }
  if (!whole) return Value::number(numbers);
  if (integers > INT64_MAX || integers < INT64_MIN) return template_error("sum: integer overflow");
  return Value::integer(static_cast<int64_t>(integers));
}

Result<Value> filter_tojson(const Value& self, Arguments& arguments, Meter& meter) {
  PTERON_ASSIGN(const Bound bound, Bound::bind("tojson", arguments, {"ensure_ascii", "indent", "separators", "sort_keys"}));
  JsonStyle style;
  style.ensure_ascii = bound.truthy(0, false);
  style.sort_keys = bound.truthy(3, false);
  if (const Value* indent = bound.get(1); indent != nullptr && !indent->is(Kind::none)) {
    if (indent->is(Kind::string)) style.indent = indent->text();
    else {
      PTERON_ASSIGN(const int64_t width, bound.integer(1, 0));
      if (width > 100) return template_error("tojson: the indent is out of range");
      style.indent = std::string(static_cast<size_t>(std::max<int64_t>(0, width)), ' ');
    }
  }
  if (const Value* separators = bound.get(2); separators != nullptr && !separators->is(Kind::none)) {
    PTERON_ASSIGN(const std::vector<Value> two, iterate(*separators));
    if (two.size() != 2 || !two[0].is(Kind::string) || !two[1].is(Kind::string)) return template_error("tojson: separators must be two strings");
    style.item_separator = two[0].text();
    style.key_separator = two[1].text();
  }
  PTERON_ASSIGN(std::string out, to_json(self, style));
  PTERON_TRY(meter.charge(out.size()));
  return text_value(std::move(out));
}

Result<Value> filter_trim(const Value& self, Arguments& arguments, Meter&) {
  PTERON_ASSIGN(const Bound bound, Bound::bind("trim", arguments, {"chars"}));
  const bool has_set = bound.get(0) != nullptr && bound.get(0)->is(Kind::string);
  const std::string text = to_text(self);
  return text_value(std::string(strip(text, has_set ? std::optional<std::string_view>(bound.get(0)->text()) : std::nullopt, true, true)));
}

Result<Value> filter_truncate(const Value& self, Arguments& arguments, Meter&) {
  PTERON_ASSIGN(const Bound bound, Bound::bind("truncate", arguments, {"length", "killwords", "end", "leeway"}));
  PTERON_ASSIGN(const int64_t length, bound.integer(0, 255));
  PTERON_ASSIGN(const std::string end, bound.string(2, "..."));
  PTERON_ASSIGN(const int64_t leeway, bound.integer(3, 5));
  const std::string text = to_text(self);
  const std::vector<std::string_view> characters = characters_of(text);
  const auto end_size = static_cast<int64_t>(character_count(end));
  if (length < end_size) return template_error("truncate: expected length >= " + std::to_string(end_size) + ", got " + std::to_string(length));
  if (leeway < 0) return template_error("truncate: expected leeway >= 0");
  if (static_cast<int64_t>(characters.size()) <= length + leeway) return text_value(text);
  std::string kept;
  for (int64_t i = 0; i < length - end_size; ++i) kept += characters[static_cast<size_t>(i)];
  if (!bound.truthy(1, false)) {
    if (const size_t blank = kept.rfind(' '); blank != std::string::npos) kept.resize(blank);
  }
  return text_value(kept + end);
}

Result<Value> filter_unique(const Value& self, Arguments& arguments, Meter& meter) {
  PTERON_ASSIGN(const Bound bound, Bound::bind("unique", arguments, {"case_sensitive", "attribute"}));
  PTERON_ASSIGN(const std::vector<Value> items, iterate(self));
  PTERON_ASSIGN(const std::vector<Value> keys, keys_of(items, bound.get(1), bound.truthy(0, false), meter));
  std::vector<Value> out;
  std::vector<size_t> kept;
  for (size_t i = 0; i < items.size(); ++i) {
    PTERON_TRY(meter.step(kept.size() / 4));
    if (std::any_of(kept.begin(), kept.end(), [&](size_t k) { return equals(keys[k], keys[i]); })) continue;
    kept.push_back(i);
    out.push_back(items[i]);
  }
  return Value::generator(std::move(out));
}

std::string encode_url(std::string_view text) {
  std::string out;
  for (char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || std::string_view("_.-~/").find(c) != std::string_view::npos;
    char escape[4];
    std::snprintf(escape, sizeof escape, "%%%02X", static_cast<unsigned char>(c));
    out += plain ? std::string(1, c) : std::string(escape);
  }
  return out;
}

Result<Value> filter_wordcount(const Value& self, Arguments&, Meter&) {
  int64_t words = 0;
  bool inside = false;
  const std::string text = to_text(self);
  for (std::string_view c : characters_of(text)) {
    const bool letter = c.size() > 1 || std::isalnum(static_cast<unsigned char>(c[0])) != 0 || c == "_";
    words += letter && !inside;
    inside = letter;
  }
  return Value::integer(words);
}

std::string unchanged(std::string_view text) { return std::string(text); }

Result<Value> filter_pprint(const Value& self, Arguments&, Meter& meter) {
  std::string text = repr(self);
  PTERON_TRY(meter.charge(text.size()));
  return text_value(std::move(text));
}

// `random` takes the first item: the same chat must give the same prompt every time.
constexpr std::array kFilters = {
    Row{"abs", filter_abs}, Row{"attr", filter_attr}, Row{"batch", filter_batch<false>}, Row{"capitalize", filter_text<capitalize>}, Row{"center", filter_center},
    Row{"count", filter_length}, Row{"length", filter_length}, Row{"default", filter_default}, Row{"d", filter_default}, Row{"dictsort", filter_dictsort},
    Row{"escape", filter_text<escape_html>}, Row{"e", filter_text<escape_html>}, Row{"forceescape", filter_text<escape_html>}, Row{"filesizeformat", filter_filesizeformat},
    Row{"first", filter_first}, Row{"float", filter_float}, Row{"format", filter_format}, Row{"groupby", filter_groupby}, Row{"indent", filter_indent}, Row{"int", filter_int},
    Row{"items", filter_items}, Row{"join", filter_join}, Row{"last", filter_last}, Row{"list", filter_list}, Row{"lower", filter_text<lower>}, Row{"map", filter_map},
    Row{"max", filter_extreme<true>}, Row{"min", filter_extreme<false>}, Row{"pprint", filter_pprint}, Row{"random", filter_first}, Row{"reject", filter_select<false, false>},
    Row{"rejectattr", filter_select<true, false>}, Row{"replace", filter_replace}, Row{"reverse", filter_reverse}, Row{"round", filter_round},
    Row{"safe", filter_text<unchanged>}, Row{"select", filter_select<false, true>}, Row{"selectattr", filter_select<true, true>}, Row{"slice", filter_batch<true>},
    Row{"sort", filter_sort}, Row{"string", filter_string}, Row{"striptags", filter_text<strip_tags>}, Row{"sum", filter_sum}, Row{"title", filter_text<title>},
    Row{"tojson", filter_tojson}, Row{"trim", filter_trim}, Row{"truncate", filter_truncate}, Row{"unique", filter_unique}, Row{"upper", filter_text<upper>},
    Row{"urlencode", filter_text<encode_url>}, Row{"wordcount", filter_wordcount},
};

const Row* find_filter(std::string_view name) {
  const auto found = std::find_if(kFilters.begin(), kFilters.end(), [&](const Row& row) { return row.name == name; });
  return found == kFilters.end() ? nullptr : &*found;
}

}  // namespace

bool filter_exists(std::string_view name) { return find_filter(name) != nullptr; }

Result<Value> apply_filter(std::string_view name, const Value& operand, Arguments& arguments, Meter& meter) {
  const Row* row = find_filter(name);
  if (row == nullptr) return template_error("No filter named '" + std::string(name) + "'.");
  return row->filter(operand, arguments, meter);
}

}  // namespace pteron::text::jinja
