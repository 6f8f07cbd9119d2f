#include "ir/verifier.h"

#include <gtest/gtest.h>

#include "core/constant_recipes.h"
#include "ir/builder.h"

namespace pteron::ir {
namespace {

class VerifierTest : public testing::Test {
 protected:
  void SetUp() override {
    Graph graph;
    graph.name = "m";
    Builder b(module_, graph);
    const ValueId x = b.input(Type(ScalarType::Float, {2}), {.name = "x"});
    const ValueId w = b.constant("w", *constant_from_values({2}, {1, 2}));
    const ValueId y = b.op(Op::aten_add, {x, w});
    b.output(b.op(Op::aten_mul, {y, x}), {.name = "y"});
    module_.methods.push_back(std::move(graph));
    ASSERT_TRUE(verify(module_).ok());
  }
  Graph& graph() { return module_.methods[0]; }
  std::string error() {
    const Status status = verify(module_);
    return status.ok() ? "" : status.message();
  }
  Module module_;
};

TEST_F(VerifierTest, UseBeforeDefinition) {
  std::swap(graph().nodes[0], graph().nodes[1]);
  EXPECT_NE(error().find("defined before their use"), std::string::npos) << error();
}

TEST_F(VerifierTest, ValueDefinedTwice) {
  graph().nodes[1].results = graph().nodes[0].results;
  EXPECT_NE(error().find("defined once"), std::string::npos) << error();
}

TEST_F(VerifierTest, ResultOfAnotherType) {
  graph().values[static_cast<size_t>(graph().nodes[0].results[0])].type = Type(ScalarType::Float, {3});
  EXPECT_NE(error().find("expected float32[2], found float32[3]"), std::string::npos) << error();
}

TEST_F(VerifierTest, OutOfRangeIds) {
  graph().nodes[0].operands[0] = 99;
  EXPECT_FALSE(error().empty());
  graph().nodes[0].operands[0] = graph().inputs[0].value;
  graph().outputs[0].value = -5;
  EXPECT_NE(error().find("outputs"), std::string::npos);
}

TEST_F(VerifierTest, AliasMustBeAnInputOfTheSameType) {
  graph().outputs[0].alias = 1;
  EXPECT_NE(error().find("an input to alias"), std::string::npos) << error();
  graph().outputs[0].alias = 0;
  EXPECT_EQ(error(), "");
}

TEST_F(VerifierTest, NamesAreUnique) {
  module_.constants.push_back(module_.constants[0]);
  EXPECT_NE(error().find("two constants"), std::string::npos);
  module_.constants.pop_back();
  module_.methods.push_back(module_.methods[0]);
  EXPECT_NE(error().find("two methods"), std::string::npos);
}

TEST_F(VerifierTest, ConstantIndexAndType) {
  for (Value& value : graph().values) {
    if (value.def == Def::constant) value.constant = 7;
  }
  EXPECT_NE(error().find("constants"), std::string::npos);
}

}  // namespace
}  // namespace pteron::ir
