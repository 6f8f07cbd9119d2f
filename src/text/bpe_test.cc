#include "text/bpe.h"

#include <random>

#include "text/tokenizer_fixture.h"

namespace pteron::text {
namespace {

TestTokenizer bpe(std::string_view vocabulary, std::string_view merges, std::string_view more = "") {
  return TestTokenizer::from_json(R"({"model": {"type": "BPE", "vocab": )" + std::string(vocabulary) + R"(, "merges": )" + std::string(merges) +
                                  std::string(more) + "}}");
}

TEST(Bpe, MergesTheLowestRankFirstAndTheLeftmostOfEquals) {
  const auto t = bpe(R"({"a": 0, "b": 1, "ab": 2, "aa": 3, "aab": 4})", R"([["a", "a"], ["a", "b"], ["aa", "b"]])");
  EXPECT_EQ(t.pieces("aab"), std::vector<std::string>{"aab"});
  EXPECT_EQ(t.pieces("aaa"), (std::vector<std::string>{"aa", "a"}));
  EXPECT_EQ(t.pieces("bab"), (std::vector<std::string>{"b", "ab"}));
}

TEST(Bpe, LongWordsMergeLikeShortOnes) {
  // A word is the same with a queue as with plain search: cut a random text at a character that never merges.
  const auto t = bpe(R"({"a": 0, "b": 1, ".": 2, "ab": 3, "ba": 4, "aab": 5, "abab": 6, "bb": 7, "abba": 8})",
                     R"([["a", "b"], ["b", "b"], ["a", "ab"], ["b", "a"], ["ab", "ab"], ["ab", "ba"]])");
  std::minstd_rand random(3);
  for (int round = 0; round < 200; ++round) {
    std::string text;
    std::vector<TokenId> expected;
    for (int part = 0; part < 12; ++part) {
      std::string word(random() % 20, 'a');
      for (char& c : word) c = random() % 2 == 0 ? 'a' : 'b';
      word += '.';
      const auto ids = t.ids(word);
      expected.insert(expected.end(), ids.begin(), ids.end());
      text += word;
    }
    ASSERT_EQ(t.ids(text), expected) << text;
  }
}

TEST(Bpe, UnknownCharacters) {
  EXPECT_EQ(bpe(R"({"a": 0, "?": 1})", "[]", R"(, "unk_token": "?")").ids("axya"), (std::vector<TokenId>{0, 1, 1, 0}));
  EXPECT_EQ(bpe(R"({"a": 0, "?": 1})", "[]", R"(, "unk_token": "?", "fuse_unk": true)").ids("axya"), (std::vector<TokenId>{0, 1, 0}));
  EXPECT_EQ(bpe(R"({"a": 0, "?": 1})", "[]").ids("axya"), (std::vector<TokenId>{0, 0}));
}

TEST(Bpe, ByteFallback) {
  const auto t = bpe(R"({"?": 0, "<0xC3>": 1, "<0xA9>": 2})", "[]", R"(, "unk_token": "?", "byte_fallback": true)");
  EXPECT_EQ(t.ids("\xc3\xa9"), (std::vector<TokenId>{1, 2}));
  EXPECT_EQ(t.ids("\xc3\xaa"), std::vector<TokenId>{0});  // all bytes or none
}

TEST(Bpe, IgnoreMergesTakesWholeWords) {
  EXPECT_EQ(bpe(R"({"a": 0, "b": 1, "ab": 2})", "[]", R"(, "ignore_merges": true)").ids("ab"), std::vector<TokenId>{2});
  EXPECT_EQ(bpe(R"({"a": 0, "b": 1, "ab": 2})", "[]").ids("ab"), (std::vector<TokenId>{0, 1}));
}

TEST(Bpe, PrefixOfInnerCharactersAndSuffixOfTheLast) {
  const auto prefix = bpe(R"({"a": 0, "##b": 1, "ab": 2, "##a": 3})", R"([["a", "##b"]])", R"(, "continuing_subword_prefix": "##")");
  EXPECT_EQ(prefix.pieces("aba"), (std::vector<std::string>{"ab", "##a"}));
  const auto suffix = bpe(R"({"a": 0, "b": 1, "b</w>": 2, "ab</w>": 3, "a</w>": 4})", R"([["a", "b</w>"]])", R"(, "end_of_word_suffix": "</w>")");
  EXPECT_EQ(suffix.pieces("ab"), std::vector<std::string>{"ab</w>"});
  EXPECT_EQ(suffix.pieces("aba"), (std::vector<std::string>{"a", "b", "a</w>"}));
}

TEST(Bpe, CuttingAtSpacesChangesNothing) {
  const TestTokenizer t = TestTokenizer::from_data("spm_bpe_first");
  const auto table = TokenTable::open(*t.table);
  ASSERT_NE(table->header().boundary, 0u);
  // The same vocabulary with the cut switched off.
  auto uncut = *t.table;
  store_unaligned(uncut.data() + offsetof(TableHeader, boundary), uint32_t{0});
  const auto whole = Tokenizer::from_table(uncut);
  ASSERT_TRUE(whole.ok());
  std::minstd_rand random(6);
  constexpr std::string_view kParts[] = {" ", "the", "a", " th", "e", "  ", "\xc3\xa9", "\xe2\x96\x81", ".", "\n", "ing ", "0"};
  for (int round = 0; round < 500; ++round) {
    std::string text;
    for (size_t n = random() % 60; n > 0; --n) text += kParts[random() % std::size(kParts)];
    ASSERT_EQ(t.ids(text), *whole->encode(text, {.parse_special = true})) << text;
  }
}

}  // namespace
}  // namespace pteron::text
