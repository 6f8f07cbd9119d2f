#include "ir/graph.h"

namespace pteron::ir {
namespace {

constexpr std::string_view kRoles[] = {"user", "token_ids", "position_ids", "mask", "key_cache", "value_cache", "last_row", "counter", "logits",
                                       "key_state", "value_state"};
constexpr std::string_view kPackings[] = {"plain", "keep", "int8", "int4"};

template <class E, size_t N>
std::optional<E> from_name(const std::string_view (&names)[N], std::string_view name) {
  for (size_t i = 0; i < N; ++i) {
    if (names[i] == name) return static_cast<E>(i);
  }
  return std::nullopt;
}

}  // namespace

std::string_view role_name(Role role) { return kRoles[static_cast<size_t>(role)]; }
std::optional<Role> role_from_name(std::string_view name) { return from_name<Role>(kRoles, name); }
std::string_view packing_name(Packing packing) { return kPackings[static_cast<size_t>(packing)]; }
std::optional<Packing> packing_from_name(std::string_view name) { return from_name<Packing>(kPackings, name); }

const Attribute* Node::find(std::string_view name) const {
  for (const auto& [key, value] : attributes) {
    if (key == name) return &value;
  }
  return nullptr;
}

int64_t Node::integer(std::string_view name, int64_t fallback) const {
  const Attribute* value = find(name);
  const auto* held = value ? std::get_if<int64_t>(value) : nullptr;
  return held ? *held : fallback;
}

double Node::number(std::string_view name, double fallback) const {
  const Attribute* value = find(name);
  if (!value) return fallback;
  if (const auto* held = std::get_if<double>(value)) return *held;
  if (const auto* held = std::get_if<int64_t>(value)) return static_cast<double>(*held);
  return fallback;
}

bool Node::boolean(std::string_view name) const {
  const Attribute* value = find(name);
  const auto* held = value ? std::get_if<bool>(value) : nullptr;
  return held && *held;
}

const std::string& Node::string(std::string_view name) const {
  static const std::string* const kEmpty = new std::string;
  const Attribute* value = find(name);
  const auto* held = value ? std::get_if<std::string>(value) : nullptr;
  return held ? *held : *kEmpty;
}

const std::vector<int64_t>& Node::integers(std::string_view name) const {
  static const auto* const kEmpty = new std::vector<int64_t>;
  const Attribute* value = find(name);
  const auto* held = value ? std::get_if<std::vector<int64_t>>(value) : nullptr;
  return held ? *held : *kEmpty;
}

ValueId Node::operand(std::string_view name) const {
  const Schema& s = schema(op);
  size_t tensors = 0, before = 0, position = 0;
  bool list_before = false, found = false;
  for (const Arg& arg : s.args) {
    if (!arg.is_tensor()) continue;
    ++tensors;
    if (arg.name == name) {
      found = true;
      position = before;
    }
    if (!found && arg.kind == ArgKind::tensor_list) list_before = true;
    ++before;
  }
  if (!found) return kNone;
  if (list_before) position += operands.size() - tensors;
  return position < operands.size() ? operands[position] : kNone;
}

ValueId Graph::add_value(Type type, Def def, int32_t constant) {
  values.push_back({std::move(type), def, constant});
  return static_cast<ValueId>(values.size() - 1);
}

ValueId Graph::constant_value(int32_t constant, const Type& type) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].def == Def::constant && values[i].constant == constant) return static_cast<ValueId>(i);
  }
  return add_value(type, Def::constant, constant);
}

std::vector<int32_t> Graph::producers() const {
  std::vector<int32_t> out(values.size(), -1);
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (ValueId id : nodes[i].results) out[static_cast<size_t>(id)] = static_cast<int32_t>(i);
  }
  return out;
}

std::vector<int32_t> Graph::use_counts() const {
  std::vector<int32_t> out(values.size(), 0);
  for (const Node& node : nodes) {
    for (ValueId id : node.operands) {
      if (id != kNone) ++out[static_cast<size_t>(id)];
    }
  }
  for (const Port& port : outputs) ++out[static_cast<size_t>(port.value)];
  return out;
}

void Graph::replace_uses(ValueId from, ValueId to) {
  for (Node& node : nodes) {
    for (ValueId& id : node.operands) {
      if (id == from) id = to;
    }
  }
  for (Port& port : outputs) {
    if (port.value == from) port.value = to;
  }
}

std::optional<int32_t> Module::find_constant(std::string_view name) const {
  const auto it = by_name_.find(name);
  if (it != by_name_.end() && static_cast<size_t>(it->second) < constants.size() &&
      constants[static_cast<size_t>(it->second)].name == name) {
    return it->second;
  }
  if (by_name_.size() == constants.size() && it == by_name_.end()) return std::nullopt;
  by_name_.clear();
  for (size_t i = 0; i < constants.size(); ++i) by_name_.emplace(constants[i].name, static_cast<int32_t>(i));
  const auto again = by_name_.find(name);
  return again == by_name_.end() ? std::nullopt : std::optional<int32_t>(again->second);
}

Result<int32_t> Module::add_constant(const std::string& name, ConstantPtr source, Packing packing) {
  if (const auto known = find_constant(name)) {
    Constant& constant = constants[static_cast<size_t>(*known)];
    if (constant.source != source) {
      return Status::error(Code::internal, "two different constants have one name", {.field = name});
    }
    return *known;
  }
  constants.push_back({name, std::move(source), packing, {}});
  const auto index = static_cast<int32_t>(constants.size() - 1);
  by_name_.emplace(name, index);
  return index;
}

const Graph* Module::find_method(std::string_view name) const {
  for (const Graph& graph : methods) {
    if (graph.name == name) return &graph;
  }
  return nullptr;
}

}  // namespace pteron::ir
