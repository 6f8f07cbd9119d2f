#include "models/build.h"

#include <algorithm>
#include <cmath>

#include "core/constant_recipes.h"
#include "core/dtype.h"
#include "ir/builder.h"
#include "models/alibi.h"
#include "models/weights.h"

namespace pteron::models {
namespace {

using ir::Builder;
using ir::Op;
using ir::Packing;
using ir::Port;
using ir::Role;
using ir::Type;
using ir::ValueId;

// A factor as the model's element type holds it.
double rounded(double factor, ScalarType dtype) {
  const auto f = static_cast<float>(factor);
  if (dtype == ScalarType::BFloat16) return bfloat16_to_float(float_to_bfloat16(f));
  if (dtype == ScalarType::Half) return half_to_float(float_to_half(f));
  return f;
}

CacheLayer cache_layer(const Decoder& decoder, const Block& block, const BuildOptions& options) {
  CacheLayer out;
  out.heads = decoder.kv_heads;
  out.key_dim = out.value_dim = decoder.head_dim;
  out.slots = options.context_length;
  const int64_t window = block.attention.window;
  if (window > 0 && window < options.context_length) {
    out.sliding = true;
    out.window = window;
    // Room for a whole chunk beside the window: no write of a call may reach a key that one of its queries sees.
    const int64_t rows = std::max({int64_t{1}, options.prefill_rows, options.verify_rows});
    if (!options.flat_sliding) out.slots = std::min(options.context_length, window + rows - 1);
  }
  return out;
}

// Constants that all methods share, made once.
struct Shared {
  std::vector<RopeTable> ropes;
  std::vector<ConstantPtr> frequencies;
  std::vector<std::pair<double, ConstantPtr>> alibi;  // by scale
};

class MethodBuilder {
 public:
  MethodBuilder(const Decoder& decoder, const BuildOptions& options, const std::vector<CacheLayer>& cache, Shared& shared, Weights& weights, ir::Module& module,
                ir::Graph& graph, int64_t rows, bool selected)
      : decoder_(decoder), options_(options), cache_(cache), shared_(shared), weights_(weights), b_(module, graph), rows_(rows), selected_(selected) {}

  Status run() {
    declare_inputs();
    ValueId x = embed();
    for (size_t layer = 0; layer < decoder_.blocks.size() && b_.status().ok(); ++layer) x = block(layer, x);
    if (selected_) x = b_.op(Op::select_row, {x, last_row_});
    x = norm(decoder_.final_norm, x);
    x = head(x);
    b_.output(x, {.value = x, .name = "logits", .role = Role::logits});
    return b_.status();
  }

 private:
  void declare_inputs() {
    ids_ = b_.input(Type(options_.ids_dtype, {1, rows_}), {.name = "token_ids", .role = Role::token_ids});
    positions_ = b_.input(Type(options_.ids_dtype, {1, rows_}), {.name = "position_ids", .role = Role::position_ids});
    for (bool sliding : {false, true}) {
      const auto of_kind = [&](const CacheLayer& layer) { return layer.sliding == sliding; };
      const auto first = std::find_if(cache_.begin(), cache_.end(), of_kind);
      if (first == cache_.end()) continue;
      const std::string name = sliding ? "sliding" : "full";
      masks_[sliding ? 1 : 0] = b_.input(Type(options_.boolean_mask ? ScalarType::Bool : options_.dtype, {1, 1, rows_, first->slots}),
                                         {.name = "mask_" + name, .role = Role::mask, .mask = name});
    }
    if (selected_) last_row_ = b_.input(Type(ScalarType::Long, {1}), {.name = "last_row", .role = Role::last_row});
  }

  // A layer's keys or values after this call: what it kept, with the rows of the call written into it.
  ValueId cached(const char* kind, size_t layer, int64_t dim, ValueId rows) {
    const CacheLayer& c = cache_[layer];
    const Type type(options_.cache_dtype, {1, c.heads, c.slots, dim});
    const ValueId kept = b_.op_with_types(Op::cache, {}, {{"kind", std::string(kind)}, {"layer", static_cast<int64_t>(layer)}}, {type})[0];
    return b_.op(Op::cache_write, {kept, rows, positions_}, {{"ring", c.slots < options_.context_length}});
  }

  // A tensor of the checkpoint as a constant; errors stay in the builder.
  ValueId constant(const std::string& name, Result<ConstantPtr> source, Packing packing = Packing::plain) {
    if (!source.ok()) {
      b_.fail(std::move(source).status());
      return 0;
    }
    return b_.constant(name, std::move(source).value(), packing);
  }

