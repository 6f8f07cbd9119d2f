#include "backends/cpu/compile/claims.h"

#include <gtest/gtest.h>

#include <string>

#include "core/constant_recipes.h"
#include "ir/builder.h"

namespace pteron::cpu_backend {
namespace {

using ir::Op;
using ir::Type;
using ir::ValueId;

// A graph over four rows, and what is said about its last node.
struct Case {
  ir::Module module;
  ir::Graph graph;
  ir::Builder b{module, graph};
  int constants = 0;

  ValueId input(std::vector<int64_t> shape, ScalarType dtype = ScalarType::Float) { return b.input(Type(dtype, shape), {.name = "in" + std::to_string(graph.inputs.size())}); }
  ValueId rows(int64_t width = 8) { return input({1, 4, width}); }
  ValueId constant(std::vector<int64_t> shape) {
    size_t n = 1;
    for (const int64_t size : shape) n *= static_cast<size_t>(size);
    return b.constant("c" + std::to_string(constants++), *constant_from_values(std::move(shape), std::vector<float>(n, 1.0f)));
  }
  std::string reason() {
    EXPECT_TRUE(b.status().ok()) << b.status().message();
    const auto claims = claim_nodes(graph);
    EXPECT_EQ(claims.size(), graph.nodes.size());
    if (claims.empty()) return "no claim";
    EXPECT_EQ(claims.back().taken, claims.back().reason.empty());
    return claims.back().reason;
  }
};

TEST(Claims, OperatorsOfADecoderAreTaken) {
  Case c;
  const ValueId x = c.rows(), positions = c.input({1, 4}, ScalarType::Long);
  c.b.op(Op::linear, {x, c.constant({6, 8}), c.constant({6})});
  c.b.op(Op::rms_norm, {x, c.constant({8})}, {{"eps", 1e-5}});
  c.b.op(Op::layer_norm, {x, c.constant({8})}, {{"eps", 1e-5}});
  c.b.op(Op::embedding, {c.constant({20, 8}), positions});
  c.b.op(Op::gated_mlp, {x, c.constant({16, 8}), c.constant({16, 8}), c.constant({8, 16})}, {{"activation", std::string("gelu_tanh")}});
  c.b.op(Op::mlp, {x, c.constant({16, 8}), c.constant({8, 16})}, {{"activation", std::string("relu")}});
  c.b.op(Op::softcap, {x}, {{"cap", 30.0}});
  c.b.op(Op::aten_add, {x, x});
  c.b.op(Op::aten_mul, {x, x});
  c.b.scale(x, 0.5);
  c.b.view(x, {1, 4, 2, 4});
  c.b.op(Op::select_row, {x, c.input({1}, ScalarType::Long)});
  ASSERT_TRUE(c.b.status().ok()) << c.b.status().message();
  const auto claims = claim_nodes(c.graph);
  ASSERT_EQ(claims.size(), 12u);
  for (size_t i = 0; i < claims.size(); ++i) EXPECT_TRUE(claims[i].taken) << i << ": " << claims[i].reason;
}

TEST(Claims, WeightsAreConstantMatrices) {
  Case c;
  c.b.op(Op::linear, {c.rows(), c.input({8, 8})});
  EXPECT_EQ(c.reason(), "the weight is no constant");
  Case e;
  e.b.op(Op::embedding, {e.constant({20, 8}), e.b.cast(e.input({1, 4}, ScalarType::Int), ScalarType::Long)});
  EXPECT_EQ(e.reason(), "ids is no input of the method");
}

TEST(Claims, RowsAreOfOneMethod) {
  Case batch;
  batch.b.op(Op::activation, {batch.input({2, 4, 8})}, {{"kind", std::string("silu")}});
  EXPECT_EQ(batch.reason(), "x is not of the shape [1, rows, ...]");
  Case other;
  other.b.op(Op::activation, {other.rows()}, {{"kind", std::string("silu")}});
  other.b.op(Op::activation, {other.input({1, 3, 8})}, {{"kind", std::string("silu")}});
  EXPECT_EQ(other.reason(), "x has another number of rows than the method");
  Case integers;
  integers.b.scale(integers.input({1, 4, 8}, ScalarType::Long), 2.0);
  EXPECT_EQ(integers.reason(), "self is int64");
}

TEST(Claims, WhatTheRunHalfCannotDoIsRefused) {
  Case unknown;
  unknown.b.op(Op::aten_neg, {unknown.rows()});
  EXPECT_EQ(unknown.reason(), "the operator is not one of this backend's");
  Case kind;
  kind.b.op(Op::activation, {kind.rows()}, {{"kind", std::string("mish")}});
  EXPECT_EQ(kind.reason(), "the activation mish is not supported");
  Case cap;
  cap.b.op(Op::softcap, {cap.rows()}, {{"cap", 0.0}});
  EXPECT_EQ(cap.reason(), "the cap is not above zero");
  Case broadcast;
  broadcast.b.op(Op::aten_add, {broadcast.rows(), broadcast.input({1, 1, 8})});
  EXPECT_EQ(broadcast.reason(), "the operands differ in shape");
  Case alpha;
  alpha.b.op(Op::aten_add, {alpha.rows(), alpha.rows()}, {{"alpha", int64_t{2}}});
  EXPECT_EQ(alpha.reason(), "alpha is not 1");
  Case view;
  view.b.view(view.b.scale(view.rows(), 2.0), {1, 1, 32});
  EXPECT_EQ(view.reason(), "the view mixes rows");
}

// An attention of 4 heads over 2 cached ones.
std::string attention_reason(int64_t heads, ScalarType key_type, ScalarType value_type, ScalarType mask_type, bool mask_is_input = true) {
  Case c;
  const ValueId query = c.input({1, 4, heads, 8});
  const ValueId keys = c.input({1, 2, 16, 8}, key_type), values = c.input({1, 2, 16, 8}, value_type);
  ValueId mask = c.input({1, 1, 4, 16}, mask_type);
  if (!mask_is_input) mask = c.b.op(Op::aten_neg, {mask});
  c.b.op(Op::attention, {query, keys, values, mask}, {{"scale", 0.5}});
  return c.reason();
}

TEST(Claims, AttentionNeedsAMaskThatIsGiven) {
  const ScalarType half = ScalarType::Half, f32 = ScalarType::Float;
  EXPECT_EQ(attention_reason(4, half, half, f32), "");
  EXPECT_EQ(attention_reason(4, f32, f32, ScalarType::Bool), "");
  EXPECT_EQ(attention_reason(4, half, half, f32, false), "the mask is no input of the method");
}

TEST(Claims, CacheWritesNeedPositionsThatAreGiven) {
  Case c;
  const ValueId cache = c.input({1, 2, 16, 8}, ScalarType::Half), rows = c.b.scale(c.input({1, 4, 2, 8}), 2.0);
  c.b.op(Op::cache_write, {cache, rows, c.input({1, 4}, ScalarType::Long)});
  EXPECT_EQ(c.reason(), "");
  Case integers;
  const ValueId ints = integers.input({1, 2, 16, 8}, ScalarType::Long);
  integers.b.op(Op::cache_write, {ints, integers.input({1, 4, 2, 8}), integers.input({1, 4}, ScalarType::Long)});
  EXPECT_EQ(integers.reason(), "the cache is int64");
}

}  // namespace
}  // namespace pteron::cpu_backend
