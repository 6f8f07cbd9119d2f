#include "ir/builder.h"

#include <gtest/gtest.h>

#include "core/constant_recipes.h"
#include "ir/verifier.h"

namespace pteron::ir {
namespace {

TEST(Builder, FillsInDefaultsInSchemaOrder) {
  Module module;
  Graph graph;
  Builder b(module, graph);
  const ValueId x = b.input(Type(ScalarType::Float, {4, 2}), {.name = "x"});
  b.op(Op::aten_slice_copy, {x}, {{"end", int64_t{3}}, {"dim", int64_t{0}}});
  ASSERT_TRUE(b.status().ok()) << b.status().message();
  const Attributes& a = graph.nodes[0].attributes;
  ASSERT_EQ(a.size(), 4u);
  EXPECT_EQ(a[0].first, "dim");
  EXPECT_EQ(a[2].first, "end");
  EXPECT_EQ(a[3].second, Attribute(int64_t{1}));
}

TEST(Builder, KeepsTheFirstErrorAndAddsNothingAfterIt) {
  Module module;
  Graph graph;
  Builder b(module, graph);
  const ValueId x = b.input(Type(ScalarType::Float, {4, 2}), {.name = "x"});
  b.op(Op::linear, {x, b.input(Type(ScalarType::Float, {4, 3}), {.name = "w"})});
  b.op(Op::aten_add, {x, x});
  EXPECT_FALSE(b.status().ok());
  EXPECT_NE(b.status().message().find("pteron::linear"), std::string::npos);
  EXPECT_TRUE(graph.nodes.empty());
}

TEST(Builder, ShorthandsThatChangeNothingAddNothing) {
  Module module;
  Graph graph;
  Builder b(module, graph);
  const ValueId x = b.input(Type(ScalarType::Float, {4, 2}), {.name = "x"});
  EXPECT_EQ(b.view(x, {4, 2}), x);
  EXPECT_EQ(b.cast(x, ScalarType::Float), x);
  EXPECT_EQ(b.scale(x, 1), x);
  EXPECT_TRUE(graph.nodes.empty());
  EXPECT_EQ(b.type(b.cast(x, ScalarType::Half)), Type(ScalarType::Half, {4, 2}));
}

TEST(Builder, AConstantIsOneValueAGraph) {
  Module module;
  module.methods.emplace_back();
  Builder b(module, module.methods[0]);
  const ConstantPtr w = *constant_from_values({2}, {1, 2});
  EXPECT_EQ(b.constant("w", w), b.constant("w", w));
  EXPECT_TRUE(verify(module).ok());
}

}  // namespace
}  // namespace pteron::ir