  ValueId weight(const Matrix& m) { return constant(part_name(m, m.weight), weights_.take_weight(m, options_.dtype), options_.packing); }
  ValueId bias(const Matrix& m) { return m.bias.empty() ? ir::kNone : constant(part_name(m, m.bias), weights_.take_bias(m, options_.dtype)); }
  ValueId linear(const Matrix& m, ValueId x) { return b_.op(Op::linear, {x, weight(m), bias(m)}); }

  ValueId norm(const Norm& n, ValueId x) {
    if (!n) return x;
    const std::string name = n.weight_rows.empty() ? n.weight : n.weight_rows[0] + "/stacked";
    const ValueId w = constant(name, weights_.take_norm(n, options_.dtype));
    if (n.kind == Norm::Kind::rms) return b_.op(Op::rms_norm, {x, w}, {{"eps", n.eps}, {"offset", n.offset}});
    const ValueId bias_value = n.bias.empty() ? ir::kNone : constant(n.bias, weights_.take(n.bias, n.shape, options_.dtype));
    return b_.op(Op::layer_norm, {x, w, bias_value}, {{"eps", n.eps}});
  }

  ValueId embed() {
    const ValueId table = constant(decoder_.embedding, weights_.take(decoder_.embedding, {decoder_.vocab, decoder_.hidden}, options_.dtype),
                                   decoder_.tied && options_.embedding_packing != options_.head_packing ? options_.embedding_packing
                                   : decoder_.tied                                                      ? options_.head_packing
                                                                                                        : options_.embedding_packing);
    ValueId x = b_.scale(b_.op(Op::embedding, {table, ids_}), rounded(decoder_.embedding_scale, options_.dtype));
    if (decoder_.position_embedding.empty()) return x;
    const ValueId positions = constant(decoder_.position_embedding, weights_.take(decoder_.position_embedding, {decoder_.max_positions, decoder_.hidden}, options_.dtype));
    return b_.op(Op::aten_add, {x, b_.op(Op::embedding, {positions, positions_})});
  }

  // One projection as heads [1, q, heads, head_dim], normalised and rotated.
  ValueId heads(const Attention& a, const Matrix& m, const Norm& n, int64_t count, bool rotate, ValueId x) {
    ValueId out = linear(m, x);
    if (a.norm_whole) out = norm(n, out);
    out = b_.view(out, {1, rows_, count, decoder_.head_dim});
    if (!a.norm_whole) out = norm(n, out);
    if (!rotate || a.rope < 0) return out;
    const auto index = static_cast<size_t>(a.rope);
    const ValueId frequencies = b_.constant("rope_inv_freq_" + std::to_string(index), shared_.frequencies[index]);
    return b_.op(Op::rope, {out, positions_, frequencies},
                 {{"interleaved", decoder_.ropes[index].interleaved}, {"attention_factor", shared_.ropes[index].attention_factor}});
  }

  ValueId alibi(double scale, int64_t slots) {
    if (!decoder_.alibi) return ir::kNone;
    auto known = std::find_if(shared_.alibi.begin(), shared_.alibi.end(), [&](const auto& entry) { return entry.first == scale; });
    if (known == shared_.alibi.end()) {
      auto table = constant_from_values({decoder_.heads, slots}, alibi_table(decoder_.heads, slots, scale));
      if (table.ok()) table = cast(std::move(table).value(), options_.dtype);
      if (!table.ok()) {
        b_.fail(std::move(table).status());
        return ir::kNone;
      }
      shared_.alibi.emplace_back(scale, std::move(table).value());
      known = std::prev(shared_.alibi.end());
    }
    return b_.constant("alibi_" + std::to_string(known - shared_.alibi.begin()), known->second);
  }

  ValueId attention(size_t layer, const Attention& a, ValueId x) {
    const ValueId q = heads(a, a.query, a.query_norm, decoder_.heads, true, x);
    const ValueId k = heads(a, a.key, a.key_norm, decoder_.kv_heads, true, x);
    const ValueId v = heads(a, a.value, Norm{}, decoder_.kv_heads, false, x);
    const CacheLayer& c = cache_[layer];
    const ValueId keys = cached("key", layer, c.key_dim, k);
    const ValueId values = cached("value", layer, c.value_dim, v);
    const ValueId out = b_.op(Op::attention, {q, keys, values, masks_[c.sliding ? 1 : 0], alibi(a.scale, c.slots)}, {{"scale", a.scale}, {"softcap", a.softcap}});
    return linear(a.output, out);
  }

  ValueId mlp(const Mlp& m, ValueId x) {
    if (!m.gated) return b_.op(Op::mlp, {x, weight(m.up), weight(m.down), bias(m.up), bias(m.down)}, {{"activation", m.activation}});
    return b_.op(Op::gated_mlp, {x, weight(m.gate), weight(m.up), weight(m.down), bias(m.gate), bias(m.up), bias(m.down)}, {{"activation", m.activation}});
  }

