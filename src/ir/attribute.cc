#include "ir/attribute.h"

#include <charconv>
#include <cmath>

namespace pteron::ir {

std::string number_to_string(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  std::string out(buffer, end);
  if (out.find_first_of(".e") == std::string::npos) out += ".0";
  return out;
}

namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

template <class T, class F>
std::string list(const std::vector<T>& items, F print) {
  std::string out = "[";
  for (size_t i = 0; i < items.size(); ++i) out += (i > 0 ? ", " : "") + print(items[i]);
  return out + "]";
}

struct Print {
  std::string operator()(NoneValue) const { return "none"; }
  std::string operator()(int64_t v) const { return std::to_string(v); }
  std::string operator()(double v) const { return number_to_string(v); }
  std::string operator()(bool v) const { return v ? "true" : "false"; }
  std::string operator()(const std::string& v) const { return quoted(v); }
  std::string operator()(ScalarType v) const { return std::string(dtype_name(v)); }
  std::string operator()(const std::vector<int64_t>& v) const { return list(v, [](int64_t x) { return std::to_string(x); }); }
  std::string operator()(const std::vector<double>& v) const { return list(v, number_to_string); }
};

}  // namespace

std::string to_string(const Attribute& value) { return std::visit(Print{}, value); }

}  // namespace pteron::ir
