#include <gtest/gtest.h>

#include "passes/text_test.h"

namespace pteron::passes {
namespace {

// How often a piece of text occurs.
int count(const std::string& text, const std::string& piece) {
  int n = 0;
  for (size_t at = text.find(piece); at != std::string::npos; at = text.find(piece, at + 1)) ++n;
  return n;
}

TEST(Legalize, RmsNormWithAnOffsetFoldsItIntoTheWeight) {
  EXPECT_EQ(after("legalize", R"(const @w : float32[2] = values [1.0, 0.5]
method @m {
  input %0 "x" user : float32[1,3,2]
  %1 : float32[1,3,2] = pteron::rms_norm(%0, @w, eps=0.125, offset=1.0)
  output %1 "y" user
}
)"),
            R"(const @w : float32[2] = values [1.0, 0.5]
const @"w+1.0" : float32[2] = values [2.0, 1.5]
method @m {
  input %0 "x" user : float32[1,3,2]
  %1 : float32[1,3,2] = aten::mul.out(%0, %0)
  %2 : float32[1,3,1] = aten::mean.out(%1, dim=[-1], keepdim=true)
  %3 : float32[1,3,1] = aten::add.Scalar_out(%2, other=0.125)
  %4 : float32[1,3,1] = aten::rsqrt.out(%3)
  %5 : float32[1,3,2] = aten::mul.out(%0, %4)
  %6 : float32[1,3,2] = aten::mul.out(%5, @"w+1.0")
  output %6 "y" user
}
)");
}

TEST(Legalize, NormsOfHalvesAreComputedInFloat32) {
  const std::string out = after("legalize", R"(const @w : float16[2] = values [1.0, 0.5]
method @m {
  input %0 "x" user : float16[1,3,2]
  %1 : float16[1,3,2] = pteron::rms_norm(%0, @w, eps=0.125)
  %2 : float16[1,3,2] = pteron::layer_norm(%1, @w, eps=0.125)
  output %2 "y" user
}
)");
  EXPECT_NE(out.find("float32[1,3,1] = aten::rsqrt.out"), std::string::npos) << out;
  EXPECT_NE(out.find("float16[1,3,2] = aten::mul.out"), std::string::npos) << "the weight is applied in the model's type: " << out;
  EXPECT_NE(out.find("@\"w:float32\", none, normalized_shape=[2]"), std::string::npos) << out;
}

TEST(Legalize, LayerNormByHeadAppliesTheWeightAfterwards) {
  const std::string out = after("legalize", R"(const @w : float32[2,4] = values [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
method @m {
  input %0 "x" user : float32[1,3,2,4]
  %1 : float32[1,3,2,4] = pteron::layer_norm(%0, @w, eps=0.125)
  output %1 "y" user
}
)");
  EXPECT_NE(out.find("native_layer_norm.out(%0, none, none, normalized_shape=[4], eps=0.125)"), std::string::npos) << out;
  EXPECT_NE(out.find("aten::mul.out(%1, @w)"), std::string::npos) << out;
}

TEST(Legalize, CacheWriteWrapsOnlyInARing) {
  const char* text = R"(method @m {
  input %0 "cache" key_cache layer=0 : float16[1,2,4,3]
  input %1 "rows" user : float32[1,2,2,3]
  input %2 "positions" position_ids : int32[1,2]
  %3 : float16[1,2,4,3] = pteron::cache_write(%0, %1, %2RING)
  output %3 "state" key_state layer=0 alias=0
}
)";
  std::string ring = text, flat = text;
  ring.replace(ring.find("RING"), 4, ", ring=true");
  flat.replace(flat.find("RING"), 4, "");
  EXPECT_EQ(after("legalize", ring), R"(method @m {
  input %0 "cache" key_cache layer=0 : float16[1,2,4,3]
  input %1 "rows" user : float32[1,2,2,3]
  input %2 "positions" position_ids : int32[1,2]
  %3 : float16[1,2,2,3] = dim_order_ops::_to_dim_order_copy.out(%1)
  %4 : float16[1,2,2,3] = aten::permute_copy.out(%3, dims=[0, 2, 1, 3])
  %5 : int64[1,2] = dim_order_ops::_to_dim_order_copy.out(%2)
  %6 : int64[2] = aten::view_copy.out(%5, size=[2])
  %7 : int64[2] = aten::remainder.Scalar_out(%6, other=4)
  %8 : float16[1,2,4,3] = aten::index_put.out(%0, [none, none, %7], %4)
  output %8 "state" key_state layer=0 alias=0
}
)");
  EXPECT_EQ(after("legalize", flat).find("remainder"), std::string::npos);
}

