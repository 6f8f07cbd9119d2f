#include "text/pre_tokenizer.h"

#include "text/tokenizer_fixture.h"

namespace pteron::text {
namespace {

ContentOp op(PreTokenizerKind kind, uint16_t flags = 0, std::string text = {}, uint32_t number = 0) {
  return {static_cast<uint16_t>(kind), flags, number, 0, std::move(text), {}};
}

class Pieces final : public PieceSink {
 public:
  Status piece(std::string_view text) override {
    joined += std::string(joined.empty() ? "" : "|") + std::string(text);
    return {};
  }
  std::string joined;
};

std::string cut(std::string_view text, std::vector<ContentOp> ops, bool from_start = true) {
  // A word-level model, so that no step is left out.
  const auto bytes = table_with({.model = ModelKind::word_level, .pre_tokenizer = std::move(ops)});
  const auto table = TokenTable::open(bytes);
  EXPECT_TRUE(table.ok());
  const auto pre_tokenizer = PreTokenizer::from_table(*table);
  EXPECT_TRUE(pre_tokenizer.ok()) << pre_tokenizer.status().message();
  Pieces pieces;
  StepBudget budget(text.size());
  EXPECT_TRUE(PreTokenizerRun(*pre_tokenizer, budget, pieces).cut(text, from_start).ok());
  return pieces.joined;
}

std::string split(std::string_view text, std::string pattern, SplitBehavior behavior, bool invert = false) {
  return cut(text, {op(PreTokenizerKind::split_pattern, invert ? kInvert : 0, std::move(pattern), static_cast<uint32_t>(behavior))});
}

TEST(PreTokenizer, SplitBehaviors) {
  EXPECT_EQ(split("the-final--countdown", "-", SplitBehavior::removed), "the|final|countdown");
  EXPECT_EQ(split("the-final--countdown", "-", SplitBehavior::isolated), "the|-|final|-|-|countdown");
  EXPECT_EQ(split("the-final--countdown", "-", SplitBehavior::merged_with_previous), "the-|final-|-|countdown");
  EXPECT_EQ(split("the-final--countdown", "-", SplitBehavior::merged_with_next), "the|-final|-|-countdown");
  EXPECT_EQ(split("the-final--countdown", "-", SplitBehavior::contiguous), "the|-|final|--|countdown");
  EXPECT_EQ(split("-a-", "-", SplitBehavior::merged_with_previous), "-|a-");
  EXPECT_EQ(split("-a-", "-", SplitBehavior::merged_with_next), "-a|-");
  EXPECT_EQ(split("ab12", "[a-z]+", SplitBehavior::removed, true), "ab");
  EXPECT_EQ(split("a1b", "[a-z]", SplitBehavior::merged_with_previous, true), "a1|b");
}

TEST(PreTokenizer, SplitByPlainText) {
  EXPECT_EQ(cut("a..b.", {op(PreTokenizerKind::split_text, 0, ".", static_cast<uint32_t>(SplitBehavior::removed))}), "a|b");
  EXPECT_EQ(cut("a..b.", {op(PreTokenizerKind::split_text, kInvert, ".", static_cast<uint32_t>(SplitBehavior::isolated))}), "a|.|.|b|.");
  EXPECT_EQ(cut("ab", {op(PreTokenizerKind::split_text, 0, "", 1)}), "ab");
}

TEST(PreTokenizer, Characters) {
  EXPECT_EQ(cut(" a \xe3\x80\x80" "b", {op(PreTokenizerKind::white_space_split)}), "a|b");
  EXPECT_EQ(cut("a12b", {op(PreTokenizerKind::digits)}), "a|12|b");
  EXPECT_EQ(cut("a12b", {op(PreTokenizerKind::digits, kIndividualDigits)}), "a|1|2|b");
  EXPECT_EQ(cut("a,b!", {op(PreTokenizerKind::punctuation, 0, "", static_cast<uint32_t>(SplitBehavior::isolated))}), "a|,|b|!");
  EXPECT_EQ(cut("axbx", {op(PreTokenizerKind::char_delimiter, 0, "x")}), "a|b");
  EXPECT_EQ(cut("a\xc3\xa9" "bcd", {op(PreTokenizerKind::fixed_length, 0, "", 2)}), "a\xc3\xa9|bc|d");
  EXPECT_EQ(cut("", {op(PreTokenizerKind::digits)}), "");
}

TEST(PreTokenizer, Metaspace) {
  const auto metaspace = [](uint16_t flags) { return op(PreTokenizerKind::metaspace, flags, "_"); };
  EXPECT_EQ(cut("a b", {metaspace(kPrependAlways | kSplitMetaspace)}), "_a|_b");
  EXPECT_EQ(cut(" a", {metaspace(kPrependAlways | kSplitMetaspace)}), "_a");
  EXPECT_EQ(cut("a  b", {metaspace(kSplitMetaspace)}), "a|_|_b");
  EXPECT_EQ(cut("a b", {metaspace(kPrependFirst)}), "_a_b");
  EXPECT_EQ(cut("a b", {metaspace(kPrependFirst)}, false), "a_b");
}

TEST(PreTokenizer, OnlyTheFirstPieceStandsAtTheStart) {
  EXPECT_EQ(cut("a b", {op(PreTokenizerKind::white_space_split), op(PreTokenizerKind::metaspace, kPrependFirst, "_")}), "_a|b");
}

TEST(PreTokenizer, ByteLevelMapsBytes) {
  EXPECT_EQ(cut("a\n", {op(PreTokenizerKind::prefix_space), op(PreTokenizerKind::byte_level)}), "\xc4\xa0" "a\xc4\x8a");
  EXPECT_EQ(cut(" a", {op(PreTokenizerKind::prefix_space)}), " a");
}

TEST(PreTokenizer, RawBytesNeedNoMapping) {
  const auto bytes = table_with({.model = ModelKind::bpe, .pre_tokenizer = {op(PreTokenizerKind::digits), op(PreTokenizerKind::byte_level)}});
  const auto table = TokenTable::open(bytes);
  ASSERT_TRUE(table->has(kRawBytes));
  const auto pre_tokenizer = PreTokenizer::from_table(*table);
  Pieces pieces;
  StepBudget budget(10);
  EXPECT_TRUE(PreTokenizerRun(*pre_tokenizer, budget, pieces).cut(" a1", true).ok());
  EXPECT_EQ(pieces.joined, " a|1");
}

TEST(PreTokenizer, BrokenStepsAreRefused) {
  const auto pattern = table_with({.pre_tokenizer = {op(PreTokenizerKind::split_pattern, 0, "(")}});
  EXPECT_FALSE(PreTokenizer::from_table(*TokenTable::open(pattern)).ok());
  const auto length = table_with({.pre_tokenizer = {op(PreTokenizerKind::fixed_length)}});
  EXPECT_FALSE(PreTokenizer::from_table(*TokenTable::open(length)).ok());
}

}  // namespace
}  // namespace pteron::text