  ValueId add(ValueId x, ValueId update, double multiplier) { return b_.op(Op::aten_add, {x, b_.scale(update, multiplier)}); }

  ValueId block(size_t layer, ValueId x) {
    const Block& block = decoder_.blocks[layer];
    const ValueId normed = norm(block.attention_pre, x);
    const ValueId attended = norm(block.attention_post, attention(layer, block.attention, normed));
    const ValueId after = add(x, attended, block.residual_multiplier);
    ValueId in = block.parallel ? x : after;
    in = block.mlp_pre ? norm(block.mlp_pre, in) : block.parallel ? normed : in;
    return add(after, norm(block.mlp_post, mlp(block.mlp, in)), block.residual_multiplier);
  }

  ValueId head(ValueId x) {
    if (decoder_.tied) {
      auto table = weights_.take(decoder_.embedding, {decoder_.vocab, decoder_.hidden}, options_.dtype);
      const bool own = options_.embedding_packing != options_.head_packing;
      x = b_.op(Op::linear, {x, constant(own ? "lm_head.weight" : decoder_.embedding, std::move(table), options_.head_packing)});
    } else {
      x = b_.op(Op::linear, {x, constant(part_name(decoder_.head, decoder_.head.weight), weights_.take_weight(decoder_.head, options_.dtype), options_.head_packing),
                             bias(decoder_.head)});
    }
    x = b_.scale(x, decoder_.logits_scale);
    return decoder_.logits_softcap > 0 ? b_.op(Op::softcap, {x}, {{"cap", decoder_.logits_softcap}}) : x;
  }

  const Decoder& decoder_;
  const BuildOptions& options_;
  const std::vector<CacheLayer>& cache_;
  Shared& shared_;
  Weights& weights_;
  Builder b_;
  int64_t rows_;
  bool selected_;
  ValueId ids_ = 0, positions_ = 0, last_row_ = 0;
  ValueId masks_[2] = {0, 0};
};

Status check_lengths(const Decoder& decoder, const BuildOptions& options) {
  const auto wrong = [&](const char* field, std::string expected, int64_t found) {
    return Status::error(Code::invalid_argument, "an export option has a wrong value", {.field = field, .expected = std::move(expected), .found = std::to_string(found)});
  };
  if (options.context_length < 1) return wrong("context_length", "1 or more", options.context_length);
  if (decoder.positions_limited && options.context_length > decoder.max_positions) {
    return wrong("context_length", "at most " + std::to_string(decoder.max_positions) + ", the positions that the model has learned", options.context_length);
  }
  if (options.prefill_rows != 0 && (options.prefill_rows < 2 || options.prefill_rows > options.context_length)) {
    return wrong("prefill_rows", "0, or 2 to the context length " + std::to_string(options.context_length), options.prefill_rows);
  }
  if (options.verify_rows != 0 && (options.verify_rows < 2 || options.verify_rows > options.context_length)) {
    return wrong("verify_rows", "0, or 2 to the context length " + std::to_string(options.context_length), options.verify_rows);
  }
  return {};
}

}  // namespace

Result<BuiltModel> build(const Decoder& decoder, const WeightSource& weights, const BuildOptions& options) {
  PTERON_TRY(check_lengths(decoder, options));
  BuiltModel out;
  for (const Block& block : decoder.blocks) out.cache.push_back(cache_layer(decoder, block, options));
  Shared shared;
  for (const Rope& rope : decoder.ropes) {
    shared.ropes.push_back(rope_table(rope, options.context_length));
    const auto count = static_cast<int64_t>(shared.ropes.back().inv_freq.size());
    PTERON_ASSIGN(ConstantPtr table, constant_from_values({count}, shared.ropes.back().inv_freq));
    shared.frequencies.push_back(std::move(table));
  }
  Weights checked(weights);
  const auto method = [&](const char* name, int64_t rows, bool selected) {
    ir::Graph graph;
    graph.name = name;
    Status status = MethodBuilder(decoder, options, out.cache, shared, checked, out.module, graph, rows, selected).run();
    out.module.methods.push_back(std::move(graph));
    return status;
  };
  if (options.prefill_rows > 0) PTERON_TRY(method("prefill", options.prefill_rows, options.prefill_selected));
  PTERON_TRY(method("decode", 1, options.decode_selected));
  if (options.verify_rows > 0) PTERON_TRY(method("verify", options.verify_rows, false));
  out.ropes = std::move(shared.ropes);
  out.unused = checked.unused(decoder.ignored);
  return out;
}

}  // namespace pteron::models
