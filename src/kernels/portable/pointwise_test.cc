#include "kernels/portable/pointwise.h"

#include <gmock/gmock.h>

#include <vector>

namespace pteron::portable {
namespace {

using ::testing::ElementsAre;

struct Sum4 {
  template <class T>
  static T apply(T a, T b, T c, T d) { return a + b + c + d; }
};
struct First {
  template <class T>
  static T apply(T a) { return a; }
};

struct Operands : ::testing::Test {
  template <class T>
  Tensor make(ScalarType type, std::vector<int32_t> sizes, std::vector<T>& data) {
    std::vector<uint8_t> order;
    for (size_t d = 0; d < sizes.size(); ++d) order.push_back(static_cast<uint8_t>(d));
    Tensor t(type, sizes, order, false);
    t.set_data(data.data());
    return t;
  }
  ThreadPool pool{2};
  KernelContext context{pool, {}};
};

TEST_F(Operands, FourInputsOfDifferentTypesAndShapes) {
  std::vector<float> a = {1, 2}, out(4);
  std::vector<int64_t> b = {10, 20};
  std::vector<uint8_t> c = {1};
  const Tensor ta = make(ScalarType::Float, {2, 1}, a), tb = make(ScalarType::Long, {2}, b), tc = make(ScalarType::Bool, {}, c);
  Tensor to = make(ScalarType::Float, {2, 2}, out);
  const Scalar d{Scalar::Kind::number, 0, 0.5};
  ASSERT_TRUE(pointwise(context, {ta, tb, tc, d}, {ScalarType::Float}, kAllLoops<Sum4, 4>, to).ok());
  EXPECT_THAT(out, ElementsAre(12.5, 22.5, 13.5, 23.5));
}

TEST_F(Operands, ResultsAreRoundedToTheCommonTypeFirst) {
  std::vector<float> in = {1.0001f}, out(1);
  const Tensor from = make(ScalarType::Float, {1}, in);
  Tensor to = make(ScalarType::Float, {1}, out);
  ASSERT_TRUE(pointwise(context, {from}, {ScalarType::Half}, kAllLoops<First, 1>, to).ok());
  EXPECT_EQ(out[0], 1.0f);
}

TEST_F(Operands, LongRunsCrossManyChunks) {
  std::vector<float> in(100000), out(100000);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i);
  const Tensor from = make(ScalarType::Float, {100000}, in);
  Tensor to = make(ScalarType::Float, {100000}, out);
  ASSERT_TRUE(pointwise(context, {from}, {ScalarType::Float}, kAllLoops<First, 1>, to).ok());
  EXPECT_EQ(in, out);
}

TEST_F(Operands, AnOperatorWithoutALoopForTheTypeRefusesIt) {
  std::vector<int64_t> in = {1}, out(1);
  const Tensor from = make(ScalarType::Long, {1}, in);
  Tensor to = make(ScalarType::Long, {1}, out);
  EXPECT_EQ(pointwise(context, {from}, {ScalarType::Long}, kFloatLoops<First, 1>, to).code(), Code::unsupported);
}

}  // namespace
}  // namespace pteron::portable
