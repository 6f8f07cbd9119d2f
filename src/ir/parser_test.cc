#include "ir/parser.h"

#include <gtest/gtest.h>

#include "ir/printer.h"

namespace pteron::ir {
namespace {

constexpr const char* kText = R"(# a comment
const @w : float32[2] = values [1.0, 0.5]
const @"odd name" : int64[3] = values [1, -2, 3]
const @big : bfloat16[64,32] packing=int4 = sha256 "00ff"
const @scalar : float32[] = values [2.5]
method @decode {
  input %0 "ids" token_ids : int64[1,2]
  input %1 "mask" mask mask="full" : float32[1,1,2,4]
  input %2 "k" key_cache layer=0 : float32[1,1,4,2]
  input %3 "x" user : float32[1,2,1,2]
  input %4 "free" user : float32[s0<=8,2]
  %5 : float32[1,1,4,2] = pteron::cache_write(%2, %3, %0, ring=true)
  %6 : float32[1,2,2] = pteron::attention(%3, %5, %5, %1, none, scale=0.5)
  %7 : float32[1,2,2], %8 : float32[1,2,1], %9 : float32[1,2,1] = aten::native_layer_norm.out(%6, none, none, normalized_shape=[2], eps=1e-05)
  %10 : float32[1,2,2] = aten::mul.out(%7, @w)
  %11 : float32[s0<=8,2] = aten::gelu.out(%4, approximate="tanh")
  output %10 "y" logits
  output %11 "z" user
  output %5 "k_out" key_state layer=0 alias=2
}
)";

TEST(Parser, PrintsBackWithoutLoss) {
  auto module = parse(kText);
  ASSERT_TRUE(module.ok()) << module.status().message();
  auto text = print(*module);
  ASSERT_TRUE(text.ok()) << text.status().message();
  EXPECT_EQ(*text, std::string(kText).substr(std::string(kText).find('\n') + 1));
  auto again = parse(*text);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(*print(*again), *text);
}

TEST(Parser, ConstantsHaveTheirValues) {
  auto module = parse(kText);
  ASSERT_TRUE(module.ok());
  float values[3];
  ASSERT_TRUE(module->constants[1].source->read_rows_f32(0, 3, values).ok());
  EXPECT_EQ(values[1], -2);
  EXPECT_EQ(module->constants[2].packing, Packing::int4);
  EXPECT_FALSE(module->constants[2].source->stream([](ByteSpan) { return Status(); }).ok()) << "a digest has no contents";
}

TEST(Parser, ErrorsNameTheLine) {
  const auto line = [](const char* text) {
    const auto result = parse(text);
    return result.ok() ? std::string("ok") : result.status().detail().field;
  };
  EXPECT_EQ(line("method @m {\n  input %0 \"x\" user : float33[1]\n}"), "line 2");
  EXPECT_EQ(line("method @m {\n  %1 : float32[1] = aten::nothing(%0)\n}"), "line 2");
  EXPECT_EQ(line("method @m {\n  output %0 \"x\" user\n}"), "line 2");
  EXPECT_EQ(line("method @m {\n  input %0 \"x\" role : float32[1]\n}"), "line 2");
  EXPECT_EQ(line("method @m {\n  input %0 \"x\" user : float32[1]\n  input %0 \"y\" user : float32[1]\n}"), "line 3");
  EXPECT_EQ(line("const @c : float32[2] = values [1.0]\n"), "");
  EXPECT_EQ(line("const @c : float32[1] = values [1.0]\nconst @c : float32[1] = values [1.0]"), "line 2");
  EXPECT_EQ(line("const @c : float32[-1] = values []"), "line 1");
  EXPECT_EQ(line("method @m {"), "line 1");
  EXPECT_EQ(line("nonsense"), "line 1");
}

TEST(Parser, ResultsMustHaveTheInferredTypes) {
  const auto result = parse("method @m {\n  input %0 \"x\" user : float32[2]\n  %1 : float32[3] = aten::neg.out(%0)\n}");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().detail().expected, "float32[2]");
}

}  // namespace
}  // namespace pteron::ir
