#include "ir/printer.h"

#include <algorithm>

#include "base/sha256.h"
#include "core/dtype.h"

namespace pteron::ir {
namespace {

constexpr uint64_t kMaxValues = 16;

std::string name_text(const std::string& name) {
  const bool plain = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
  });
  return plain ? name : to_string(Attribute(name));
}

bool is_integral(ScalarType t) { return t == ScalarType::Long || t == ScalarType::Int || t == ScalarType::Bool; }

Result<std::string> integers(const ConstantSource& source) {
  std::vector<std::byte> bytes;
  PTERON_TRY(source.stream([&](ByteSpan piece) {
    bytes.insert(bytes.end(), piece.begin(), piece.end());
    return Status();
  }));
  std::vector<int64_t> values;
  const size_t width = element_size(source.dtype());
  for (size_t at = 0; at + width <= bytes.size(); at += width) {
    const std::byte* from = bytes.data() + at;
    values.push_back(width == 8 ? load_unaligned<int64_t>(from) : width == 4 ? load_unaligned<int32_t>(from) : static_cast<int64_t>(*from));
  }
  return "values " + to_string(Attribute(std::move(values)));
}

Result<std::string> contents(const Constant& constant) {
  const ConstantSource& source = *constant.source;
  if (!constant.digest.empty()) return "sha256 " + to_string(Attribute(constant.digest));
  const auto count = Type(source.dtype(), source.shape()).numel();
  if (count && *count <= kMaxValues && is_integral(source.dtype())) return integers(source);
  if (count && *count <= kMaxValues && is_float(source.dtype())) {
    std::vector<float> values(*count);
    if (*count > 0) PTERON_TRY(source.read_rows_f32(0, source.shape().empty() ? 1 : source.shape()[0], values.data()));
    return "values " + to_string(Attribute(std::vector<double>(values.begin(), values.end())));
  }
  Sha256 hash;
  PTERON_TRY(source.stream([&](ByteSpan bytes) {
    hash.update(bytes);
    return Status();
  }));
  return "sha256 " + to_string(Attribute(to_hex(hash.finish())));
}

class GraphPrinter {
 public:
  GraphPrinter(const Module& module, const Graph& graph) : module_(module), graph_(graph), names_(graph.values.size()) {}

  std::string run() {
    std::string out = "method @" + name_text(graph_.name) + " {\n";
    for (const Port& port : graph_.inputs) {
      define(port.value);
      out += "  input " + ref(port.value) + port_text(port) + " : " + to_string(graph_.type(port.value)) + "\n";
    }
    for (const Node& node : graph_.nodes) out += node_text(node);
    for (const Port& port : graph_.outputs) out += "  output " + ref(port.value) + port_text(port) + "\n";
    return out + "}\n";
  }

 private:
  void define(ValueId id) { names_[static_cast<size_t>(id)] = "%" + std::to_string(next_++); }

  std::string ref(ValueId id) const {
    if (id == kNone) return "none";
    const Value& value = graph_.values[static_cast<size_t>(id)];
    return value.def == Def::constant ? "@" + name_text(module_.constants[static_cast<size_t>(value.constant)].name) : names_[static_cast<size_t>(id)];
  }

  static std::string port_text(const Port& port) {
    std::string out = " " + to_string(Attribute(port.name)) + " " + std::string(role_name(port.role));
    if (port.layer >= 0) out += " layer=" + std::to_string(port.layer);
    if (!port.mask.empty()) out += " mask=" + to_string(Attribute(port.mask));
    if (port.alias >= 0) out += " alias=" + std::to_string(port.alias);
    return out;
  }

  std::string node_text(const Node& node) {
    const Schema& s = schema(node.op);
    std::string args;
    const auto put = [&](const std::string& text) { args += (args.empty() ? "" : ", ") + text; };
    size_t tensors = 0, position = 0;
    for (const Arg& arg : s.args) tensors += arg.is_tensor() ? 1 : 0;
    for (const Arg& arg : s.args) {
      if (arg.kind == ArgKind::tensor) put(ref(node.operands[position++]));
      if (arg.kind != ArgKind::tensor_list) continue;
      std::string list;
      for (size_t count = node.operands.size() + 1 - tensors; count > 0; --count) list += (list.empty() ? "" : ", ") + ref(node.operands[position++]);
      put("[" + list + "]");
    }
    for (const auto& [key, value] : node.attributes) {
      const Arg* arg = s.find(key);
      if (!arg || !arg->preset || !(*arg->preset == value)) put(key + "=" + to_string(value));
    }
    std::string results;
    for (ValueId id : node.results) {
      define(id);
      results += (results.empty() ? "" : ", ") + ref(id) + " : " + to_string(graph_.type(id));
    }
    return "  " + results + (results.empty() ? "" : " = ") + s.text_name + "(" + args + ")\n";
  }

  const Module& module_;
  const Graph& graph_;
  std::vector<std::string> names_;
  int next_ = 0;
};

}  // namespace

std::string print(const Module& module, const Graph& graph) { return GraphPrinter(module, graph).run(); }

Result<std::string> print(const Module& module) {
  std::string out;
  for (const Constant& constant : module.constants) {
    PTERON_ASSIGN(const std::string text, contents(constant));
    out += "const @" + name_text(constant.name) + " : " + to_string(constant.type());
    if (constant.packing != Packing::plain) out += " packing=" + std::string(packing_name(constant.packing));
    out += " = " + text + "\n";
  }
  for (const Graph& graph : module.methods) out += print(module, graph);
  return out;
}

}  // namespace pteron::ir
