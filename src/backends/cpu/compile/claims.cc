#include "backends/cpu/compile/claims.h"

#include <algorithm>

#include "core/dtype.h"

namespace pteron::cpu_backend {
namespace {

using ir::Graph;
using ir::Node;
using ir::Op;
using ir::Type;
using ir::ValueId;
using partition::Claim;

bool is_row_type(ScalarType t) { return t == ScalarType::Float || t == ScalarType::Half || t == ScalarType::BFloat16; }
bool is_index_type(ScalarType t) { return t == ScalarType::Long || t == ScalarType::Int; }

class Claimer {
 public:
  explicit Claimer(const Graph& graph) : graph_(graph) {
    for (const Node& node : graph.nodes) {
      if (node.op == Op::cache_write) continue;
      const Type& t = graph.type(node.results[0]);
      if (t.rank() >= 2 && t.dims[0].size == 1) rows_ = std::max(rows_, t.dims[1].size);
    }
  }

  // The reason not to take a node; empty to take it.
  std::string refuse(const Node& node) const {
    for (const ValueId id : node.results) {
      if (!graph_.type(id).is_static()) return "a shape is known only at run time";
    }
    switch (node.op) {
      case Op::embedding: return all({weight(node, 0), input(node, 1, "ids"), rows(node.result(), "result")});
      case Op::rms_norm: return all({rows(node.operands[0], "x"), constant(node, 1, "weight"), rows(node.result(), "result")});
      case Op::layer_norm: return all({rows(node.operands[0], "x"), constant(node, 1, "weight"), constant(node, 2, "bias"), rows(node.result(), "result")});
      case Op::linear: return all({rows(node.operands[0], "x"), weight(node, 1), constant(node, 2, "bias"), rows(node.result(), "result")});
      case Op::gated_mlp: return mlp(node, 3, 7);
      case Op::mlp: return mlp(node, 2, 5);
      case Op::rope: return all({rows(node.operands[0], "x"), input(node, 1, "positions"), constant(node, 2, "inv_freq"), whole(node.operands[0])});
      case Op::cache_write: return all({cache(node.operands[0]), rows(node.operands[1], "rows"), input(node, 2, "positions"), whole(node.operands[1])});
      case Op::attention: return attention(node);
      case Op::activation: return all({rows(node.operands[0], "x"), kind(node.string("kind"))});
      case Op::softcap: return node.number("cap") > 0 ? rows(node.operands[0], "x") : "the cap is not above zero";
      case Op::select_row: return all({rows(node.operands[0], "x"), input(node, 1, "row")});
      case Op::aten_mul_scalar: return rows(node.operands[0], "self");
      case Op::aten_add: return node.number("alpha", 1) == 1 || node.integer("alpha", 1) == 1 ? pairwise(node) : "alpha is not 1";
      case Op::aten_mul: return pairwise(node);
      case Op::aten_view_copy: return view(node);
      default: return "the operator is not one of this backend's";
    }
  }