TEST(Legalize, AttentionReadsTheCachesAsTheyLie) {
  const std::string out = after("legalize", R"(method @m {
  input %0 "q" user : float32[1,2,4,3]
  input %1 "k" key_cache layer=0 : float32[1,2,8,3]
  input %2 "v" value_cache layer=0 : float32[1,2,8,3]
  input %3 "mask" mask mask="full" : bool[1,1,2,8]
  %4 : float32[1,2,12] = pteron::attention(%0, %1, %2, %3, scale=0.5, softcap=2.0)
  %5 : float32[1,2,12] = pteron::attention(%0, %1, %2, %3, scale=0.5)
  output %4 "y" user
  output %5 "z" user
}
)");
  ASSERT_NE(out.substr(0, 6), "error:") << out;
  EXPECT_EQ(count(out, "aten::where.self_out"), 1) << "one additive mask for all layers: " << out;
  EXPECT_EQ(count(out, "aten::tanh.out"), 1);
  EXPECT_EQ(count(out, "aten::permute_copy.out(%1"), 0) << "the key cache is not turned round";
  EXPECT_NE(out.find("float32[2,8,4] = aten::bmm.out"), std::string::npos) << out;
  EXPECT_NE(out.find("_softmax.out"), std::string::npos);
}

TEST(Legalize, RopeTablesAreSharedAndPartialHeadsKeepTheirRest) {
  const std::string out = after("legalize", R"(const @inv : float32[1] = values [1.0]
method @m {
  input %0 "q" user : float32[1,2,4,6]
  input %1 "k" user : float32[1,2,2,6]
  input %2 "positions" position_ids : int64[1,2]
  %3 : float32[1,2,4,6] = pteron::rope(%0, %2, @inv)
  %4 : float32[1,2,2,6] = pteron::rope(%1, %2, @inv, interleaved=true)
  output %3 "y" user
  output %4 "z" user
}
)");
  ASSERT_NE(out.substr(0, 6), "error:") << out;
  EXPECT_EQ(count(out, "aten::cos.out"), 1);
  EXPECT_EQ(count(out, "start=2, end=6"), 2) << "the unrotated part of both: " << out;
  EXPECT_NE(out.find("float32[1,2,2,1,2]"), std::string::npos) << "pairs lie side by side where interleaved";
}

TEST(Legalize, NothingComposedRemains) {
  const std::string out = after("legalize", R"(const @e : float32[2,4] = values [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
const @d : float32[4,2] = values [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
method @m {
  input %0 "ids" token_ids : int64[1,3]
  input %1 "row" last_row : int64[1]
  %2 : float32[1,3,4] = pteron::embedding(@e, %0)
  %3 : float32[1,3,4] = pteron::gated_mlp(%2, @e, @e, @d, activation="silu")
  %4 : float32[1,3,4] = pteron::mlp(%3, @e, @d, activation="gelu_tanh")
  %5 : float32[1,1,4] = pteron::select_row(%4, %1)
  %6 : float32[1,1,2] = pteron::linear(%5, @e)
  %7 : float32[1,1,2] = pteron::softcap(%6, cap=30.0)
  %8 : float32[1,1,2] = pteron::activation(%7, kind="relu")
  output %8 "y" logits
}
)");
  ASSERT_NE(out.substr(0, 6), "error:") << out;
  EXPECT_EQ(out.find("pteron::"), std::string::npos) << out;
  EXPECT_NE(out.find("aten::gelu.out"), std::string::npos);
  EXPECT_NE(out.find("approximate=\"tanh\""), std::string::npos);
}

TEST(Legalize, AnUnknownActivationIsAnError) {
  const std::string out = after("legalize", R"(method @m {
  input %0 "x" user : float32[2]
  %1 : float32[2] = pteron::activation(%0, kind="mish")
  output %1 "y" user
}
)");
  EXPECT_NE(out.find("error: an activation has no core operators"), std::string::npos) << out;
}

}  // namespace
}  // namespace pteron::passes
