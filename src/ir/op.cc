#include "ir/op.h"

#include <array>
#include <charconv>
#include <map>

namespace pteron::ir {
namespace {

constexpr std::string_view kSchemas[] = {
#define PTERON_OP(id, schema, rule) schema,
#include "ir/ops.def"
#undef PTERON_OP
};

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// The kind of a type text without its marks ("int[1]" -> integer_list).
std::optional<ArgKind> kind_of(std::string_view base, bool list) {
  if (base == "Tensor") return list ? ArgKind::tensor_list : ArgKind::tensor;
  if (base == "int" || base == "SymInt") return list ? ArgKind::integer_list : ArgKind::integer;
  if (base == "float") return list ? ArgKind::number_list : ArgKind::number;
  if (list) return std::nullopt;
  if (base == "bool") return ArgKind::boolean;
  if (base == "Scalar") return ArgKind::scalar;
  if (base == "str") return ArgKind::string;
  if (base == "ScalarType") return ArgKind::dtype;
  if (base == "MemoryFormat") return ArgKind::integer;
  return std::nullopt;
}

std::optional<Attribute> parse_preset(std::string_view text, ArgKind kind) {
  if (text == "None") return Attribute(NoneValue{});
  if (text == "True" || text == "False") return Attribute(text == "True");
  if (text.size() >= 2 && text.front() == '"') return Attribute(std::string(text.substr(1, text.size() - 2)));
  if (text == "[]") return Attribute(std::vector<int64_t>{});
  int64_t integer = 0;
  const char* end = text.data() + text.size();
  if (auto r = std::from_chars(text.data(), end, integer); r.ec == std::errc() && r.ptr == end && kind != ArgKind::number) {
    if (kind == ArgKind::integer_list) return Attribute(std::vector<int64_t>{integer});
    return Attribute(integer);
  }
  double number = 0;
  if (auto r = std::from_chars(text.data(), end, number); r.ec == std::errc() && r.ptr == end) return Attribute(number);
  return std::nullopt;
}

// One argument: "Tensor? bias=None", "int[1]? dim", "Tensor! out".
std::optional<Arg> parse_arg(std::string_view text) {
  const size_t space = text.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  std::string_view type = text.substr(0, space), name = trim(text.substr(space + 1)), preset;
  if (const size_t equals = name.find('='); equals != std::string_view::npos) {
    preset = name.substr(equals + 1);
    name = name.substr(0, equals);
  }
  Arg arg;
  arg.name = name;
  bool list = false;
  while (!type.empty()) {
    if (type.back() == '?') {
      arg.optional = true;
      type.remove_suffix(1);
    } else if (type.back() == '!') {
      arg.mutated = true;
      type.remove_suffix(1);
    } else if (type.back() == ']') {
      list = true;
      type = type.substr(0, type.rfind('['));
    } else {
      break;
    }
  }
  const auto kind = kind_of(type, list);
  if (!kind || arg.name.empty()) return std::nullopt;
  arg.kind = *kind;
  if (!preset.empty()) {
    arg.preset = parse_preset(preset, arg.kind);
    if (!arg.preset) return std::nullopt;
  }
  return arg;
}

struct Table {
  std::vector<Schema> schemas;
  std::map<std::string, Op, std::less<>> by_name;
};

const Table& table() {
  static const Table* const kTable = [] {
    auto* t = new Table;
    for (std::string_view text : kSchemas) {
      t->schemas.push_back(parse_schema(text).value_or(Schema{}));
      t->by_name.emplace(t->schemas.back().text_name, static_cast<Op>(t->schemas.size() - 1));
    }
    return t;
  }();
  return *kTable;
}

}  // namespace

const Arg* Schema::find(std::string_view arg) const {
  for (const Arg& a : args) {
    if (a.name == arg) return &a;
  }
  return nullptr;
}

std::optional<Schema> parse_schema(std::string_view text) {
  const size_t open = text.find('('), close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return std::nullopt;
  Schema out;
  out.text_name = text.substr(0, open);
  out.composite = text.substr(close + 1).find("->") != std::string_view::npos;
  const size_t dot = out.text_name.find('.');
  out.name = out.text_name.substr(0, dot);
  if (dot != std::string::npos) out.overload = out.text_name.substr(dot + 1);
  std::string_view rest = text.substr(open + 1, close - open - 1);
  bool keyword_only = false;
  while (!rest.empty()) {
    const size_t comma = rest.find(", ");
    const std::string_view one = trim(rest.substr(0, comma));
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 2);
    if (one == "*") {
      keyword_only = true;
      continue;
    }
    auto arg = parse_arg(one);
    if (!arg) return std::nullopt;
    if (arg->mutated && keyword_only) {
      ++out.outs;
      continue;
    }
    if (arg->mutated) out.in_place = true;
    out.args.push_back(std::move(*arg));
  }
  return out;
}

const Schema& schema(Op op) { return table().schemas[static_cast<size_t>(op)]; }

std::optional<Op> op_from_name(std::string_view text_name) {
  const auto it = table().by_name.find(text_name);
  return it == table().by_name.end() ? std::nullopt : std::optional<Op>(it->second);
}

}  // namespace pteron::ir
