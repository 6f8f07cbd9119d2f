#include "text/normalizer.h"

#include "text/tokenizer_fixture.h"

namespace pteron::text {
namespace {

ContentOp op(NormalizerKind kind, uint16_t flags = 0, std::string text = {}, std::string more = {}) {
  return {static_cast<uint16_t>(kind), flags, 0, 0, std::move(text), std::move(more)};
}

std::string normal(std::string text, std::vector<ContentOp> ops, bool* from_start = nullptr) {
  const auto table_bytes = table_with({.normalizer = std::move(ops)});
  const auto table = TokenTable::open(table_bytes);
  EXPECT_TRUE(table.ok()) << table.status().message();
  const auto normalizer = Normalizer::from_table(*table);
  EXPECT_TRUE(normalizer.ok()) << normalizer.status().message();
  NormalText out{std::move(text), true};
  StepBudget budget(out.text.size());
  EXPECT_TRUE(normalizer->apply(out, budget).ok());
  if (from_start != nullptr) *from_start = out.from_start;
  return out.text;
}

TEST(Normalizer, EachStep) {
  EXPECT_EQ(normal("e\xcc\x81", {op(NormalizerKind::nfc)}), "\xc3\xa9");
  EXPECT_EQ(normal("AB\xc3\x89", {op(NormalizerKind::lowercase)}), "ab\xc3\xa9");
  EXPECT_EQ(normal(" \xc2\xa0" "a ", {op(NormalizerKind::strip, kStripLeft | kStripRight)}), "a");
  EXPECT_EQ(normal(" a ", {op(NormalizerKind::strip, kStripRight)}), " a");
  EXPECT_EQ(normal("e\xcc\x81", {op(NormalizerKind::strip_accents)}), "e");
  EXPECT_EQ(normal("a b  c", {op(NormalizerKind::replace_text, 0, " ", "\xe2\x96\x81")}), "a\xe2\x96\x81" "b\xe2\x96\x81\xe2\x96\x81" "c");
  EXPECT_EQ(normal("a   b", {op(NormalizerKind::replace_pattern, 0, " {2,}", " ")}), "a b");
  EXPECT_EQ(normal("a", {op(NormalizerKind::prepend, 0, "_")}), "_a");
  EXPECT_EQ(normal("", {op(NormalizerKind::prepend, 0, "_")}), "");
  EXPECT_EQ(normal("a\tb\x01\xe2\x80\x8b" "c", {op(NormalizerKind::nmt)}), "a b c");
  EXPECT_EQ(normal(" \xc3\xa9", {op(NormalizerKind::byte_level)}), "\xc4\xa0\xc3\x83\xc2\xa9");
  EXPECT_EQ(normal("  a   b ", {op(NormalizerKind::collapse_spaces)}), "a b");
}

TEST(Normalizer, Bert) {
  const uint16_t all = kCleanText | kChineseChars | kStripAccents | kLowercase;
  EXPECT_EQ(normal("A\tB\x01\x7f" "C", {op(NormalizerKind::bert, all)}), "a bc");
  EXPECT_EQ(normal("\xc3\x89\xe4\xb8\x80" "A\x01", {op(NormalizerKind::bert, all)}), "e \xe4\xb8\x80 a");
  EXPECT_EQ(normal("\xc3\x89", {op(NormalizerKind::bert, kLowercase)}), "\xc3\xa9");
  EXPECT_EQ(normal("A\x01", {op(NormalizerKind::bert, 0)}), "A\x01");
}

TEST(Normalizer, StepsWorkOneAfterTheOther) {
  EXPECT_EQ(normal("\xef\xac\x81  X", {op(NormalizerKind::nfkc), op(NormalizerKind::replace_pattern, 0, " +", "-"), op(NormalizerKind::lowercase)}), "fi-x");
}

TEST(Normalizer, KnowsWhetherTheTextStillBeginsAtTheStart) {
  const auto starts = [](std::string text, ContentOp step) {
    bool from_start = false;
    normal(std::move(text), {std::move(step)}, &from_start);
    return from_start;
  };
  EXPECT_TRUE(starts("a", op(NormalizerKind::strip, kStripLeft)));
  EXPECT_FALSE(starts(" a", op(NormalizerKind::strip, kStripLeft)));
  EXPECT_FALSE(starts("\x01" "a", op(NormalizerKind::nmt)));
  EXPECT_FALSE(starts("\x01" "a", op(NormalizerKind::bert, kCleanText)));
  EXPECT_TRUE(starts("a\x01", op(NormalizerKind::bert, kCleanText)));
  EXPECT_TRUE(starts(" a", op(NormalizerKind::replace_text, 0, " ", "_")));
  EXPECT_FALSE(starts(" a", op(NormalizerKind::replace_text, 0, " ", "")));
  EXPECT_FALSE(starts("  a", op(NormalizerKind::replace_pattern, 0, " +", "_")));
}

TEST(Normalizer, BrokenStepsAreRefused) {
  const auto pattern = table_with({.normalizer = {op(NormalizerKind::replace_pattern, 0, "(", "")}});
  EXPECT_FALSE(Normalizer::from_table(*TokenTable::open(pattern)).ok());
  const auto map = table_with({.normalizer = {op(NormalizerKind::charsmap, 0, "abc")}});
  EXPECT_FALSE(Normalizer::from_table(*TokenTable::open(map)).ok());
}

TEST(Normalizer, GrowthIsBounded) {
  std::string text(100, 'a');
  const std::vector<ContentOp> ops(8, op(NormalizerKind::replace_text, 0, "a", std::string(64, 'a')));
  EXPECT_EQ(normalize_with(ops, text).code(), Code::out_of_capacity);
}

TEST(Normalizer, WorksWithoutATable) {
  std::string text = "A b";
  EXPECT_TRUE(normalize_with({op(NormalizerKind::lowercase), op(NormalizerKind::replace_text, 0, " ", "_")}, text).ok());
  EXPECT_EQ(text, "a_b");
  EXPECT_TRUE(normalize_with({}, text).ok());
}

}  // namespace
}  // namespace pteron::text
