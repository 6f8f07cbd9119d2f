#include "text/decoder.h"

#include "text/tokenizer_fixture.h"

namespace pteron::text {
namespace {

ContentOp op(DecoderKind kind, uint16_t flags = 0, std::string text = {}, std::string more = {}, uint32_t number = 0, uint32_t number2 = 0) {
  return {static_cast<uint16_t>(kind), flags, number, number2, std::move(text), std::move(more)};
}

// What each push and the flush give, joined with "|".
std::string chunks(const std::vector<std::string>& tokens, std::vector<ContentOp> ops, uint32_t model_flags = 0) {
  const auto bytes = table_with({.model_flags = model_flags, .decoder = std::move(ops)});
  const auto table = TokenTable::open(bytes);
  EXPECT_TRUE(table.ok()) << table.status().message();
  const auto decoder = Decoder::from_table(*table);
  EXPECT_TRUE(decoder.ok()) << decoder.status().message();
  DecoderRun run(*decoder);
  std::string out;
  for (const std::string& token : tokens) {
    run.push(token, out);
    out += '|';
  }
  run.flush(out);
  return out;
}

const ContentOp kFuse = op(DecoderKind::fuse);

TEST(Decoder, ByteLevelHoldsOpenCharacters) {
  const auto byte_level = op(DecoderKind::byte_level);
  EXPECT_EQ(chunks({"\xc4\xa0" "a", "\xc3\x83", "\xc2\xa9"}, {byte_level}), " a||\xc3\xa9|");
  EXPECT_EQ(chunks({"\xc3\x83", "a"}, {byte_level}), "|\xef\xbf\xbd" "a|");
  EXPECT_EQ(chunks({"\xc3\x83"}, {byte_level}), "|\xef\xbf\xbd");
  EXPECT_EQ(chunks({"<|x \xe2\x96\x81|>"}, {byte_level}), "<|x \xe2\x96\x81|>|");  // not of the alphabet: itself
}

TEST(Decoder, ARunOfByteTokensIsTextAsAWholeOrNotAtAll) {
  const auto fallback = op(DecoderKind::byte_fallback);
  EXPECT_EQ(chunks({"<0xC3>", "<0xA9>", "x"}, {fallback}), "||\xc3\xa9x|");
  EXPECT_EQ(chunks({"<0xC3>", "<0xA9>", "<0xFF>"}, {fallback}), "|||\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(chunks({"<0xZZ>", "<0x1>"}, {fallback}), "<0xZZ>|<0x1>|");
}

TEST(Decoder, Metaspace) {
  EXPECT_EQ(chunks({"_a", "_b_"}, {op(DecoderKind::metaspace, kPrependAlways, "_")}), "a| b |");
  EXPECT_EQ(chunks({"_a", "_b"}, {op(DecoderKind::metaspace, 0, "_")}), " a| b|");
}

TEST(Decoder, StripWorksByTokenAndOnFusedText) {
  EXPECT_EQ(chunks({" a ", " b"}, {op(DecoderKind::strip, 0, " ", "", 1, 1)}), "a|b|");
  EXPECT_EQ(chunks({" ", " a", " ", " ", "b", " "}, {kFuse, op(DecoderKind::strip, 0, " ", "", 1, 0)}), "| a| | |b| |");
  EXPECT_EQ(chunks({"a", " ", " ", "b", " "}, {kFuse, op(DecoderKind::strip, 0, " ", "", 0, 1)}), "a|| | b||");
}

TEST(Decoder, ReplaceAcrossTheTokensOfFusedText) {
  EXPECT_EQ(chunks({"a_b"}, {op(DecoderKind::replace_text, 0, "_", " ")}), "a b|");
  EXPECT_EQ(chunks({"xa", "by", "a", "c", "a"}, {kFuse, op(DecoderKind::replace_text, 0, "ab", "Q")}), "x|Qy||ac||a");
  EXPECT_EQ(chunks({"aa", "b"}, {op(DecoderKind::replace_pattern, 0, "a+", "-")}), "-|b|");
  EXPECT_EQ(chunks({"aa", "ab"}, {kFuse, op(DecoderKind::replace_pattern, 0, "a+", "-")}), "||-b");  // only the whole can tell
}

TEST(Decoder, WordPiece) {
  EXPECT_EQ(chunks({"un", "##able", "to", "."}, {op(DecoderKind::word_piece, kCleanup, "##")}), "un|able| to|.|");
  EXPECT_EQ(chunks({"a", "."}, {op(DecoderKind::word_piece, 0, "##")}), "a| .|");
  EXPECT_EQ(chunks({"##a"}, {op(DecoderKind::word_piece, 0, "##")}), "##a|");
}

TEST(Decoder, SuffixesBecomeSpacesButTheLast) {
  EXPECT_EQ(chunks({"he", "llo</w>", "you</w>"}, {op(DecoderKind::bpe_suffix, 0, "</w>")}), "|he|llo |you");
  EXPECT_EQ(chunks({}, {op(DecoderKind::bpe_suffix, 0, "</w>")}), "");
}

TEST(Decoder, Ctc) {
  EXPECT_EQ(chunks({"h", "h", "<pad>", "h", "|", "i", "i"}, {op(DecoderKind::ctc, kCleanup, "<pad>", "|")}), "h|||h| |i||");
}

TEST(Decoder, WithoutADecoderTokensAreWords) { EXPECT_EQ(chunks({"a", "b"}, {}, kJoinWithSpaces), "a| b|"); }

TEST(Decoder, ARunIsAsNewAfterItsFlush) {
  const auto bytes = table_with({.decoder = {op(DecoderKind::byte_level), op(DecoderKind::strip, 0, " ", "", 1, 0)}});
  const auto table = TokenTable::open(bytes);
  const auto decoder = Decoder::from_table(*table);
  DecoderRun run(*decoder);
  for (int i = 0; i < 2; ++i) {
    std::string out;
    run.push("\xc4\xa0" "a", out);
    run.push("\xc3\x83", out);
    run.flush(out);
    EXPECT_EQ(out, "a\xef\xbf\xbd");
  }
}

TEST(Decoder, KnowsThatACharacterIsOpen) {
  const auto bytes = table_with({.decoder = {op(DecoderKind::byte_level)}});
  const auto table = TokenTable::open(bytes);
  const auto decoder = Decoder::from_table(*table);
  DecoderRun run(*decoder);
  std::string out;
  run.push("\xc4\xa0\xc3\x83", out);
  EXPECT_EQ(out, " ");
  EXPECT_TRUE(run.inside_character());
  run.push("\xc2\xa9", out);
  EXPECT_FALSE(run.inside_character());
}

TEST(Decoder, BytesOfATokenWithinAText) {
  const auto bytes = table_with({.decoder = {op(DecoderKind::replace_text, 0, "_", " "), op(DecoderKind::byte_fallback), kFuse}});
  const auto decoder = Decoder::from_table(*TokenTable::open(bytes));
  EXPECT_EQ(decoder->token_bytes("_a"), " a");
  EXPECT_EQ(decoder->token_bytes("<0xE2>"), "\xe2");
}

TEST(Decoder, GrowthIsBounded) {
  std::vector<ContentOp> ops(10, op(DecoderKind::replace_text, 0, "a", std::string(1000, 'a')));
  EXPECT_EQ(chunks({"a"}, std::move(ops)).size(), 1000000u + 1);  // two steps are done
}

TEST(Decoder, BrokenPatternsAreRefused) {
  const auto bytes = table_with({.decoder = {op(DecoderKind::replace_pattern, 0, "(", "")}});
  EXPECT_FALSE(Decoder::from_table(*TokenTable::open(bytes)).ok());
}

}  // namespace
}  // namespace pteron::text
