#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "runtime/kernel.h"

namespace pteron::runtime {
namespace {

const Kernel* prim(std::string_view name) {
  const std::span<const Kernel> prims = prim_kernels();
  return KernelTable{std::span(&prims, 1)}.find(name);
}

// The result of a prim operator on numbers.
Result<Value> run(std::string_view name, std::vector<Value> values) {
  const Kernel* kernel = prim(name);
  if (kernel == nullptr) return Status::error(Code::not_found, name);
  values.emplace_back();
  std::vector<Value*> pointers;
  for (Value& value : values) pointers.push_back(&value);
  ThreadPool pool(1);
  KernelContext context(pool, {});
  PTERON_TRY(kernel->run(context, pointers));
  return values.back();
}

Value I(int64_t value) { return Value(value); }
Value D(double value) { return Value(value); }

TEST(Prims, ArithmeticKeepsIntegersAndPromotesMixes) {
  EXPECT_EQ(run("executorch_prim::add.Scalar", {I(2), I(3)})->integer(), 5);
  EXPECT_EQ(run("executorch_prim::mul.Scalar", {I(2), D(1.5)})->number(), 3.0);
  EXPECT_EQ(run("executorch_prim::sub.Scalar", {I(INT64_MIN), I(1)})->integer(), INT64_MAX);
  EXPECT_EQ(run("executorch_prim::add.Scalar", {Value(true), I(1)}).code(), Code::invalid_data);
}

TEST(Prims, DivisionsRoundEachInTheirWay) {
  EXPECT_EQ(run("executorch_prim::floordiv.Scalar", {I(-7), I(2)})->integer(), -4);
  EXPECT_EQ(run("executorch_prim::floordiv.int", {I(-7), I(2)})->integer(), -3);
  EXPECT_EQ(run("executorch_prim::mod.Scalar", {I(-7), I(2)})->integer(), -1);
  EXPECT_EQ(run("executorch_prim::truediv.Scalar", {I(7), I(2)})->number(), 3.5);
  EXPECT_EQ(run("executorch_prim::floordiv.Scalar", {D(-1), I(0)})->number(), -HUGE_VAL);
  EXPECT_EQ(run("executorch_prim::floordiv.Scalar", {D(-7), D(2)})->number(), -4);
}

TEST(Prims, NoDivisionTrapsTheProcessor) {
  EXPECT_EQ(run("executorch_prim::floordiv.int", {I(1), I(0)}).code(), Code::invalid_argument);
  EXPECT_EQ(run("executorch_prim::floordiv.Scalar", {I(1), I(0)}).code(), Code::invalid_argument);
  EXPECT_EQ(run("executorch_prim::mod.int", {I(1), I(0)}).code(), Code::invalid_argument);
  EXPECT_EQ(run("executorch_prim::floordiv.int", {I(INT64_MIN), I(-1)})->integer(), INT64_MIN);
  EXPECT_EQ(run("executorch_prim::mod.int", {I(INT64_MIN), I(-1)})->integer(), 0);
}

TEST(Prims, ComparisonsAndSelection) {
  EXPECT_TRUE(run("executorch_prim::lt.Scalar", {I(1), D(1.5)})->boolean());
  EXPECT_FALSE(run("executorch_prim::eq.Scalar", {Value(true), Value(false)})->boolean());
  EXPECT_EQ(run("executorch_prim::eq.Scalar", {Value(true), I(1)}).code(), Code::invalid_data);
  EXPECT_EQ(run("executorch_prim::sym_ite.Scalar", {Value(false), I(1), D(2)})->number(), 2.0);
  EXPECT_EQ(run("executorch_prim::sym_max.Scalar", {I(1), I(2)})->integer(), 2);
  EXPECT_EQ(run("executorch_prim::sym_min.Scalar", {I(1), D(2)}).code(), Code::invalid_data);
}

TEST(Prims, RoundingOfNumbers) {
  EXPECT_EQ(run("executorch_prim::round.Scalar", {D(2.5)})->integer(), 2);
  EXPECT_EQ(run("executorch_prim::round.Scalar", {D(-3.5)})->integer(), -4);
  EXPECT_EQ(run("executorch_prim::ceil.Scalar", {D(1.1)})->integer(), 2);
  EXPECT_EQ(run("executorch_prim::trunc.Scalar", {D(-1.9)})->integer(), -1);
  EXPECT_EQ(run("executorch_prim::ceil.Scalar", {I(1)}).code(), Code::invalid_data);
  EXPECT_EQ(run("executorch_prim::sym_int.Scalar", {D(1e300)})->integer(), INT64_MAX);
  EXPECT_EQ(run("executorch_prim::sym_float.Scalar", {I(3)})->number(), 3.0);
}

struct Row {
  explicit Row(std::vector<int32_t> shape, bool dynamic = false) : sizes(std::move(shape)) {
    std::vector<uint8_t> order;
    for (size_t d = 0; d < sizes.size(); ++d) order.push_back(static_cast<uint8_t>(d));
    tensor = Tensor(ScalarType::Float, sizes, order, dynamic);
    data.resize(tensor.numel());
    for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i);
    tensor.set_data(data.data());
  }
  std::vector<int32_t> sizes;
  std::vector<float> data;
  Tensor tensor;
};

TEST(Prims, ViewsPointToTheirSource) {
  Row from({4, 3}), to({3, 4}, true);
  std::vector<Value> table = {I(-1), I(6)};
  const std::vector<int32_t> items = {0, 1};
  const BoxedList sizes{table.data(), items};
  Value args[] = {Value(&from.tensor), Value(Value::Kind::int_list, &sizes), Value(&to.tensor)};
  const std::array<Value*, 3> pointers = {&args[0], &args[1], &args[2]};
  const Kernel* view = prim("executorch_prim::et_view.default");
  ThreadPool pool(1);
  KernelContext context(pool, {});
  ASSERT_TRUE(view->run(context, pointers).ok());
  EXPECT_EQ(to.tensor.size(0), 2);
  EXPECT_EQ(to.tensor.data(), from.tensor.data());
  table[1] = I(5);
  EXPECT_FALSE(view->run(context, pointers).ok());
  table[1] = I(0);
  EXPECT_FALSE(view->run(context, pointers).ok());
}

TEST(Prims, CopiedRowsStayInsideTheirTarget) {
  Row rows({3, 2}, true), row({2});
  rows.data.assign(6, -1);
  const Kernel* copy = prim("executorch_prim::et_copy_index.tensor");
  ThreadPool pool(1);
  KernelContext context(pool, {});
  for (const auto& [index, fine] : {std::pair<int64_t, bool>{1, true}, {2, true}, {3, false}, {-1, false}, {INT64_MAX, false}}) {
    Value args[] = {Value(&rows.tensor), Value(&row.tensor), Value(index)};
    const std::array<Value*, 3> pointers = {&args[0], &args[1], &args[2]};
    EXPECT_EQ(copy->run(context, pointers).ok(), fine) << index;
  }
  EXPECT_EQ(rows.data[3], 1);
}

TEST(Prims, LocalScalarOfEveryKind) {
  Row one({1});
  one.data[0] = 2.5f;
  EXPECT_EQ(run("aten::_local_scalar_dense", {Value(&one.tensor)})->number(), 2.5);
  Row none({0});
  EXPECT_FALSE(run("aten::_local_scalar_dense", {Value(&none.tensor)}).ok());
  EXPECT_EQ(run("aten::sym_size.int", {Value(&one.tensor), I(1)}).code(), Code::invalid_argument);
  EXPECT_EQ(run("aten::sym_size.int", {Value(&one.tensor), I(-1)}).code(), Code::invalid_argument);
  EXPECT_EQ(run("aten::sym_numel", {Value(&one.tensor)})->integer(), 1);
}

}  // namespace
}  // namespace pteron::runtime
