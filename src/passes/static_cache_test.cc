#include <gtest/gtest.h>

#include "passes/text_test.h"

namespace pteron::passes {
namespace {

TEST(StaticCache, CachesBecomeInputsAndWhatIsLeftInThemOutputs) {
  EXPECT_EQ(after("static_cache", R"(method @m {
  input %0 "ids" token_ids : int64[1,1]
  input %1 "at" position_ids : int64[1,1]
  input %2 "rows" user : float32[1,1,1,2]
  input %3 "last_row" last_row : int64[1]
  %4 : float16[1,1,4,2] = pteron::cache(kind="value", layer=1)
  %5 : float16[1,1,4,2] = pteron::cache_write(%4, %2, %1, ring=false)
  %6 : float32[1,1,4,2] = pteron::cache(kind="key", layer=1)
  %7 : float32[1,1,4,2] = pteron::cache_write(%6, %2, %1, ring=true)
  %8 : float32[1,1,4,2] = pteron::cache_write(%7, %2, %1, ring=true)
  %9 : float32[1,1,3,2] = pteron::cache(kind="key", layer=0)
  %10 : float32[1,1,3,2] = pteron::cache_write(%9, %2, %1, ring=false)
  %11 : float32[1,1,4,2] = aten::neg.out(%7)
  output %11 "logits" logits
}
)"),
            R"(method @m {
  input %0 "ids" token_ids : int64[1,1]
  input %1 "at" position_ids : int64[1,1]
  input %2 "rows" user : float32[1,1,1,2]
  input %3 "key_cache_0" key_cache layer=0 : float32[1,1,3,2]
  input %4 "key_cache_1" key_cache layer=1 : float32[1,1,4,2]
  input %5 "value_cache_1" value_cache layer=1 : float16[1,1,4,2]
  input %6 "last_row" last_row : int64[1]
  %7 : float16[1,1,4,2] = pteron::cache_write(%5, %2, %1)
  %8 : float32[1,1,4,2] = pteron::cache_write(%4, %2, %1, ring=true)
  %9 : float32[1,1,4,2] = pteron::cache_write(%8, %2, %1, ring=true)
  %10 : float32[1,1,3,2] = pteron::cache_write(%3, %2, %1)
  %11 : float32[1,1,4,2] = aten::neg.out(%8)
  output %11 "logits" logits
  output %10 "key_state_0" key_state layer=0 alias=3
  output %9 "key_state_1" key_state layer=1 alias=4
  output %7 "value_state_1" value_state layer=1 alias=5
}
)");
}

// Graphs that keep their caches as mutable buffers write with core operators.
TEST(StaticCache, WritesOfCoreOperatorsCountAndOtherAliasesFollowTheirInputs) {
  const std::string out = after("static_cache", R"(method @m {
  input %0 "slot" user : int64[1]
  input %1 "rows" user : float32[1,1,1,2]
  input %2 "last_row" last_row : int64[1]
  %3 : float32[1,1,4,2] = pteron::cache(kind="key", layer=0)
  %4 : float32[1,1,4,2] = aten::index_put.out(%3, [none, none, %0], %1)
  %5 : int64[1] = aten::neg.out(%2)
  output %5 "counted" user alias=2
}
)");
  EXPECT_NE(out.find("output %5 \"counted\" user alias=3\n  output %4 \"key_state_0\" key_state layer=0 alias=2\n"), std::string::npos) << out;
}

TEST(StaticCache, AGraphWithoutCachesStaysAsItIs) {
  const char* text = R"(method @m {
  input %0 "cache" key_cache layer=0 : float32[2]
  %1 : float32[2] = aten::neg.out(%0)
  output %1 "state" key_state layer=0 alias=0
}
)";
  EXPECT_EQ(after("static_cache", text), text);
}

TEST(StaticCache, WhatIsKeptMustBeClear) {
  const auto with = [](const std::string& nodes) {
    return after("static_cache", "method @m {\n  input %0 \"at\" position_ids : int64[1,1]\n  input %1 \"rows\" user : float32[1,1,1,2]\n" + nodes + "  output %1 \"y\" user\n}\n");
  };
  const std::string key = "  %2 : float32[1,1,4,2] = pteron::cache(kind=\"key\", layer=0)\n";
  const std::string write = " : float32[1,1,4,2] = pteron::cache_write(%2, %1, %0, ring=false)\n";
  EXPECT_NE(with(key).find("key_cache_0): expected a write to it, found none"), std::string::npos) << with(key);
  const std::string twice = with(key + "  %3" + write + "  %4" + write);
  EXPECT_NE(twice.find("found 2 writes to one value"), std::string::npos) << twice;
  const std::string again = with(key + "  %3" + write + "  %4 : float32[1,1,4,2] = pteron::cache(kind=\"key\", layer=0)\n");
  EXPECT_NE(again.find("found a second one"), std::string::npos) << again;
  const std::string other = with("  %2 : float32[1,1,4,2] = pteron::cache(kind=\"state\", layer=0)\n  %3" + write);
  EXPECT_NE(other.find("expected key or value, found state"), std::string::npos) << other;
  const std::string negative = with("  %2 : float32[1,1,4,2] = pteron::cache(kind=\"key\", layer=-1)\n  %3" + write);
  EXPECT_NE(negative.find("expected 0 or more, found -1"), std::string::npos) << negative;
}

}  // namespace
}  // namespace pteron::passes
