// Composites -> core ATen operators that the stock kernel libraries have.
#include <algorithm>
#include <limits>
#include <map>

#include "core/constant_recipes.h"
#include "core/dtype.h"
#include "passes/passes.h"
#include "passes/rewrite.h"

namespace pteron::passes {
namespace {

using ir::Builder;
using ir::Node;
using ir::Op;
using ir::Type;
using ir::ValueId;

// The most negative finite number of a float type: what an additive mask hides with.
double lowest(ScalarType dtype) {
  if (dtype == ScalarType::Half) return -65504.0;
  if (dtype == ScalarType::BFloat16) return -3.3895313892515355e38;
  return -static_cast<double>(std::numeric_limits<float>::max());
}

class Legalizer {
 public:
  // What this pass makes of a node, or nothing for one that is legal already.
  std::optional<std::vector<ValueId>> node(Builder& b, const Node& n) {
    builder_ = &b;
    const ValueId out = replace(n);
    if (out == ir::kNone) return std::nullopt;
    return std::vector<ValueId>{out};
  }

 private:
  Builder& b() { return *builder_; }
  const Type& type(ValueId id) { return b().type(id); }

  ValueId replace(const Node& n) {
    const auto& in = n.operands;
    switch (n.op) {
      case Op::embedding: return b().op(Op::aten_embedding, {in[0], in[1]});
      case Op::rms_norm: return rms_norm(in[0], in[1], n.number("eps"), n.number("offset"));
      case Op::layer_norm: return layer_norm(in[0], in[1], in[2], n.number("eps"));
      case Op::linear: return linear(in[0], in[1], in[2]);
      case Op::rope: return rope(n);
      case Op::cache_write: return cache_write(n);
      case Op::attention: return attention(n);
      case Op::activation: return activation(in[0], n.string("kind"));
      case Op::gated_mlp: {
        const ValueId gate = activation(linear(in[0], in[1], in[4]), n.string("activation"));
        return linear(b().op(Op::aten_mul, {gate, linear(in[0], in[2], in[5])}), in[3], in[6]);
      }
      case Op::mlp: return linear(activation(linear(in[0], in[1], in[3]), n.string("activation")), in[2], in[4]);
      case Op::softcap: return softcap(in[0], n.number("cap"));
      case Op::select_row: return b().op(Op::aten_index_select, {in[0], to_int64(in[1])}, {{"dim", int64_t{1}}});
      default: return ir::kNone;
    }
  }

  ValueId linear(ValueId x, ValueId weight, ValueId bias) { return b().op(Op::aten_linear, {x, weight, bias}); }

  // A permutation that leaves the order of all dimensions but those of size 1 is only another shape.
  ValueId permute(ValueId x, const std::vector<int64_t>& dims) {
    std::vector<int64_t> sizes, moved;
    for (int64_t d : dims) {
      sizes.push_back(type(x).size(d));
      if (type(x).size(d) != 1) moved.push_back(d);
    }
    return std::is_sorted(moved.begin(), moved.end()) ? b().view(x, sizes) : b().permute(x, dims);
  }

  // A constant as another element type, made once.
  ValueId as_float32(ValueId constant) {
    if (type(constant).dtype == ScalarType::Float) return constant;
    if (!b().graph().is_constant(constant)) return b().cast(constant, ScalarType::Float);
    const auto index = static_cast<size_t>(b().graph().values[static_cast<size_t>(constant)].constant);
    const std::string name = b().module().constants[index].name + ":float32";
    if (const auto known = b().module().find_constant(name)) return b().constant(*known);
    auto source = cast(b().module().constants[index].source, ScalarType::Float);
    if (!source.ok()) {
      b().fail(std::move(source).status());
      return constant;
    }
    return b().constant(name, std::move(source).value());
  }

  // A weight with `offset` added, as float32: norm weights are small enough to be held.
  ValueId with_offset(ValueId weight, double offset) {
    if (!b().graph().is_constant(weight)) return b().op(Op::aten_add_scalar, {b().cast(weight, ScalarType::Float)}, {{"other", offset}});
    const auto index = static_cast<size_t>(b().graph().values[static_cast<size_t>(weight)].constant);
    const ir::Constant& constant = b().module().constants[index];
    const std::string name = constant.name + "+" + ir::number_to_string(offset);
    if (const auto known = b().module().find_constant(name)) return b().constant(*known);
    std::vector<float> values(type(weight).numel().value_or(0));
    Status read = constant.source->read_rows_f32(0, constant.source->shape()[0], values.data());
    for (float& value : values) value += static_cast<float>(offset);
    auto source = constant_from_values(constant.source->shape(), std::move(values));
    if (!read.ok() || !source.ok()) {
      b().fail(read.ok() ? std::move(source).status() : std::move(read));
      return weight;
    }
    return b().constant(name, std::move(source).value());
  }

