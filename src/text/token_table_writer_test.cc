#include "text/token_table_writer.h"

#include "text/tokenizer_fixture.h"

namespace pteron::text {
namespace {

TokenizerContent with_tokens(std::initializer_list<const char*> texts) {
  TokenizerContent content;
  for (const char* text : texts) content.tokens.push_back({text, kTokenExists | kTokenInModel});
  return content;
}

TEST(TokenTableWriter, OfEqualMergesTheLastCounts) {
  TokenizerContent content = with_tokens({"a", "b", "ab"});
  content.merges = {{0, 1, 2}, {1, 0, 2}, {0, 1, 2}};
  const auto bytes = table_with(content);
  EXPECT_EQ(TokenTable::open(bytes)->merge(0, 1).rank, 2u);
}

TEST(TokenTableWriter, ManyTokensAndMergesAreFound) {
  TokenizerContent content;
  for (uint32_t i = 0; i < 5000; ++i) {
    content.tokens.push_back({"t" + std::to_string(i), kTokenExists | kTokenInModel});
    content.merges.push_back({i, (i * 7 + 3) % 5000, i});
  }
  const auto bytes = table_with(content);
  const auto table = TokenTable::open(bytes);
  for (uint32_t i = 0; i < 5000; ++i) {
    ASSERT_EQ(table->find("t" + std::to_string(i)), i);
    ASSERT_EQ(table->merge(i, (i * 7 + 3) % 5000).rank, i);
  }
}

TEST(TokenTableWriter, ByteIdsOfBothKindsOfVocabularies) {
  TokenizerContent fallback = with_tokens({"<0x41>", "<0xFF>"});
  fallback.model_flags = kByteFallback;
  const auto bytes = table_with(fallback);
  const auto table = TokenTable::open(bytes);
  EXPECT_EQ(table->byte_id(0x41), 0u);
  EXPECT_EQ(table->byte_id(0xff), 1u);
  EXPECT_EQ(table->byte_id(0x42), kNoId);
  TokenizerContent raw = with_tokens({"A", "\xc4\xa0"});
  raw.pre_tokenizer.push_back({static_cast<uint16_t>(PreTokenizerKind::byte_level), 0, 0, 0, {}, {}});
  const auto raw_bytes = table_with(raw);
  const auto raw_table = TokenTable::open(raw_bytes);
  EXPECT_TRUE(raw_table->has(kRawBytes));
  EXPECT_EQ(raw_table->byte_id(' '), 1u);
}

TEST(TokenTableWriter, NoBoundaryWhereSomethingMayVanishOrStandForOtherText) {
  const auto boundary = [](TokenizerContent content) {
    content.space_character = '_';
    const auto bytes = table_with(content);
    return TokenTable::open(bytes)->header().boundary;
  };
  TokenizerContent content = with_tokens({"a", "_", "_a", "?"});
  content.merges = {{1, 0, 2}};
  EXPECT_EQ(boundary(content), 0u);  // characters without a token vanish
  content.model_unk = 3;
  EXPECT_EQ(boundary(content), static_cast<uint32_t>('_'));
  content.merges.push_back({3, 0, 2});
  EXPECT_EQ(boundary(content), 0u);  // the unknown token merges
  content.merges.pop_back();
  content.model_flags = kIgnoreMerges;
  EXPECT_EQ(boundary(content), 0u);
}

TEST(TokenTableWriter, NormalizedAddedTokensAreKeptInTheirNormalForm) {
  TokenizerContent content = with_tokens({"a"});
  content.tokens.push_back({"ADDED", kTokenExists | kTokenAdded});
  content.added.push_back({1, 0, true, "ADDED"});
  content.normalizer.push_back({static_cast<uint16_t>(NormalizerKind::lowercase), 0, 0, 0, {}, {}});
  const auto bytes = table_with(content);
  const auto table = TokenTable::open(bytes);
  EXPECT_EQ(table->token(1), "added");
  EXPECT_EQ(table->trie(Section::added_normal_trie).longest("added!").size, 5u);
  EXPECT_TRUE(table->trie(Section::added_trie).empty());
}

TEST(TokenTableWriter, UnknownTextCostsTenMoreThanTheWorstToken) {
  TokenizerContent content = with_tokens({"a", "b"});
  content.model = ModelKind::unigram;
  content.scores = {-1.5, -4};
  const auto bytes = table_with(content);
  const auto table = TokenTable::open(bytes);
  EXPECT_EQ(table->header().unknown_score, -14.0);
  EXPECT_EQ(table->score(1), -4.0);
  EXPECT_EQ(table->trie(Section::model_trie).longest("b").value, 1);
}

}  // namespace
}  // namespace pteron::text
