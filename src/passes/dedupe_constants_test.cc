#include <gtest/gtest.h>

#include "passes/text_test.h"

namespace pteron::passes {
namespace {

TEST(DedupeConstants, EqualBytesOfEqualTypeBecomeOne) {
  ir::Notes notes;
  EXPECT_EQ(after("dedupe_constants", R"(const @a : float32[2,2] = values [1.0, 2.0, 3.0, 4.0]
const @b : float32[2,2] = values [1.0, 2.0, 3.0, 4.0]
const @c : float32[2,2] = values [1.0, 2.0, 3.0, 5.0]
const @e : float32[2,2] packing=int8 = values [1.0, 2.0, 3.0, 4.0]
method @m {
  %0 : float32[2,2] = aten::add.out(@a, @b)
  %1 : float32[2,2] = aten::mul.out(@b, @c)
  %2 : float32[2,2] = aten::mul.out(%1, @e)
  output %0 "y" user
  output %2 "z" user
}
)",
                  &notes),
            R"(const @a : float32[2,2] = values [1.0, 2.0, 3.0, 4.0]
const @b : float32[2,2] = values [1.0, 2.0, 3.0, 4.0]
const @c : float32[2,2] = values [1.0, 2.0, 3.0, 5.0]
const @e : float32[2,2] packing=int8 = values [1.0, 2.0, 3.0, 4.0]
method @m {
  %0 : float32[2,2] = aten::add.out(@a, @a)
  %1 : float32[2,2] = aten::mul.out(@a, @c)
  %2 : float32[2,2] = aten::mul.out(%1, @e)
  output %0 "y" user
  output %2 "z" user
}
)");
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0], "constant b equals a");
}

TEST(DedupeConstants, DigestsAreComparedWithoutContents) {
  const std::string out = after("dedupe_constants", R"(const @a : float16[64,64] = sha256 "aa"
const @b : float16[64,64] = sha256 "aa"
const @c : float16[64,64] = sha256 "bb"
method @m {
  %0 : float16[64,64] = aten::add.out(@b, @c)
  output %0 "y" user
}
)");
  EXPECT_NE(out.find("aten::add.out(@a, @c)"), std::string::npos) << out;
}

}  // namespace
}  // namespace pteron::passes