  // In float32 throughout. The weight is applied after rounding to the model's type, unless an offset is added to it first.
  ValueId rms_norm(ValueId x, ValueId weight, double eps, double offset) {
    const ScalarType dtype = type(x).dtype;
    const ValueId wide = b().cast(x, ScalarType::Float);
    ValueId mean = b().op(Op::aten_mean, {b().op(Op::aten_mul, {wide, wide})}, {{"dim", std::vector<int64_t>{-1}}, {"keepdim", true}});
    mean = b().op(Op::aten_rsqrt, {b().op(Op::aten_add_scalar, {mean}, {{"other", eps}})});
    const ValueId normed = b().op(Op::aten_mul, {wide, mean});
    if (offset == 0) return b().op(Op::aten_mul, {b().cast(normed, dtype), weight});
    return b().cast(b().op(Op::aten_mul, {normed, with_offset(weight, offset)}), dtype);
  }

  ValueId layer_norm(ValueId x, ValueId weight, ValueId bias, double eps) {
    const ScalarType dtype = type(x).dtype;
    const bool by_head = type(weight).rank() > 1;  // the operator takes one weight for all heads
    const ValueId wide = b().cast(x, ScalarType::Float);
    ValueId w = as_float32(weight);
    const ValueId wide_bias = bias == ir::kNone ? bias : as_float32(bias);
    ValueId out = b().op_multi(Op::aten_native_layer_norm, {wide, by_head ? ir::kNone : w, by_head ? ir::kNone : wide_bias},
                               {{"normalized_shape", std::vector<int64_t>{type(x).size(-1)}}, {"eps", eps}})[0];
    if (by_head) out = b().op(Op::aten_mul, {out, w});
    if (by_head && bias != ir::kNone) out = b().op(Op::aten_add, {out, wide_bias});
    return b().cast(out, dtype);
  }

  ValueId activation(ValueId x, const std::string& kind) {
    if (kind == "silu") return b().op(Op::aten_mul, {x, b().op(Op::aten_sigmoid, {x})});
    if (kind == "relu") return b().op(Op::aten_relu, {x});
    if (kind == "gelu" || kind == "gelu_tanh") return b().op(Op::aten_gelu, {x}, {{"approximate", std::string(kind == "gelu" ? "none" : "tanh")}});
    b().fail(Status::error(Code::unsupported, "an activation has no core operators", {.expected = "silu, gelu, gelu_tanh or relu", .found = kind}));
    return x;
  }

  ValueId softcap(ValueId x, double cap) { return b().scale(b().op(Op::aten_tanh, {b().scale(x, 1 / cap)}), cap); }

  ValueId to_int64(ValueId x) {
    auto [it, fresh] = int64_.try_emplace(x, x);
    if (fresh) it->second = b().cast(x, ScalarType::Long);
    return it->second;
  }

  struct RopeTable {
    ValueId cos, sin;  // [1, q, 1, n]
  };

  // Once for all layers that rotate by the same frequencies.
  RopeTable rope_table(ValueId positions, ValueId inv_freq, double factor, ScalarType dtype) {
    const auto key = std::tuple(positions, inv_freq, factor);
    if (const auto it = ropes_.find(key); it != ropes_.end()) return it->second;
    const ValueId p = b().view(b().cast(positions, ScalarType::Float), {1, type(positions).size(1), 1, 1});
    const ValueId angles = b().op(Op::aten_mul, {p, inv_freq});
    RopeTable table{};
    table.cos = b().cast(b().scale(b().op(Op::aten_cos, {angles}), factor), dtype);
    table.sin = b().cast(b().scale(b().op(Op::aten_sin, {angles}), factor), dtype);
    return ropes_.emplace(key, table).first->second;
  }

  ValueId slice(ValueId x, int64_t start, int64_t end) {
    if (start == 0 && end == type(x).size(-1)) return x;
    return b().op(Op::aten_slice_copy, {x}, {{"dim", static_cast<int64_t>(type(x).rank()) - 1}, {"start", start}, {"end", end}});
  }

  ValueId rope(const Node& n) {
    const ValueId x = n.operands[0];
    const int64_t half = type(n.operands[2]).size(0), heads = type(x).size(2), rows = type(x).size(1), dim = type(x).size(3);
    const RopeTable table = rope_table(n.operands[1], n.operands[2], n.number("attention_factor"), type(x).dtype);
    ValueId cos = table.cos, sin = table.sin, first, second;
    int64_t axis = 3;
    if (n.boolean("interleaved")) {
      axis = 4;
      const ValueId pairs = b().view(slice(x, 0, 2 * half), {1, rows, heads, half, 2});
      first = slice(pairs, 0, 1);
      second = slice(pairs, 1, 2);
      cos = b().view(cos, {1, rows, 1, half, 1});
      sin = b().view(sin, {1, rows, 1, half, 1});
    } else {
      first = slice(x, 0, half);
      second = slice(x, half, 2 * half);
    }
    const auto mul = [&](ValueId a, ValueId c) { return b().op(Op::aten_mul, {a, c}); };
    const ValueId turned_first = b().op(Op::aten_sub, {mul(first, cos), mul(second, sin)});
    const ValueId turned_second = b().op(Op::aten_add, {mul(second, cos), mul(first, sin)});
    std::vector<ValueId> parts{turned_first, turned_second};
    if (axis == 3 && 2 * half < dim) parts.push_back(slice(x, 2 * half, dim));
    ValueId out = b().op(Op::aten_cat, parts, {{"dim", axis}});
    if (axis == 3) return out;
    out = b().view(out, {1, rows, heads, 2 * half});
    return 2 * half < dim ? b().op(Op::aten_cat, {out, slice(x, 2 * half, dim)}, {{"dim", int64_t{3}}}) : out;
  }

