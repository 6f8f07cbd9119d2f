#include "text/unigram.h"

#include "text/tokenizer_fixture.h"

namespace pteron::text {
namespace {

TestTokenizer unigram(std::string_view vocabulary, std::string_view more = R"(, "unk_id": 0)") {
  return TestTokenizer::from_json(R"({"model": {"type": "Unigram", "vocab": )" + std::string(vocabulary) + std::string(more) + "}}");
}

TEST(Unigram, TakesTheBestSumOfScores) {
  const auto t = unigram(R"([["?", 0], ["a", -1], ["b", -1], ["ab", -1.5], ["abc", -9], ["c", -2]])");
  EXPECT_EQ(t.pieces("ab"), std::vector<std::string>{"ab"});
  EXPECT_EQ(t.pieces("abc"), (std::vector<std::string>{"ab", "c"}));
  EXPECT_EQ(t.pieces("ba"), (std::vector<std::string>{"b", "a"}));
}

TEST(Unigram, NeighbouringUnknownCharactersAreOne) {
  const auto t = unigram(R"([["?", 0], ["a", -1]])");
  EXPECT_EQ(t.ids("axya\xc3\xa9"), (std::vector<TokenId>{1, 0, 1, 0}));
}

TEST(Unigram, ByteFallback) {
  const auto t = unigram(R"([["?", 0], ["a", -1], ["<0xC3>", -1], ["<0xA9>", -1]])", R"(, "unk_id": 0, "byte_fallback": true)");
  EXPECT_EQ(t.ids("a\xc3\xa9"), (std::vector<TokenId>{1, 2, 3}));
  EXPECT_EQ(t.ids("ax"), (std::vector<TokenId>{1, 0}));
}

TEST(Unigram, WithoutAnUnknownTokenTextIsLost) {
  const auto t = unigram(R"([["a", -1]])", "");
  EXPECT_EQ(t.ids("axa"), (std::vector<TokenId>{0, 0}));
  EXPECT_EQ(*t.tokenizer.lost_bytes("axa"), 1u);
}

TEST(Unigram, OfEqualTokensTheLastCounts) { EXPECT_EQ(unigram(R"([["?", 0], ["a", -1], ["a", -2]])").ids("a"), std::vector<TokenId>{2}); }

TEST(Unigram, ABrokenTrieIsAnErrorOrNothing) {
  const auto t = unigram(R"([["?", 0], ["a", -1]])");
  auto bytes = *t.table;
  const auto header = load_unaligned<TableHeader>(bytes.data());
  const SectionRange trie = header.sections[static_cast<size_t>(Section::model_trie)];
  for (uint64_t i = trie.offset; i < trie.offset + trie.size; ++i) bytes[i] = std::byte{0x41};
  const auto broken = Tokenizer::from_table(bytes);
  ASSERT_TRUE(broken.ok());
  (void)broken->encode("aaaa");
}

}  // namespace
}  // namespace pteron::text
