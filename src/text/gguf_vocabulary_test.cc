#include "text/tokenizer_fixture.h"

namespace pteron::text {
namespace {

GgufVocabulary gpt2() {
  GgufVocabulary v;
  v.model = "gpt2";
  v.pre = "smollm";
  v.tokens = {"<|end|>", "a", "b", "\xc4\xa0", "ab", "\xc4\xa0" "ab", "1", "<tool>"};
  v.token_types = {3, 1, 1, 1, 1, 1, 1, 4};
  v.merges = {"a b", "\xc4\xa0 ab"};
  v.bos_token_id = v.eos_token_id = 0;
  return v;
}

// A vocabulary with scores in place of merges, all byte tokens, and pieces of spaces stored as spaces.
GgufVocabulary sentence_piece() {
  GgufVocabulary v;
  v.model = "llama";
  const auto add = [&](std::string text, float score, int32_t type) {
    v.tokens.push_back(std::move(text));
    v.scores.push_back(score);
    v.token_types.push_back(type);
  };
  add("<unk>", -1000, 2);
  add("<s>", -1000, 3);
  add("</s>", -1000, 3);
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  for (size_t byte = 0; byte < 256; ++byte) add(std::string("<0x") + kDigits[byte / 16] + kDigits[byte % 16] + ">", 0, 6);
  add("  ", -1000, 4);
  add("\xe2\x96\x81", -6, 1);
  add("a", -5, 1);
  add("b", -5.5f, 1);
  add("ab", -2, 1);
  add("ba", -1, 1);
  add("\xe2\x96\x81" "ab", -3, 1);
  v.unknown_token_id = 0;
  v.bos_token_id = 1;
  v.eos_token_id = 2;
  return v;
}

TEST(GgufVocabulary, ByteLevel) {
  const TestTokenizer t = TestTokenizer::from(compile_gguf_vocabulary(gpt2()));
  EXPECT_EQ(t.ids("ab ab11<|end|>a<tool>"), (std::vector<TokenId>{4, 5, 6, 6, 0, 1, 7}));
  EXPECT_EQ(*t.tokenizer.decode(t.ids("ab ab11")), "ab ab11");
  EXPECT_TRUE(t.tokenizer.is_special(0));
  EXPECT_FALSE(t.tokenizer.is_special(7));
  EXPECT_EQ(t.tokenizer.eos_id(), 0);
  EXPECT_TRUE(t.tokenizer.prefix_ids().empty());
}

TEST(GgufVocabulary, ScoresBecomeMerges) {
  const TestTokenizer t = TestTokenizer::from(compile_gguf_vocabulary(sentence_piece()));
  EXPECT_EQ(t.pieces("ab"), std::vector<std::string>{"\xe2\x96\x81" "ab"});
  EXPECT_EQ(t.pieces("aba"), (std::vector<std::string>{"\xe2\x96\x81", "a", "ba"}));  // "ba" is better than "ab"
  EXPECT_EQ(t.ids("a", {.parse_special = true, .add_special = true})[0], 1);
  EXPECT_EQ(*t.tokenizer.decode(t.ids("ab  ba\n\xc3\xa9")), "ab  ba\n\xc3\xa9");
  EXPECT_EQ(t.pieces("\n"), (std::vector<std::string>{"\xe2\x96\x81", "<0x0A>"}));
}

TEST(GgufVocabulary, CanBeStopped) {
  const GoOn stop = [] { return Status::error(Code::cancelled, "enough"); };
  EXPECT_EQ(compile_gguf_vocabulary(sentence_piece(), stop).status().code(), Code::cancelled);
  size_t asked = 0;
  EXPECT_TRUE(compile_gguf_vocabulary(sentence_piece(), [&] { return ++asked, Status(); }).ok());
  EXPECT_GT(asked, 0u);
}

TEST(GgufVocabulary, UserDefinedPiecesComeFirstAndAreSpacesMarks) {
  GgufVocabulary v = sentence_piece();
  v.add_space_prefix = 0;
  const TestTokenizer t = TestTokenizer::from(compile_gguf_vocabulary(v));
  EXPECT_EQ(t.tokenizer.piece(259), "\xe2\x96\x81\xe2\x96\x81");
  EXPECT_EQ(t.ids("  ab"), (std::vector<TokenId>{259, 263}));
  EXPECT_EQ(*t.tokenizer.decode(t.ids("  ab")), "  ab");
  EXPECT_TRUE(t.tokenizer.is_added(259));
}

TEST(GgufVocabulary, Unigram) {
  GgufVocabulary v;
  v.model = "t5";
  v.tokens = {"<pad>", "</s>", "<unk>", "\xe2\x96\x81", "a", "\xe2\x96\x81" "a", "b"};
  v.scores = {0, 0, 0, -3, -3, -2, -4};
  v.token_types = {3, 3, 2, 1, 1, 1, 1};
  v.unknown_token_id = 2;
  v.eos_token_id = 1;
  const TestTokenizer t = TestTokenizer::from(compile_gguf_vocabulary(v));
  EXPECT_EQ(t.ids("  a   ab </s>", {.parse_special = false, .add_special = true}), (std::vector<TokenId>{5, 5, 6, 3, 2, 1}));
  EXPECT_EQ(*t.tokenizer.decode(t.ids("a ab")), "a ab");
}

TEST(GgufVocabulary, WordPiece) {
  GgufVocabulary v;
  v.model = "bert";
  v.tokens = {"[UNK]", "[CLS]", "[SEP]", "\xe2\x96\x81un", "able", "\xe2\x96\x81!"};
  v.token_types = {2, 3, 3, 1, 1, 1};
  v.unknown_token_id = 0;
  v.cls_token_id = 1;
  v.seperator_token_id = 2;
  const TestTokenizer t = TestTokenizer::from(compile_gguf_vocabulary(v));
  EXPECT_EQ(t.ids("Unable! x", {.parse_special = true, .add_special = true}), (std::vector<TokenId>{1, 3, 4, 5, 0, 2}));
  EXPECT_EQ(*t.tokenizer.decode(std::vector<TokenId>{3, 4, 5}), "unable!");
}

TEST(GgufVocabulary, ErrorsNameTheKey) {
  const auto expect = [](GgufVocabulary v, std::string_view field, Code code) {
    const auto result = compile_gguf_vocabulary(v);
    EXPECT_EQ(result.code(), code) << field;
    EXPECT_EQ(result.status().detail().field, "tokenizer.ggml." + std::string(field));
  };
  GgufVocabulary v = gpt2();
  v.model = "rwkv";
  expect(v, "model", Code::unsupported);
  v = gpt2();
  v.pre = "unheard-of";
  expect(v, "pre", Code::unsupported);
  EXPECT_EQ(compile_gguf_vocabulary(v).status().detail().found, "unheard-of");
  v = gpt2();
  v.tokens.clear();
  expect(v, "tokens", Code::invalid_data);
  v = gpt2();
  v.token_types.pop_back();
  expect(v, "token_type", Code::invalid_data);
  v = gpt2();
  v.token_types[2] = 9;
  expect(v, "token_type[2]", Code::invalid_data);
  v = gpt2();
  v.tokens[3] = "\xff";
  expect(v, "tokens[3]", Code::invalid_data);
  v = gpt2();
  v.merges[1] = "nospace";
  expect(v, "merges[1]", Code::invalid_data);
  v = gpt2();
  v.merges[0] = "a z";
  expect(v, "merges[0]", Code::invalid_data);
  v = gpt2();
  v.eos_token_id = 8;
  expect(v, "eos_token_id", Code::invalid_data);
  v = sentence_piece();
  v.scores.clear();
  expect(v, "scores", Code::invalid_data);
  v = sentence_piece();
  v.precompiled_charsmap = "xy";
  expect(v, "precompiled_charsmap", Code::invalid_data);
}

}  // namespace
}  // namespace pteron::text
