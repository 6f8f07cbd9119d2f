#include "ir/builder.h"

#include "base/status.h"
#include "ir/infer.h"

namespace pteron::ir {
namespace {

// Puts attributes into schema order and fills in defaults; pads optional tensors at the end.
void complete(Node& node) {
  const Schema& s = schema(node.op);
  Attributes ordered;
  size_t tensors = 0;
  bool list = false;
  for (const Arg& arg : s.args) {
    if (arg.is_tensor()) {
      ++tensors;
      list = list || arg.kind == ArgKind::tensor_list;
      continue;
    }
    if (const Attribute* given = node.find(arg.name)) {
      ordered.emplace_back(arg.name, *given);
    } else if (arg.preset) {
      ordered.emplace_back(arg.name, *arg.preset);
    }
  }
  for (auto& [key, value] : node.attributes) {
    if (!s.find(key)) ordered.emplace_back(key, value);  // kept, so that the check can name it
  }
  node.attributes = std::move(ordered);
  if (!list && node.operands.size() < tensors) node.operands.resize(tensors, kNone);
}

}  // namespace

void Builder::fail(Status status) {
  if (status_.ok()) status_ = std::move(status);
}

ValueId Builder::input(Type type, Port port) {
  port.value = graph_.add_value(std::move(type), Def::input);
  graph_.inputs.push_back(std::move(port));
  return graph_.inputs.back().value;
}

void Builder::output(ValueId value, Port port) {
  port.value = value;
  graph_.outputs.push_back(std::move(port));
}

ValueId Builder::constant(const std::string& name, ConstantPtr source, Packing packing) {
  auto index = module_.add_constant(name, std::move(source), packing);
  if (!index.ok()) {
    fail(std::move(index).status());
    return 0;
  }
  return constant(*index);
}

ValueId Builder::constant(int32_t index) { return graph_.constant_value(index, module_.constants[static_cast<size_t>(index)].type()); }

std::vector<ValueId> Builder::op_with_types(Op op, std::vector<ValueId> operands, Attributes attributes, const std::vector<Type>& types) {
  Node node{op, std::move(operands), std::move(attributes), {}};
  complete(node);
  if (status_.ok()) fail(check_arguments(graph_, node));
  for (const Type& type : types) node.results.push_back(graph_.add_value(type, Def::node));
  auto results = node.results;
  if (status_.ok()) graph_.nodes.push_back(std::move(node));
  return results;
}

std::vector<ValueId> Builder::op_multi(Op op, std::vector<ValueId> operands, Attributes attributes) {
  Node node{op, std::move(operands), std::move(attributes), {}};
  if (!status_.ok()) return {0, 0, 0};
  complete(node);
  auto types = infer(graph_, node);
  if (!types.ok()) {
    fail(std::move(types).status());
    return {0, 0, 0};
  }
  for (Type& type : *types) node.results.push_back(graph_.add_value(std::move(type), Def::node));
  auto results = node.results;
  graph_.nodes.push_back(std::move(node));
  return results;
}

ValueId Builder::op(Op op, std::vector<ValueId> operands, Attributes attributes) { return op_multi(op, std::move(operands), std::move(attributes))[0]; }

ValueId Builder::view(ValueId x, std::vector<int64_t> size) {
  if (!status_.ok() || type(x).sizes() == size) return x;
  return op(Op::aten_view_copy, {x}, {{"size", std::move(size)}});
}

ValueId Builder::permute(ValueId x, std::vector<int64_t> dims) {
  return status_.ok() ? op(Op::aten_permute_copy, {x}, {{"dims", std::move(dims)}}) : x;
}

ValueId Builder::cast(ValueId x, ScalarType dtype) {
  if (!status_.ok() || type(x).dtype == dtype) return x;
  Type out = type(x);
  out.dtype = dtype;
  return op_with_types(Op::aten_cast, {x}, {}, {out})[0];
}

ValueId Builder::scale(ValueId x, double factor) {
  if (!status_.ok() || factor == 1.0) return x;
  return op(Op::aten_mul_scalar, {x}, {{"other", factor}});
}

}  // namespace pteron::ir
