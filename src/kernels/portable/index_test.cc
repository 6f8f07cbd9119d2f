#include <gmock/gmock.h>

#include "kernels/portable/kernel_call_for_test.h"

namespace pteron::portable::testing {
namespace {

using ::testing::ElementsAre;

TEST(Index, PutWritesRowsInPlace) {
  Call call("aten::index_put_");
  const Array none = floats({0}, {});
  ASSERT_TRUE(call.inout(floats({1, 2, 3}, {0, 0, 0, 0, 0, 0}))
                  .optional_tensors({none, none, longs({2}, {2, -3})})
                  .in(floats({1, 2, 2}, {1, 2, 3, 4}))
                  .b(false)
                  .run()
                  .ok());
  EXPECT_THAT(call.result(), ElementsAre(2, 0, 1, 4, 0, 3));
  EXPECT_TRUE(call.returned().is(Value::Kind::tensor));
}

TEST(Index, PutChecksEveryIndexBeforeItWrites) {
  Call call("aten::index_put_");
  EXPECT_FALSE(call.inout(floats({3}, {7, 7, 7})).optional_tensors({longs({2}, {0, 3})}).in(floats({2}, {1, 2})).b(false).run().ok());
  EXPECT_THAT(call.result(), ElementsAre(7, 7, 7));
}

TEST(Index, PutAccumulates) {
  Call call("aten::index_put_");
  ASSERT_TRUE(call.inout(floats({2}, {1, 1})).optional_tensors({longs({3}, {0, 0, 1})}).in(floats({3}, {1, 2, 3})).b(true).run().ok());
  EXPECT_THAT(call.result(), ElementsAre(4, 4));
}

TEST(Index, GapsMoveIndexDimensionsToTheFront) {
  Call call("aten::index.Tensor_out");
  const Array none = floats({0}, {});
  ASSERT_TRUE(call.in(floats({2, 1, 2}, {1, 2, 3, 4})).optional_tensors({longs({1}, {1}), none, longs({1}, {0})}).out({1, 1}).run().ok());
  EXPECT_THAT(call.result(), ElementsAre(3));
}

TEST(Index, MasksSelect) {
  Call call("aten::index.Tensor_out");
  ASSERT_TRUE(
      call.in(floats({2, 2}, {1, 2, 3, 4})).optional_tensors({bools({2, 2}, {1, 0, 0, 1})}).out(ScalarType::Float, {4}, true).run().ok());
  EXPECT_THAT(call.result(), ElementsAre(1, 4));
  EXPECT_FALSE(Call("aten::index.Tensor_out")
                   .in(floats({2}, {1, 2}))
                   .optional_tensors({bools({3}, {1, 0, 1})})
                   .out(ScalarType::Float, {2}, true)
                   .run()
                   .ok());
}

TEST(Index, OutOfRangeIndicesAreErrors) {
  EXPECT_FALSE(Call("aten::index.Tensor_out").in(floats({2}, {1, 2})).optional_tensors({longs({1}, {2})}).out({1}).run().ok());
  EXPECT_FALSE(Call("aten::index_select.out").in(floats({2}, {1, 2})).i(0).in(longs({1}, {-1})).out({1}).run().ok());
  EXPECT_FALSE(Call("aten::gather.out").in(floats({2}, {1, 2})).i(0).in(longs({1}, {5})).out({1}).run().ok());
  EXPECT_FALSE(
      Call("aten::index.Tensor_out").in(floats({2}, {1, 2})).optional_tensors({longs({1}, {0}), longs({1}, {0})}).out({1}).run().ok());
}

TEST(Index, MaskedSelections) {
  Call select("aten::masked_select.out");
  ASSERT_TRUE(select.in(floats({3}, {1, 2, 3})).in(bools({3}, {1, 0, 1})).out(ScalarType::Float, {3}, true).run().ok());
  EXPECT_THAT(select.result(), ElementsAre(1, 3));
  Call scatter("aten::masked_scatter.out");
  ASSERT_TRUE(scatter.in(floats({3}, {1, 2, 3})).in(bools({3}, {1, 0, 1})).in(floats({2}, {8, 9})).out({3}).run().ok());
  EXPECT_THAT(scatter.result(), ElementsAre(8, 2, 9));
  EXPECT_FALSE(
      Call("aten::masked_scatter.out").in(floats({3}, {1, 2, 3})).in(bools({3}, {1, 1, 1})).in(floats({2}, {8, 9})).out({3}).run().ok());
}

}  // namespace
}  // namespace pteron::portable::testing
