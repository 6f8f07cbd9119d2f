#include "ir/parser.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <memory>

#include "core/constant_recipes.h"
#include "core/dtype.h"
#include "ir/builder.h"
#include "ir/digest_source.h"
#include "ir/verifier.h"

namespace pteron::ir {
namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == ':' || c == '-' || c == '+';
}

// A small constant of any readable element type, from the values as printed.
Result<ConstantPtr> constant_of_values(const Type& type, const std::vector<double>& values) {
  if (type.numel() != values.size()) {
    return Status::error(Code::invalid_data, "a constant's values do not fit its type", {.expected = to_string(type), .found = std::to_string(values.size()) + " values"});
  }
  const size_t width = element_size(type.dtype);
  auto bytes = std::make_shared<std::vector<std::byte>>(values.size() * width);
  for (size_t i = 0; i < values.size(); ++i) {
    std::byte* at = bytes->data() + i * width;
    const double v = values[i];
    const bool integral = type.dtype == ScalarType::Long || type.dtype == ScalarType::Int || type.dtype == ScalarType::Bool;
    if (integral && !(std::fabs(v) < (type.dtype == ScalarType::Long ? 9e15 : 2147483648.0))) return Status::error(Code::invalid_data, "a constant's value does not fit its type", {.expected = to_string(type)});
    switch (type.dtype) {
      case ScalarType::Long: store_unaligned(at, static_cast<int64_t>(v)); break;
      case ScalarType::Int: store_unaligned(at, static_cast<int32_t>(v)); break;
      case ScalarType::Bool: store_unaligned(at, static_cast<uint8_t>(v != 0)); break;
      case ScalarType::Double: store_unaligned(at, v); break;
      default: {
        const auto f = static_cast<float>(v);
        if (!convert_from_f32(type.dtype, &f, 1, at)) return Status::error(Code::unsupported, "a constant's values cannot be of this type", {.found = to_string(type)});
      }
    }
  }
  const ByteSpan span(*bytes);
  return constant_from_bytes(type.dtype, type.sizes(), span, std::move(bytes));
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Module> run() {
    for (skip(); at_ < text_.size(); skip()) {
      const std::string_view keyword = word();
      PTERON_TRY(keyword == "const" ? constant() : keyword == "method" ? method() : fail("const or method", keyword));
    }
    PTERON_TRY(verify(module_));
    return std::move(module_);
  }

 private:
  Status fail(std::string expected, std::string_view found) const {
    size_t line = 1;
    for (size_t i = 0; i < at_ && i < text_.size(); ++i) line += text_[i] == '\n' ? 1 : 0;
    return Status::error(Code::invalid_data, "the graph text cannot be read",
                         {.field = "line " + std::to_string(line), .expected = std::move(expected), .found = found.empty() ? "something else" : std::string(found.substr(0, 40))});
  }

  void skip() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
        ++at_;
      } else {
        break;
      }
    }
  }
  char peek() {
    skip();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  Status expect(char c) { return accept(c) ? Status() : fail(std::string(1, c), text_.substr(std::min(at_, text_.size()), 1)); }
  std::string_view word() {
    skip();
    const size_t begin = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  Result<std::string> quoted() {
    PTERON_TRY(expect('"'));
    std::string out;
    for (; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      out += text_[at_];
    }
    if (at_ >= text_.size()) return fail("a closing quote", "the end");
    ++at_;
    return out;
  }

  Result<std::string> name() {
    PTERON_TRY(expect('@'));
    if (peek() == '"') return quoted();
    const size_t begin = at_;
    while (at_ < text_.size() && is_word(text_[at_]) && text_[at_] != ':' && text_[at_] != '-' && text_[at_] != '+') ++at_;
    if (begin == at_) return fail("a name", text_.substr(begin, 1));
    return std::string(text_.substr(begin, at_ - begin));
  }

  Result<int64_t> integer() {
    const std::string_view token = word();
    int64_t value = 0;
    const auto r = std::from_chars(token.data(), token.data() + token.size(), value);
    if (token.empty() || r.ec != std::errc() || r.ptr != token.data() + token.size()) return fail("an integer", token);
    return value;
  }

  Result<Type> type() {
    const std::string_view token = word();
    const auto dtype = dtype_from_name(token);
    if (!dtype) return fail("an element type", token);
    Type out;
    out.dtype = *dtype;
    PTERON_TRY(expect('['));
    while (peek() != ']') {
      if (!out.dims.empty()) PTERON_TRY(expect(','));
      const size_t before = at_;
      const std::string_view symbol = word();
      Dim dim;
      if (peek() == '<') {
        ++at_;
        PTERON_TRY(expect('='));
        dim.symbol = symbol;
      } else {
        at_ = before;
      }
      PTERON_ASSIGN(dim.size, integer());
      if (dim.size < 0) return fail("a size", std::to_string(dim.size));
      out.dims.push_back(std::move(dim));
    }
    ++at_;
    return out;
  }

  // A scalar attribute: integer, number, boolean, none or element type.
  Result<Attribute> scalar() {
    const std::string_view token = word();
    if (token == "none") return Attribute(NoneValue{});
    if (token == "true" || token == "false") return Attribute(token == "true");
    if (token == "nan") return Attribute(std::numeric_limits<double>::quiet_NaN());
    if (token == "inf" || token == "-inf") return Attribute((token == "inf" ? 1 : -1) * std::numeric_limits<double>::infinity());
    const char* end = token.data() + token.size();
    if (token.find_first_of(".e") == std::string_view::npos) {
      int64_t i = 0;
      if (const auto r = std::from_chars(token.data(), end, i); r.ec == std::errc() && r.ptr == end && !token.empty()) return Attribute(i);
    }
    double d = 0;
    if (const auto r = std::from_chars(token.data(), end, d); r.ec == std::errc() && r.ptr == end && !token.empty()) return Attribute(d);
    if (const auto dtype = dtype_from_name(token)) return Attribute(*dtype);
    return fail("a value", token);
  }

  Result<Attribute> attribute() {
    if (peek() == '"') {
      PTERON_ASSIGN(std::string text, quoted());
      return Attribute(std::move(text));
    }
    if (peek() != '[') return scalar();
    ++at_;
    std::vector<int64_t> integers;
    std::vector<double> numbers;
    bool first = true, real = false;
    for (; peek() != ']'; first = false) {
      if (!first) PTERON_TRY(expect(','));
      PTERON_ASSIGN(const Attribute item, scalar());
      if (const auto* i = std::get_if<int64_t>(&item)) {
        integers.push_back(*i);
        numbers.push_back(static_cast<double>(*i));
      } else if (const auto* d = std::get_if<double>(&item)) {
        real = true;
        numbers.push_back(*d);
      } else {
        return fail("numbers", to_string(item));
      }
    }
    ++at_;
    return real ? Attribute(std::move(numbers)) : Attribute(std::move(integers));
  }

  Status constant() {
    PTERON_ASSIGN(const std::string constant_name, name());
    PTERON_TRY(expect(':'));
    PTERON_ASSIGN(const Type constant_type, type());
    Packing packing = Packing::plain;
    std::string_view keyword = peek() == '=' ? std::string_view() : word();
    if (keyword == "packing") {
      PTERON_TRY(expect('='));
      const std::string_view text = word();
      const auto known = packing_from_name(text);
      if (!known) return fail("a packing", text);
      packing = *known;
    }
    PTERON_TRY(expect('='));
    keyword = word();
    ConstantPtr source;
    std::string digest;
    if (keyword == "sha256") {
      PTERON_ASSIGN(digest, quoted());
      source = make_digest_source(constant_type.dtype, constant_type.sizes(), digest);
    } else if (keyword == "values") {
      PTERON_ASSIGN(const Attribute list, attribute());
      std::vector<double> values;
      if (const auto* numbers = std::get_if<std::vector<double>>(&list)) values = *numbers;
      if (const auto* integers = std::get_if<std::vector<int64_t>>(&list)) values.assign(integers->begin(), integers->end());
      PTERON_ASSIGN(source, constant_of_values(constant_type, values));
    } else {
      return fail("values or sha256", keyword);
    }
    if (module_.find_constant(constant_name)) return fail("constants with different names", constant_name);
    PTERON_ASSIGN(const int32_t index, module_.add_constant(constant_name, std::move(source), packing));
    module_.constants[static_cast<size_t>(index)].digest = std::move(digest);
    return {};
  }

  // "%7", "@name", "none" or "[...]" of these, appended to `operands`.
  Status operand(Graph& graph, std::vector<ValueId>& operands) {
    if (accept('[')) {
      for (bool first = true; peek() != ']'; first = false) {
        if (!first) PTERON_TRY(expect(','));
        if (peek() == '[' || peek() == '\0') return fail("a value", text_.substr(at_, 1));
        PTERON_TRY(operand(graph, operands));
      }
      ++at_;
      return {};
    }
    if (peek() == '@') {
      PTERON_ASSIGN(const std::string constant_name, name());
      const auto index = module_.find_constant(constant_name);
      if (!index) return fail("a constant of the module", constant_name);
      operands.push_back(graph.constant_value(*index, module_.constants[static_cast<size_t>(*index)].type()));
      return {};
    }
    if (peek() == '%') {
      PTERON_ASSIGN(const ValueId id, value());
      operands.push_back(id);
      return {};
    }
    const std::string_view token = word();
    if (token != "none") return fail("a value", token);
    operands.push_back(kNone);
    return {};
  }

  Result<ValueId> value() {
    PTERON_TRY(expect('%'));
    const std::string_view token = word();
    const auto it = values_.find(token);
    if (it == values_.end()) return fail("a value defined before", token);
    return it->second;
  }

  Status define(Graph& graph, std::string_view token, const Type& value_type, Def def, ValueId& id) {
    if (token.empty() || values_.count(token)) return fail("a new value", token);
    id = graph.add_value(value_type, def);
    values_.emplace(token, id);
    return {};
  }

  Status port(Port& out) {
    PTERON_ASSIGN(out.name, quoted());
    const std::string_view role = word();
    const auto known = role_from_name(role);
    if (!known) return fail("a role", role);
    out.role = *known;
    for (;;) {
      const size_t before = (skip(), at_);
      const std::string_view key = word();
      if (key == "layer" || key == "alias") {
        PTERON_TRY(expect('='));
        PTERON_ASSIGN(const int64_t number, integer());
        (key == "layer" ? out.layer : out.alias) = static_cast<int32_t>(number);
      } else if (key == "mask") {
        PTERON_TRY(expect('='));
        PTERON_ASSIGN(out.mask, quoted());
      } else {
        at_ = before;
        return {};
      }
    }
  }

  Status input(Graph& graph) {
    PTERON_TRY(expect('%'));
    const std::string_view token = word();
    Port in;
    PTERON_TRY(port(in));
    PTERON_TRY(expect(':'));
    PTERON_ASSIGN(const Type input_type, type());
    PTERON_TRY(define(graph, token, input_type, Def::input, in.value));
    graph.inputs.push_back(std::move(in));
    return {};
  }

  Status node(Graph& graph) {
    std::vector<std::pair<std::string_view, Type>> results;
    while (peek() == '%') {
      ++at_;
      const std::string_view token = word();
      PTERON_TRY(expect(':'));
      PTERON_ASSIGN(Type result_type, type());
      results.emplace_back(token, std::move(result_type));
      if (!accept(',')) break;
    }
    if (!results.empty()) PTERON_TRY(expect('='));
    const std::string_view op_name = word();
    const auto op = op_from_name(op_name);
    if (!op) return fail("an operator", op_name);
    PTERON_TRY(expect('('));
    std::vector<ValueId> operands;
    Attributes attributes;
    for (bool first = true; peek() != ')'; first = false) {
      if (!first) PTERON_TRY(expect(','));
      const size_t before = (skip(), at_);
      const std::string_view key = word();
      if (!key.empty() && peek() == '=') {
        ++at_;
        PTERON_ASSIGN(Attribute attribute_value, attribute());
        const Arg* arg = schema(*op).find(key);
        if (arg && arg->kind == ArgKind::number_list && std::holds_alternative<std::vector<int64_t>>(attribute_value)) {
          const auto& integers = std::get<std::vector<int64_t>>(attribute_value);
          attribute_value = std::vector<double>(integers.begin(), integers.end());
        }
        attributes.emplace_back(key, std::move(attribute_value));
        continue;
      }
      at_ = before;
      PTERON_TRY(operand(graph, operands));
    }
    ++at_;
    std::vector<Type> types;
    for (const auto& result : results) types.push_back(result.second);
    Builder builder(module_, graph);
    const auto ids = builder.op_with_types(*op, std::move(operands), std::move(attributes), types);
    if (!builder.status().ok()) return fail(builder.status().message(), op_name);
    for (size_t i = 0; i < ids.size(); ++i) {
      if (results[i].first.empty() || values_.count(results[i].first)) return fail("a new value", results[i].first);
      values_.emplace(results[i].first, ids[i]);
    }
    return {};
  }

  Status method() {
    PTERON_ASSIGN(std::string method_name, name());
    PTERON_TRY(expect('{'));
    Graph graph;
    graph.name = std::move(method_name);
    values_.clear();
    while (peek() != '}') {
      const size_t before = (skip(), at_);
      const std::string_view keyword = word();
      if (keyword == "input") {
        PTERON_TRY(input(graph));
      } else if (keyword == "output") {
        Port out;
        PTERON_ASSIGN(out.value, value());
        PTERON_TRY(port(out));
        graph.outputs.push_back(std::move(out));
      } else if (peek() == '\0') {
        return fail("a closing brace", "the end");
      } else {
        at_ = before;
        PTERON_TRY(node(graph));
      }
    }
    ++at_;
    module_.methods.push_back(std::move(graph));
    return {};
  }

  std::string_view text_;
  size_t at_ = 0;
  Module module_;
  std::map<std::string_view, ValueId> values_;
};

}  // namespace

Result<Module> parse(std::string_view text) { return Parser(text).run(); }

}  // namespace pteron::ir
