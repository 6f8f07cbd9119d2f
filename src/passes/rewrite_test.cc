#include "passes/rewrite.h"

#include <gtest/gtest.h>

#include "ir/parser.h"
#include "ir/printer.h"

namespace pteron::passes {
namespace {

constexpr const char* kText = R"(method @m {
  input %0 "x" user : float32[2]
  %1 : float32[2] = aten::neg.out(%0)
  %2 : float32[2] = aten::tanh.out(%1)
  output %1 "a" user
  output %2 "b" user
}
)";

TEST(Rewrite, ReplacedResultsReachUsesAndOutputs) {
  auto module = ir::parse(kText);
  ASSERT_TRUE(module.ok());
  const Status status = rewrite(*module, module->methods[0], [](ir::Builder& b, const ir::Node& node) -> std::optional<std::vector<ir::ValueId>> {
    if (node.op != ir::Op::aten_neg) return std::nullopt;
    return std::vector<ir::ValueId>{b.op(ir::Op::aten_relu, {node.operands[0]})};
  });
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(ir::print(*module, module->methods[0]), R"(method @m {
  input %0 "x" user : float32[2]
  %1 : float32[2] = aten::relu.out(%0)
  %2 : float32[2] = aten::tanh.out(%1)
  output %1 "a" user
  output %2 "b" user
}
)");
}

TEST(Rewrite, ErrorsOfTheBuilderPassThrough) {
  auto module = ir::parse(kText);
  ASSERT_TRUE(module.ok());
  const Status status = rewrite(*module, module->methods[0], [](ir::Builder& b, const ir::Node& node) -> std::optional<std::vector<ir::ValueId>> {
    return std::vector<ir::ValueId>{b.op(ir::Op::aten_bmm, {node.operands[0], node.operands[0]})};
  });
  EXPECT_FALSE(status.ok());
}

}  // namespace
}  // namespace pteron::passes
