#include <gtest/gtest.h>

#include "passes/text_test.h"

namespace pteron::passes {
namespace {

TEST(Reinplace, AWriteWhoseOldValueIsDoneWithHappensInPlace) {
  ir::Notes notes;
  EXPECT_EQ(after("reinplace", R"(method @m {
  input %0 "cache" key_cache layer=0 : float32[1,1,4,2]
  input %1 "slot" user : int64[1]
  input %2 "rows" user : float32[1,1,1,2]
  %3 : float32[4,2] = aten::view_copy.out(%0, size=[4, 2])
  %4 : float32[4,2] = aten::neg.out(%3)
  %5 : float32[1,1,4,2] = aten::index_put.out(%0, [none, none, %1], %2)
  %6 : float32[1,1,4,2] = aten::neg.out(%5)
  output %4 "before" user
  output %6 "y" user
  output %5 "state" key_state layer=0 alias=0
}
)",
                  &notes),
            R"(method @m {
  input %0 "cache" key_cache layer=0 : float32[1,1,4,2]
  input %1 "slot" user : int64[1]
  input %2 "rows" user : float32[1,1,1,2]
  %3 : float32[4,2] = aten::view_copy.out(%0, size=[4, 2])
  %4 : float32[4,2] = aten::neg.out(%3)
  %5 : float32[1,1,4,2] = aten::index_put_(%0, [none, none, %1], %2)
  %6 : float32[1,1,4,2] = aten::neg.out(%5)
  output %4 "before" user
  output %6 "y" user
  output %5 "state" key_state layer=0 alias=0
}
)");
  EXPECT_TRUE(notes.empty());
}

// The old value is read through a view after the write: the write stays a copy, which goes back into the input at the end.
TEST(Reinplace, AReadAfterTheWriteKeepsTheCopyAndSaysSo) {
  ir::Notes notes;
  EXPECT_EQ(after("reinplace", R"(method @m {
  input %0 "cache" key_cache layer=0 : float32[1,1,4,2]
  input %1 "slot" user : int64[1]
  input %2 "rows" user : float32[1,1,1,2]
  %3 : float32[4,2] = aten::view_copy.out(%0, size=[4, 2])
  %4 : float32[1,1,4,2] = aten::index_put.out(%0, [none, none, %1], %2)
  %5 : float32[4,2] = aten::neg.out(%3)
  output %5 "old" user
  output %4 "state" key_state layer=0 alias=0
}
)",
                  &notes),
            R"(method @m {
  input %0 "cache" key_cache layer=0 : float32[1,1,4,2]
  input %1 "slot" user : int64[1]
  input %2 "rows" user : float32[1,1,1,2]
  %3 : float32[4,2] = aten::view_copy.out(%0, size=[4, 2])
  %4 : float32[1,1,4,2] = aten::index_put.out(%0, [none, none, %1], %2)
  %5 : float32[4,2] = aten::neg.out(%3)
  %6 : float32[1,1,4,2] = aten::copy_(%0, %4)
  output %5 "old" user
  output %6 "state" key_state layer=0 alias=0
}
)");
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("cache stays a copy"), std::string::npos) << notes[0];
}

TEST(Reinplace, AWriteThatReadsWhatItWritesOverStaysACopy) {
  ir::Notes notes;
  const std::string out = after("reinplace", R"(method @m {
  input %0 "cache" key_cache layer=0 : float32[1,1,4,2]
  input %1 "slots" user : int64[4]
  %2 : float32[1,1,4,2] = aten::view_copy.out(%0, size=[1, 1, 4, 2])
  %3 : float32[1,1,4,2] = aten::index_put.out(%0, [none, none, %1], %2)
  output %3 "state" key_state layer=0 alias=0
}
)",
                                &notes);
  EXPECT_NE(out.find("aten::index_put.out"), std::string::npos) << out;
  EXPECT_NE(out.find("aten::copy_(%0, %3)"), std::string::npos) << out;
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("by the write itself"), std::string::npos) << notes[0];
}

TEST(Reinplace, AnOutputThatIsTheOldStateCannotBeHad) {
  const std::string out = after("reinplace", R"(method @m {
  input %0 "cache" key_cache layer=0 : float32[1,1,4,2]
  input %1 "slot" user : int64[1]
  input %2 "rows" user : float32[1,1,1,2]
  %3 : float32[1,1,4,2] = aten::index_put.out(%0, [none, none, %1], %2)
  output %0 "before" user
  output %3 "state" key_state layer=0 alias=0
}
)");
  EXPECT_NE(out.find("error: method m shows the old value of a state beside the new one (before)"), std::string::npos) << out;
}

TEST(Reinplace, TwoWritesToOneCacheFollowEachOther) {
  const std::string out = after("reinplace", R"(method @m {
  input %0 "cache" key_cache layer=0 : float32[1,1,4,2]
  input %1 "slot" user : int64[1]
  input %2 "rows" user : float32[1,1,1,2]
  %3 : float32[1,1,4,2] = aten::index_put.out(%0, [none, none, %1], %2)
  %4 : float32[1,1,4,2] = aten::index_put.out(%3, [none, none, %1], %2)
  output %4 "state" key_state layer=0 alias=0
}
)");
  EXPECT_EQ(out.find("index_put.out"), std::string::npos) << out;
  EXPECT_EQ(out.find("copy_"), std::string::npos) << out;
}

TEST(Reinplace, AnInputThatTheMethodDoesNotUpdateIsLeftAlone) {
  const std::string out = after("reinplace", R"(method @m {
  input %0 "x" user : float32[1,1,4,2]
  input %1 "slot" user : int64[1]
  input %2 "rows" user : float32[1,1,1,2]
  %3 : float32[1,1,4,2] = aten::index_put.out(%0, [none, none, %1], %2)
  output %3 "y" user
}
)");
  EXPECT_NE(out.find("index_put.out"), std::string::npos) << out;
}

TEST(Reinplace, AStateComputedAnewIsCopiedBack) {
  const std::string out = after("reinplace", R"(method @m {
  input %0 "cache" key_cache layer=0 : float32[2]
  %1 : float32[2] = aten::neg.out(%0)
  output %1 "state" key_state layer=0 alias=0
}
)");
  EXPECT_NE(out.find("aten::copy_(%0, %1)"), std::string::npos) << out;
}

}  // namespace
}  // namespace pteron::passes