 private:
  static std::string all(std::initializer_list<std::string> reasons) {
    for (const std::string& reason : reasons) {
      if (!reason.empty()) return reason;
    }
    return {};
  }
  // [1, rows, ...] of a float type, computed or handed in.
  std::string rows(ValueId id, const std::string& what) const {
    const Type& t = graph_.type(id);
    if (graph_.is_constant(id)) return what + " is a constant";
    if (!is_row_type(t.dtype)) return what + " is " + std::string(dtype_name(t.dtype));
    if (t.rank() < 2 || t.dims[0].size != 1 || !t.is_static()) return what + " is not of the shape [1, rows, ...]";
    if (t.dims[1].size != 1 && t.dims[1].size != rows_) return what + " has another number of rows than the method";
    return t.numel().value_or(0) > 0 ? "" : what + " is empty";
  }
  std::string whole(ValueId id) const { return graph_.type(id).dims[1].size == rows_ ? "" : "not all rows"; }
  std::string constant(const Node& node, size_t operand, const std::string& what) const {
    if (operand >= node.operands.size() || node.operands[operand] == ir::kNone) return {};
    return graph_.is_constant(node.operands[operand]) ? "" : what + " is no constant";
  }
  std::string weight(const Node& node, size_t operand) const {
    const Type& t = graph_.type(node.operands[operand]);
    if (!graph_.is_constant(node.operands[operand])) return "the weight is no constant";
    if (t.rank() != 2 || t.dims[0].size <= 0 || t.dims[1].size <= 0) return "the weight has not two dimensions";
    return is_row_type(t.dtype) ? "" : "the weight is " + std::string(dtype_name(t.dtype));
  }
  std::string input(const Node& node, size_t operand, const std::string& what) const {
    const ValueId id = node.operands[operand];
    if (graph_.values[static_cast<size_t>(id)].def != ir::Def::input) return what + " is no input of the method";
    return is_index_type(graph_.type(id).dtype) ? "" : what + " is " + std::string(dtype_name(graph_.type(id).dtype));
  }
  static std::string kind(const std::string& name) {
    return name == "silu" || name == "gelu" || name == "gelu_tanh" || name == "relu" ? "" : "the activation " + name + " is not supported";
  }
  std::string mlp(const Node& node, size_t last_weight, size_t end) const {
    std::string reason = all({rows(node.operands[0], "x"), kind(node.string("activation"))});
    for (size_t i = 1; i < end && reason.empty(); ++i) reason = i <= last_weight ? weight(node, i) : constant(node, i, "a bias");
    return reason;
  }
  std::string cache(ValueId id) const {
    const Type& t = graph_.type(id);
    if (graph_.is_constant(id)) return "the cache is a constant";
    if (!is_row_type(t.dtype)) return "the cache is " + std::string(dtype_name(t.dtype));
    return t.rank() == 4 && t.dims[0].size == 1 && t.is_static() ? "" : "the cache is not of the shape [1, heads, slots, dim]";
  }
  std::string attention(const Node& node) const {
    const Type &query = graph_.type(node.operands[0]), &keys = graph_.type(node.operands[1]), &mask = graph_.type(node.operands[3]);
    const std::string reason = all({rows(node.operands[0], "query"), whole(node.operands[0]), cache(node.operands[1]), cache(node.operands[2]), constant(node, 4, "bias")});
    if (!reason.empty()) return reason;
    if (graph_.values[static_cast<size_t>(node.operands[3])].def != ir::Def::input) return "the mask is no input of the method";
    if (mask.dtype != ScalarType::Bool && !is_row_type(mask.dtype)) return "the mask is " + std::string(dtype_name(mask.dtype));
    if (query.rank() != 4 || query.dims[2].size % keys.dims[1].size != 0) return "query heads are no multiple of cached heads";
    return keys.dtype == graph_.type(node.operands[2]).dtype ? "" : "key and value cache differ in type";
  }
  std::string pairwise(const Node& node) const {
    const std::string reason = all({rows(node.operands[0], "self"), rows(node.operands[1], "other")});
    if (!reason.empty()) return reason;
    return graph_.type(node.operands[0]).sizes() == graph_.type(node.operands[1]).sizes() ? "" : "the operands differ in shape";
  }
  std::string view(const Node& node) const {
    const std::string reason = all({rows(node.operands[0], "self"), rows(node.result(), "result")});
    if (!reason.empty()) return reason;
    return graph_.type(node.operands[0]).dims[1].size == graph_.type(node.result()).dims[1].size ? "" : "the view mixes rows";
  }

  const Graph& graph_;
  int64_t rows_ = 1;
};

}  // namespace

std::vector<Claim> claim_nodes(const Graph& graph) {
  const Claimer claimer(graph);
  std::vector<Claim> out;
  for (const Node& node : graph.nodes) {
    std::string reason = claimer.refuse(node);
    out.push_back({reason.empty(), std::move(reason)});
  }
  return out;
}

}  // namespace pteron::cpu_backend
