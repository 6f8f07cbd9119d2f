#include "ir/infer.h"

#include <gtest/gtest.h>

#include "ir/builder.h"

namespace pteron::ir {
namespace {

class InferTest : public testing::Test {
 protected:
  ValueId in(ScalarType dtype, std::vector<int64_t> sizes) { return b_.input(Type(dtype, sizes), {.name = "x"}); }
  ValueId f(std::vector<int64_t> sizes) { return in(ScalarType::Float, std::move(sizes)); }
  // The type of one operator's first result as text, or the field and found value of the error.
  std::string of(Op op, std::vector<ValueId> operands, Attributes attributes = {}) {
    Builder b(module_, graph_);
    const ValueId out = b.op(op, std::move(operands), std::move(attributes));
    if (b.status().ok()) return to_string(graph_.type(out));
    return "error: " + b.status().detail().field;
  }
  Module module_;
  Graph graph_;
  Builder b_{module_, graph_};
};

TEST_F(InferTest, BroadcastingTakesTheLargerSize) {
  EXPECT_EQ(of(Op::aten_add, {f({2, 1, 4}), f({3, 1})}), "float32[2,3,4]");
  EXPECT_EQ(of(Op::aten_add, {f({2, 3}), f({4, 3})}), "error: other");
  EXPECT_EQ(of(Op::aten_mul, {f({2}), in(ScalarType::Half, {2})}), "error: other") << "no implicit promotion";
}

TEST_F(InferTest, CompositesCheckHeadsAndSlots) {
  const ValueId q = f({1, 4, 6, 8}), k = f({1, 2, 16, 8}), v = f({1, 2, 16, 5}), mask = f({1, 1, 4, 16});
  EXPECT_EQ(of(Op::attention, {q, k, v, mask}, {{"scale", 1.0}}), "float32[1,4,30]");
  EXPECT_EQ(of(Op::attention, {q, f({1, 4, 16, 8}), v, mask}, {{"scale", 1.0}}), "error: key_cache");
  EXPECT_EQ(of(Op::attention, {q, k, v, f({1, 1, 4, 15})}, {{"scale", 1.0}}), "error: mask");
  EXPECT_EQ(of(Op::attention, {q, k, v, mask, f({6, 15})}, {{"scale", 1.0}}), "error: bias");
  const ValueId positions = in(ScalarType::Long, {1, 4});
  EXPECT_EQ(of(Op::cache_write, {k, f({1, 4, 2, 8}), positions}), "float32[1,2,16,8]");
  EXPECT_EQ(of(Op::cache_write, {k, f({1, 17, 2, 8}), in(ScalarType::Long, {1, 17})}), "error: rows") << "more rows than slots";
  EXPECT_EQ(of(Op::rope, {q, positions, f({4})}), "float32[1,4,6,8]");
  EXPECT_EQ(of(Op::rope, {q, positions, f({5})}), "error: inv_freq") << "more frequencies than half a head";
  EXPECT_EQ(of(Op::select_row, {f({1, 4, 8}), in(ScalarType::Long, {1})}), "float32[1,1,8]");
}

TEST_F(InferTest, LinearAndMlpFollowTheirWeights) {
  const ValueId x = f({1, 4, 8});
  EXPECT_EQ(of(Op::linear, {x, f({3, 8})}), "float32[1,4,3]");
  EXPECT_EQ(of(Op::linear, {x, f({8, 3})}), "error: weight");
  EXPECT_EQ(of(Op::linear, {x, f({3, 8}), f({4})}), "error: bias");
  EXPECT_EQ(of(Op::gated_mlp, {x, f({16, 8}), f({16, 8}), f({6, 16})}, {{"activation", std::string("silu")}}), "float32[1,4,6]");
  EXPECT_EQ(of(Op::gated_mlp, {x, f({16, 8}), f({15, 8}), f({6, 16})}, {{"activation", std::string("silu")}}), "error: up");
}

TEST_F(InferTest, ShapesOfMovesAndReductions) {
  const ValueId x = f({2, 3, 4});
  EXPECT_EQ(of(Op::aten_view_copy, {x}, {{"size", std::vector<int64_t>{-1, 4}}}), "float32[6,4]");
  EXPECT_EQ(of(Op::aten_view_copy, {x}, {{"size", std::vector<int64_t>{5, 4}}}), "error: size");
  EXPECT_EQ(of(Op::aten_permute_copy, {x}, {{"dims", std::vector<int64_t>{2, 0, -2}}}), "float32[4,2,3]");
  EXPECT_EQ(of(Op::aten_permute_copy, {x}, {{"dims", std::vector<int64_t>{0, 0, 1}}}), "error: dims");
  EXPECT_EQ(of(Op::aten_slice_copy, {x}, {{"dim", int64_t{-1}}, {"start", int64_t{1}}, {"end", int64_t{9}}, {"step", int64_t{2}}}), "float32[2,3,2]");
  EXPECT_EQ(of(Op::aten_cat, {x, f({2, 5, 4})}, {{"dim", int64_t{1}}}), "float32[2,8,4]");
  EXPECT_EQ(of(Op::aten_cat, {x, f({3, 5, 4})}, {{"dim", int64_t{1}}}), "error: tensors");
  EXPECT_EQ(of(Op::aten_mean, {x}, {{"dim", std::vector<int64_t>{-1}}, {"keepdim", true}}), "float32[2,3,1]");
  EXPECT_EQ(of(Op::aten_mean, {x}, {{"dim", std::vector<int64_t>{0, 1}}}), "float32[4]");
  EXPECT_EQ(of(Op::aten_bmm, {f({2, 3, 4}), f({2, 4, 5})}), "float32[2,3,5]");
  EXPECT_EQ(of(Op::aten_bmm, {f({2, 3, 4}), f({2, 3, 5})}), "error: mat2");
  EXPECT_EQ(of(Op::aten_index_select, {x, in(ScalarType::Int, {7})}, {{"dim", int64_t{1}}}), "float32[2,7,4]");
  EXPECT_EQ(of(Op::aten_embedding, {f({10, 6}), in(ScalarType::Long, {1, 3})}), "float32[1,3,6]");
}

TEST_F(InferTest, ArgumentsFollowTheSchema) {
  const ValueId x = f({2});
  EXPECT_EQ(of(Op::aten_add, {x}), "error: other");
  EXPECT_EQ(of(Op::aten_mul_scalar, {x}), "error: other") << "an attribute without a default is required";
  EXPECT_EQ(of(Op::aten_mul_scalar, {x}, {{"other", std::string("2")}}), "error: other");
  EXPECT_EQ(of(Op::aten_mul_scalar, {x}, {{"other", 2.0}, {"alpha", 1.0}}), "error: alpha");
  EXPECT_EQ(of(Op::aten_cat, {x, kNone}), "error: tensors");
}

}  // namespace
}  // namespace pteron::ir