  // Where rows go: the positions, in a ring modulo its slots. Once for all layers.
  ValueId slots_of(ValueId positions, int64_t ring_slots) {
    const auto key = std::pair(positions, ring_slots);
    if (const auto it = slots_.find(key); it != slots_.end()) return it->second;
    ValueId flat = b().view(to_int64(positions), {type(positions).size(1)});
    if (ring_slots > 0) flat = b().op(Op::aten_remainder_scalar, {flat}, {{"other", ring_slots}});
    return slots_[key] = flat;
  }

  ValueId cache_write(const Node& n) {
    const ValueId cache = n.operands[0];
    const ValueId rows = permute(b().cast(n.operands[1], type(cache).dtype), {0, 2, 1, 3});
    const ValueId slots = slots_of(n.operands[2], n.boolean("ring") ? type(cache).size(2) : 0);
    return b().op(Op::aten_index_put, {cache, ir::kNone, ir::kNone, slots, rows});
  }

  // The mask as something to add to float32 scores: once for all layers.
  ValueId additive(ValueId mask) {
    if (const auto it = masks_.find(mask); it != masks_.end()) return it->second;
    ValueId out = mask;
    if (type(mask).dtype == ScalarType::Bool) {
      const auto scalar = [&](const char* name, double value) {
        auto source = constant_from_values({1}, {static_cast<float>(value)});
        if (const auto known = b().module().find_constant(name)) return b().constant(*known);
        if (source.ok()) return b().constant(name, std::move(source).value());
        b().fail(std::move(source).status());
        return mask;
      };
      out = b().op(Op::aten_where, {mask, scalar("mask_attend", 0), scalar("mask_hide", lowest(ScalarType::Float))});
    } else {
      out = b().cast(mask, ScalarType::Float);
    }
    return masks_[mask] = out;
  }

  // Scores are computed transposed, keys [heads, slots, dim] times queries [heads, dim, rows]: the caches are read as they lie, and what is
  // turned round is small. Query heads that share a key head are rows of one product.
  ValueId attention(const Node& n) {
    const ValueId query = n.operands[0];
    const ScalarType dtype = type(query).dtype;
    const ValueId keys = b().cast(n.operands[1], dtype), values = b().cast(n.operands[2], dtype);
    const int64_t rows = type(query).size(1), heads = type(query).size(2), dim = type(query).size(3);
    const int64_t kv_heads = type(keys).size(1), slots = type(keys).size(2), value_dim = type(values).size(3), group = heads / kv_heads;
    ValueId q = b().view(b().scale(query, n.number("scale")), {rows, kv_heads, group, dim});
    q = b().view(permute(q, {1, 3, 2, 0}), {kv_heads, dim, group * rows});
    ValueId scores = b().op(Op::aten_bmm, {b().view(keys, {kv_heads, slots, dim}), q});
    scores = b().view(permute(scores, {0, 2, 1}), {1, heads, rows, slots});
    if (n.number("softcap") > 0) scores = softcap(scores, n.number("softcap"));
    if (n.operands[4] != ir::kNone) scores = b().op(Op::aten_add, {scores, b().view(n.operands[4], {1, heads, 1, slots})});
    scores = b().op(Op::aten_add, {b().cast(scores, ScalarType::Float), additive(n.operands[3])});
    scores = b().cast(b().op(Op::aten_softmax, {scores}, {{"dim", int64_t{3}}, {"half_to_float", false}}), dtype);
    ValueId out = b().op(Op::aten_bmm, {b().view(scores, {kv_heads, group * rows, slots}), b().view(values, {kv_heads, slots, value_dim})});
    out = permute(b().view(out, {heads, rows, value_dim}), {1, 0, 2});
    return b().view(out, {1, rows, heads * value_dim});
  }

  Builder* builder_ = nullptr;
  std::map<ValueId, ValueId> int64_, masks_;
  std::map<std::pair<ValueId, int64_t>, ValueId> slots_;
  std::map<std::tuple<ValueId, ValueId, double>, RopeTable> ropes_;
};

}  // namespace

Status legalize(ir::Module& module, ir::Notes&) {
  for (ir::Graph& graph : module.methods) {
    Legalizer legalizer;
    PTERON_TRY(rewrite(module, graph, [&](Builder& builder, const Node& node) { return legalizer.node(builder, node); }));
  }
  return {};
}

}  // namespace pteron::passes
