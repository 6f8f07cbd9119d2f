#include "text/unicode.h"

#include <gtest/gtest.h>

#include "text/newer_characters.h"

namespace pteron::text {
namespace {

std::string normal(std::string_view text, NormalForm form) {
  std::string out;
  EXPECT_TRUE(append_normalized(out, text, form));
  return out;
}

std::string lossy(std::string_view bytes) {
  std::string out;
  append_lossy_utf8(out, bytes);
  return out;
}

TEST(Unicode, EveryCharacterSurvivesUtf8) {
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (c >= 0xd800 && c < 0xe000) continue;
    std::string text;
    append_utf8(text, c);
    const Utf8Char back = utf8_at(text, 0);
    ASSERT_EQ(back.code, c);
    ASSERT_EQ(back.size, text.size());
    ASSERT_TRUE(back.valid);
    ASSERT_EQ(utf8_length(static_cast<unsigned char>(text[0])), text.size());
    ASSERT_EQ(utf8_before(text, text.size()).code, c);
  }
}

TEST(Unicode, FindsTheFirstInvalidByte) {
  EXPECT_EQ(find_invalid_utf8(""), std::nullopt);
  EXPECT_EQ(find_invalid_utf8("plain text that is longer than a word"), std::nullopt);
  EXPECT_EQ(find_invalid_utf8("\xf0\x9f\xa6\x9c\xe2\x96\x81\xc3\xa9"), std::nullopt);
  EXPECT_EQ(find_invalid_utf8("0123456789\x80"), 10u);
  EXPECT_EQ(find_invalid_utf8("a\xc0\xaf"), 1u);          // overlong
  EXPECT_EQ(find_invalid_utf8("\xed\xa0\x80"), 0u);       // surrogate
  EXPECT_EQ(find_invalid_utf8("\xf4\x90\x80\x80"), 0u);   // above U+10FFFF
  EXPECT_EQ(find_invalid_utf8("ab\xe2\x96"), 2u);         // cut off
}

TEST(Unicode, ReplacesMaximalInvalidParts) {
  EXPECT_EQ(lossy("a\xe2\x96z"), "a\xef\xbf\xbdz");
  EXPECT_EQ(lossy("\xf0\x9f\xa6"), "\xef\xbf\xbd");
  EXPECT_EQ(lossy("\xff\xfe"), "\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(lossy("\xe0\x80\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(lossy("\xc3\xa9"), "\xc3\xa9");
}

TEST(Unicode, KnowsWhatMayStillBeCompleted) {
  EXPECT_EQ(open_utf8_tail(""), 0u);
  EXPECT_EQ(open_utf8_tail("abc"), 0u);
  EXPECT_EQ(open_utf8_tail("a\xf0\x9f"), 2u);
  EXPECT_EQ(open_utf8_tail("a\xf0\x9f\xa6"), 3u);
  EXPECT_EQ(open_utf8_tail("a\xf0\x9f\xa6\x9c"), 0u);
  EXPECT_EQ(open_utf8_tail("\xe0\x80"), 0u);  // can never become a character
  EXPECT_EQ(open_utf8_tail("\x80\x80"), 0u);
}

TEST(Unicode, Classes) {
  for (const char32_t c : {U' ', U'\n', U'\x85', U'\xa0', U'\u2028', U'\u3000'}) EXPECT_TRUE(is_white_space(c));
  for (const char32_t c : {U'a', U'\u200b', U'\u180e', U'\ufeff'}) EXPECT_FALSE(is_white_space(c));
  for (const char32_t c : {U'0', U'\u0663', U'\u00bd', U'\u2167', U'\u2460'}) EXPECT_TRUE(is_number(c));
  EXPECT_FALSE(is_number(U'a'));
  for (const char32_t c : {U'!', U'$', U'~', U'_', U'\u2026', U'\u3002'}) EXPECT_TRUE(is_punctuation(c));
  for (const char32_t c : {U'a', U' ', U'\u20ac', U'\u2e4f'}) EXPECT_FALSE(is_punctuation(c));  // the last one is too new
  for (const char32_t c : {U'\0', U'\x7f', U'\u200b', U'\ue000'}) EXPECT_TRUE(is_control(c));
  EXPECT_TRUE(is_nonspacing_mark(U'\u0301'));
  EXPECT_FALSE(is_nonspacing_mark(U'\u093f'));
  EXPECT_TRUE(is_mark(U'\u093f'));
  for (const char32_t c : {U'a', U'_', U'7', U'\u0301', U'\u200d', U'\u4e00'}) EXPECT_TRUE(is_word(c));
  for (const char32_t c : {U'-', U' ', U'\u00bd'}) EXPECT_FALSE(is_word(c));
  EXPECT_TRUE(is_cjk_ideograph(U'\u4e00'));
  EXPECT_FALSE(is_cjk_ideograph(U'\u3042'));
}

TEST(Unicode, TablesOfNewerCharactersAreSorted) {
  const auto check = [](const auto& table) {
    for (size_t i = 0; i < table.size(); ++i) {
      EXPECT_LE(table[i].first, table[i].last);
      if (i > 0) {
        EXPECT_LT(table[i - 1].last, table[i].first);
      }
      EXPECT_TRUE(in_ranges(table, table[i].first));
      EXPECT_TRUE(in_ranges(table, table[i].last));
      EXPECT_EQ(in_ranges(table, table[i].last + 1), i + 1 < table.size() && table[i + 1].first == table[i].last + 1);
    }
    EXPECT_FALSE(in_ranges(table, 0));
    EXPECT_FALSE(in_ranges(table, 0x10ffff));
  };
  check(kNewerPunctuation);
  check(kNewerMarks);
  check(kNewerNonspacingMarks);
  check(kNewerFormats);
  check(kNewerDecompositions);
}

TEST(Unicode, NormalForms) {
  EXPECT_EQ(normal("e\xcc\x81", NormalForm::nfc), "\xc3\xa9");
  EXPECT_EQ(normal("\xc3\xa9", NormalForm::nfd), "e\xcc\x81");
  EXPECT_EQ(normal("\xef\xac\x81", NormalForm::nfc), "\xef\xac\x81");
  EXPECT_EQ(normal("\xef\xac\x81", NormalForm::nfkc), "fi");
  EXPECT_EQ(normal("\xed\x95\x9c", NormalForm::nfd), "\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab");
  EXPECT_EQ(normal("\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab", NormalForm::nfkc), "\xed\x95\x9c");
  EXPECT_EQ(normal("a\xcc\x81\xcc\xa3", NormalForm::nfd), "a\xcc\xa3\xcc\x81");  // below comes before above
  EXPECT_EQ(normal("\xe3\x8b\xbf", NormalForm::nfkc), "\xe3\x8b\xbf");           // too new to be taken apart
  EXPECT_EQ(normal("", NormalForm::nfkd), "");
}

TEST(Unicode, LowercaseIsByCharacter) {
  const auto lower = [](char32_t c) {
    std::string out;
    append_lowercase(out, c);
    return out;
  };
  EXPECT_EQ(lower(U'A'), "a");
  EXPECT_EQ(lower(U'\u03a3'), "\xcf\x83");
  EXPECT_EQ(lower(U'\u0130'), "i\xcc\x87");
  EXPECT_EQ(lower(U'\u00df'), "\xc3\x9f");
}

TEST(Unicode, GraphemeClustersAndCounts) {
  EXPECT_EQ(grapheme_length("e\xcc\x81x", 0), 3u);
  EXPECT_EQ(grapheme_length("\r\nx", 0), 2u);
  EXPECT_EQ(grapheme_length("ab", 1), 1u);
  EXPECT_EQ(grapheme_length("\xf0\x9f\x87\xa9\xf0\x9f\x87\xaa\xf0\x9f\x87\xa9", 0), 8u);  // a flag is two letters
  EXPECT_EQ(count_characters("a\xc3\xa9\xf0\x9f\xa6\x9c"), 3u);
}

}  // namespace
}  // namespace pteron::text
