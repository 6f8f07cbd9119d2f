#include <gmock/gmock.h>

#include "kernels/portable/kernel_call_for_test.h"

namespace pteron::portable::testing {
namespace {

using ::testing::ElementsAre;

TEST(Embedding, TakesRows) {
  Call call("aten::embedding.out");
  ASSERT_TRUE(call.in(floats({2, 2}, {1, 2, 3, 4})).in(longs({1, 2}, {1, 0})).i(-1).b(false).b(false).out({1, 2, 2}).run().ok());
  EXPECT_THAT(call.result(), ElementsAre(3, 4, 1, 2));
  EXPECT_FALSE(
      Call("aten::embedding.out").in(floats({2, 2}, {1, 2, 3, 4})).in(longs({1}, {2})).i(-1).b(false).b(false).out({1, 2}).run().ok());
}

TEST(Embedding, FourBitRowsHaveTheEvenColumnInTheHighHalf) {
  Call call("quantized_decomposed::embedding_4bit.out");
  ASSERT_TRUE(
      call.in({ScalarType::Byte, {1, 1}, {0x9f}}).in(floats({1}, {0.5})).none().i(-8).i(7).in(longs({1}, {0})).out({1, 2}).run().ok());
  EXPECT_THAT(call.result(), ElementsAre(0.5, 3.5));
}

TEST(Embedding, GroupsMustDivideTheColumns) {
  EXPECT_FALSE(Call("quantized_decomposed::embedding_byte.out")
                   .in({ScalarType::Char, {1, 3}, {1, 2, 3}})
                   .in(floats({1, 2}, {1, 1}))
                   .none()
                   .i(-128)
                   .i(127)
                   .in(longs({1}, {0}))
                   .out({1, 3})
                   .run()
                   .ok());
}

}  // namespace
}  // namespace pteron::portable::testing
