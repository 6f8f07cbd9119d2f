#include "ir/printer.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/sha256.h"
#include "core/constant_recipes.h"
#include "ir/builder.h"

namespace pteron::ir {
namespace {

TEST(Printer, WritesConstantsPortsAndNodes) {
  Module module;
  module.methods.emplace_back();
  Graph& graph = module.methods[0];
  graph.name = "decode";
  Builder b(module, graph);
  const ValueId x = b.input(Type(ScalarType::Float, {1, 2, 2}), {.name = "x"});
  const ValueId cache = b.input(Type(ScalarType::Float, {1, 1, 4, 2}), {.name = "k", .role = Role::key_cache, .layer = 3});
  const ValueId n = b.op(Op::rms_norm, {x, b.constant("norm weight", *constant_from_values({2}, {1, 0.5f}))}, {{"eps", 1e-5}});
  b.output(n, {.name = "logits", .role = Role::logits});
  b.output(cache, {.name = "k_state", .role = Role::key_state, .layer = 3, .alias = 1});
  ASSERT_TRUE(b.status().ok()) << b.status().message();
  EXPECT_EQ(*print(module),
            "const @\"norm weight\" : float32[2] = values [1.0, 0.5]\n"
            "method @decode {\n"
            "  input %0 \"x\" user : float32[1,2,2]\n"
            "  input %1 \"k\" key_cache layer=3 : float32[1,1,4,2]\n"
            "  %2 : float32[1,2,2] = pteron::rms_norm(%0, @\"norm weight\", eps=1e-05)\n"
            "  output %2 \"logits\" logits\n"
            "  output %1 \"k_state\" key_state layer=3 alias=1\n"
            "}\n");
}

TEST(Printer, LargeConstantsByDigestAndPacking) {
  std::vector<float> values(32);
  std::iota(values.begin(), values.end(), 0.0f);
  const std::string digest = to_hex(sha256(std::as_bytes(std::span(values))));
  Module module;
  ASSERT_TRUE(module.add_constant("w", *constant_from_values({4, 8}, values), Packing::int8).ok());
  EXPECT_EQ(*print(module), "const @w : float32[4,8] packing=int8 = sha256 \"" + digest + "\"\n");
}

TEST(Printer, ListsAndLeftOutOperands) {
  Module module;
  Graph graph;
  graph.name = "m";
  Builder b(module, graph);
  const ValueId cache = b.input(Type(ScalarType::Float, {1, 1, 4, 2}), {.name = "c"});
  const ValueId slots = b.input(Type(ScalarType::Long, {1}), {.name = "s"});
  const ValueId rows = b.input(Type(ScalarType::Float, {1, 1, 1, 2}), {.name = "r"});
  b.op(Op::aten_index_put, {cache, kNone, kNone, slots, rows});
  EXPECT_NE(print(module, graph).find("aten::index_put.out(%0, [none, none, %1], %2)"), std::string::npos) << print(module, graph);
}

}  // namespace
}  // namespace pteron::ir
