#include <algorithm>

#include "passes/passes.h"
#include "passes/rewrite.h"

namespace pteron::passes {
namespace {

using ir::Node;
using ir::Op;
using ir::ValueId;

// The node that makes a value, among those written so far; null for inputs and constants.
const Node* maker(const ir::Graph& graph, ValueId id) {
  for (auto it = graph.nodes.rbegin(); it != graph.nodes.rend(); ++it) {
    if (std::find(it->results.begin(), it->results.end(), id) != it->results.end()) return &*it;
  }
  return nullptr;
}

// Whether a permutation leaves the order of all dimensions but those of size 1.
bool only_reshapes(const ir::Type& in, const std::vector<int64_t>& dims) {
  int64_t last = -1;
  for (int64_t d : dims) {
    const int64_t dim = d < 0 ? d + static_cast<int64_t>(in.rank()) : d;
    if (in.size(dim) == 1) continue;
    if (dim < last) return false;
    last = dim;
  }
  return true;
}

// A factor 1 or a summand 0.
bool neutral(const Node& node) {
  const ir::Attribute* other = node.find("other");
  if (!other || std::holds_alternative<bool>(*other)) return false;
  return node.number("other") == (node.op == Op::aten_mul_scalar ? 1 : 0);
}

std::optional<std::vector<ValueId>> fold_node(ir::Builder& b, const Node& node) {
  const auto same = [&](ValueId id) { return std::vector<ValueId>{id}; };
  const ir::Type& out = b.type(node.result());
  const ValueId x = node.operands.empty() ? ir::kNone : node.operands[0];
  if (!out.is_static() || x == ir::kNone) return std::nullopt;
  const bool same_type = b.type(x) == out;
  switch (node.op) {
    case Op::aten_view_copy: {
      if (same_type) return same(x);
      const Node* before = maker(b.graph(), x);
      if (before && before->op == Op::aten_view_copy) return same(b.view(before->operands[0], out.sizes()));
      return std::nullopt;
    }
    case Op::aten_permute_copy:
      if (only_reshapes(b.type(x), node.integers("dims"))) return same(b.view(x, out.sizes()));
      return std::nullopt;
    case Op::aten_slice_copy:
      if (same_type && node.integer("step", 1) == 1) return same(x);
      return std::nullopt;
    case Op::aten_cast:
      if (same_type && !node.boolean("non_blocking") && node.integers("dim_order").empty()) return same(x);
      return std::nullopt;
    case Op::aten_mul_scalar:
    case Op::aten_add_scalar:
      if (same_type && neutral(node)) return same(x);
      return std::nullopt;
    case Op::aten_cat:
      if (node.operands.size() == 1) return same(x);
      return std::nullopt;
    default: return std::nullopt;
  }
}

}  // namespace

Status fold(ir::Module& module, ir::Notes&) {
  for (ir::Graph& graph : module.methods) PTERON_TRY(rewrite(module, graph, fold_node));
  return {};
}

}  // namespace pteron::passes
