#include "text/word_piece.h"

#include "text/tokenizer_fixture.h"

namespace pteron::text {
namespace {

TestTokenizer word_piece(std::string_view more = "") {
  return TestTokenizer::from_json(R"({"pre_tokenizer": {"type": "WhitespaceSplit"}, "model": {"type": "WordPiece", "unk_token": "[UNK]",
      "vocab": {"[UNK]": 0, "un": 1, "##able": 2, "##a": 3, "able": 4, "u": 5})" + std::string(more) + "}}");
}

TEST(WordPiece, TakesTheLongestBeginning) {
  const auto t = word_piece();
  EXPECT_EQ(t.ids("unable able ua"), (std::vector<TokenId>{1, 2, 4, 5, 3}));
}

TEST(WordPiece, AWordIsKnownAsAWholeOrNotAtAll) {
  const auto t = word_piece();
  EXPECT_EQ(t.ids("unablx un"), (std::vector<TokenId>{0, 1}));
  EXPECT_EQ(t.ids("#able"), std::vector<TokenId>{0});
}

TEST(WordPiece, LongWordsAreUnknown) {
  const auto t = word_piece(R"(, "max_input_chars_per_word": 5)");
  EXPECT_EQ(t.ids("unable"), std::vector<TokenId>{0});
  EXPECT_EQ(t.ids("unaaa"), (std::vector<TokenId>{1, 3, 3, 3}));
}

TEST(WordPiece, AnotherPrefix) {
  const auto t = TestTokenizer::from_json(
      R"({"model": {"type": "WordPiece", "vocab": {"a": 0, "@b": 1}, "unk_token": "none", "continuing_subword_prefix": "@"}})");
  EXPECT_EQ(t.ids("ab"), (std::vector<TokenId>{0, 1}));
  EXPECT_TRUE(t.ids("ba").empty());
  EXPECT_EQ(*t.tokenizer.lost_bytes("ba"), 2u);
}

TEST(WordLevel, AWordIsATokenOrUnknown) {
  const auto t = TestTokenizer::from_json(
      R"({"pre_tokenizer": {"type": "Whitespace"}, "model": {"type": "WordLevel", "vocab": {"a": 0, "?": 1}, "unk_token": "?"}})");
  EXPECT_EQ(t.ids("a b a!"), (std::vector<TokenId>{0, 1, 0, 1}));
}

}  // namespace
}  // namespace pteron::text
