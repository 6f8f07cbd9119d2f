#include "kernels/portable/strided.h"

#include <gmock/gmock.h>

#include <numeric>
#include <vector>

namespace pteron::portable {
namespace {

using ::testing::ElementsAre;

struct Strided : ::testing::Test {
  ThreadPool pool{2};
  KernelContext context{pool, {}};
};

Tensor tensor(std::vector<int32_t> sizes, std::vector<uint8_t> order, std::vector<float>& data) {
  Tensor t(ScalarType::Float, sizes, order, false);
  data.resize(t.numel());
  t.set_data(data.data());
  return t;
}

TEST_F(Strided, ViewsGainAndLoseDimensions) {
  std::vector<float> data;
  View view = view_of(tensor({2, 3}, {0, 1}, data));
  view.insert(1, 4, 0);
  EXPECT_THAT(view.sizes.span(), ElementsAre(2, 4, 3));
  EXPECT_EQ(view.strides[2], 1);
  view.erase(0);
  EXPECT_THAT(view.sizes.span(), ElementsAre(4, 3));
  EXPECT_EQ(view.strides[0], 0);
}

TEST_F(Strided, ReshapingWalksBothLayouts) {
  for (const std::vector<uint8_t>& order : {std::vector<uint8_t>{0, 1, 2}, {2, 0, 1}, {1, 2, 0}}) {
    std::vector<float> a, b;
    const Tensor from = tensor({2, 3, 4}, order, a);
    std::iota(a.begin(), a.end(), 0.0f);
    Tensor to = tensor({4, 6}, {1, 0}, b);
    copy_reshaped(context, from, to);
    for (int i = 0; i < 24; ++i) {
      const float expected = a[static_cast<size_t>(i / 12 * from.stride(0) + i / 4 % 3 * from.stride(1) + i % 4 * from.stride(2))];
      EXPECT_EQ(b[static_cast<size_t>(i / 6 * to.stride(0) + i % 6 * to.stride(1))], expected);
    }
  }
}

TEST_F(Strided, ElementsOfEveryWidthAreCopied) {
  for (size_t width : {1, 2, 4, 8, 16}) {
    std::vector<std::byte> from(6 * width), to(6 * width);
    for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i + 1);
    View a, b;
    a.data = from.data();
    b.data = to.data();
    a.element_bytes = b.element_bytes = width;
    for (View* v : {&a, &b}) v->sizes.push(2), v->sizes.push(3);
    a.strides = {1, 2};  // transposed
    b.strides = {3, 1};
    copy_view(context, a, b);
    for (size_t r = 0; r < 2; ++r) {
      for (size_t c = 0; c < 3; ++c) EXPECT_EQ(to[(r * 3 + c) * width], from[(r + 2 * c) * width]) << width;
    }
  }
}

TEST_F(Strided, ResultsOfAnotherTypeAreRefused) {
  std::vector<float> data;
  const Tensor from = tensor({2}, {0}, data);
  Tensor to(ScalarType::Int, from.sizes(), from.dim_order(), false);
  to.set_data(data.data());
  EXPECT_FALSE(copy_out(context, from, view_of(from), to).ok());
}

}  // namespace
}  // namespace pteron::portable
