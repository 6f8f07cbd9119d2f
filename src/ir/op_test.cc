#include "ir/op.h"

#include <gtest/gtest.h>

#include <set>

namespace pteron::ir {
namespace {

TEST(Op, EverySchemaParsesAndIsFoundByName) {
  std::set<std::string> names;
#define PTERON_OP(id, text, rule)                                    \
  {                                                                  \
    const Schema& s = schema(Op::id);                                \
    EXPECT_FALSE(s.text_name.empty()) << text;                       \
    EXPECT_TRUE(names.insert(s.text_name).second) << text;           \
    EXPECT_EQ(op_from_name(s.text_name), Op::id) << text;            \
    EXPECT_TRUE(s.composite || s.in_place || s.outs > 0) << text;    \
    EXPECT_LT(s.text_name.size(), 100u) << "ExecuTorch's limit";     \
    int lists = 0;                                                   \
    for (const Arg& arg : s.args) lists += arg.kind == ArgKind::tensor_list; \
    EXPECT_LE(lists, 1) << text;                                     \
  }
#include "ir/ops.def"
#undef PTERON_OP
  EXPECT_FALSE(op_from_name("aten::no_such").has_value());
}

TEST(Op, SchemaKeepsOrderDefaultsAndMarks) {
  const auto s = parse_schema("aten::f.out(Tensor self, Tensor? bias=None, int[2] size=3, float eps=1e-5, str mode=\"none\", *, ScalarType? dtype=None, Tensor! out)");
  ASSERT_TRUE(s.has_value());
  EXPECT_EQ(s->name, "aten::f");
  EXPECT_EQ(s->overload, "out");
  EXPECT_EQ(s->outs, 1u);
  ASSERT_EQ(s->args.size(), 6u);
  EXPECT_TRUE(s->args[1].optional);
  EXPECT_EQ(std::get<std::vector<int64_t>>(*s->args[2].preset), std::vector<int64_t>{3});
  EXPECT_EQ(std::get<double>(*s->args[3].preset), 1e-5);
  EXPECT_EQ(std::get<std::string>(*s->args[4].preset), "none");
  EXPECT_EQ(s->args[5].kind, ArgKind::dtype);
}

TEST(Op, InPlaceOperatorsMutateAnArgument) {
  EXPECT_TRUE(schema(Op::aten_index_put_).in_place);
  EXPECT_EQ(schema(Op::aten_index_put_).outs, 0u);
  EXPECT_EQ(schema(Op::aten_index_put_).overload, "");
  EXPECT_FALSE(schema(Op::aten_index_put).in_place);
  EXPECT_EQ(schema(Op::aten_native_layer_norm).outs, 3u);
}

TEST(Op, MalformedSchemasGiveNothing) {
  EXPECT_FALSE(parse_schema("aten::f.out").has_value());
  EXPECT_FALSE(parse_schema("aten::f(Gizmo x)").has_value());
  EXPECT_FALSE(parse_schema("aten::f(int n=many)").has_value());
  EXPECT_FALSE(parse_schema("aten::f(bool[] x)").has_value());
}

}  // namespace
}  // namespace pteron::ir
