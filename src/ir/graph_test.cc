#include "ir/graph.h"

#include <gtest/gtest.h>

#include "core/constant_recipes.h"
#include "ir/builder.h"

namespace pteron::ir {
namespace {

TEST(Graph, OperandsAreFoundByArgumentName) {
  Node node{Op::aten_index_put_, {10, kNone, kNone, 11, 12}, {}, {}};
  EXPECT_EQ(node.operand("self"), 10);
  EXPECT_EQ(node.operand("values"), 12) << "arguments behind a list are counted from the end";
  EXPECT_EQ(node.operand("nothing"), kNone);
}

TEST(Graph, ConstantsAreOneByNameAndOneASource) {
  Module module;
  const ConstantPtr a = *constant_from_values({2}, {1, 2}), b = *constant_from_values({2}, {1, 2});
  EXPECT_EQ(*module.add_constant("w", a), 0);
  EXPECT_EQ(*module.add_constant("v", b), 1);
  EXPECT_EQ(*module.add_constant("w", a), 0);
  const auto clash = module.add_constant("w", b);
  ASSERT_FALSE(clash.ok());
  EXPECT_EQ(clash.status().detail().field, "w");
  module.constants[1].name = "renamed";
  EXPECT_FALSE(module.find_constant("v").has_value());
  EXPECT_EQ(module.find_constant("w"), 0);
}

TEST(Graph, UsesCountNodesAndOutputs) {
  Module module;
  Graph graph;
  Builder b(module, graph);
  const ValueId x = b.input(Type(ScalarType::Float, {2}), {.name = "x"});
  const ValueId y = b.op(Op::aten_add, {x, x});
  b.output(y, {.name = "y"});
  ASSERT_TRUE(b.status().ok()) << b.status().message();
  EXPECT_EQ(graph.use_counts()[static_cast<size_t>(x)], 2);
  EXPECT_EQ(graph.use_counts()[static_cast<size_t>(y)], 1);
  EXPECT_EQ(graph.producers()[static_cast<size_t>(y)], 0);
  graph.replace_uses(y, x);
  EXPECT_EQ(graph.outputs[0].value, x);
}

TEST(Graph, NamesOfRolesAndPackingsReadBack) {
  for (int i = 0; i <= static_cast<int>(Role::value_state); ++i) EXPECT_EQ(role_from_name(role_name(static_cast<Role>(i))), static_cast<Role>(i));
  for (int i = 0; i <= static_cast<int>(Packing::int4); ++i) EXPECT_EQ(packing_from_name(packing_name(static_cast<Packing>(i))), static_cast<Packing>(i));
  EXPECT_FALSE(role_from_name("attention").has_value());
}

}  // namespace
}  // namespace pteron::ir
