#include "text/tokenizer_steps.h"

#include <gtest/gtest.h>

namespace pteron::text {
namespace {

class TokenizerSteps : public testing::Test {
 protected:
  JsonNode parse(const std::string& text) {
    simdjson::dom::element root;
    EXPECT_EQ(parser_.parse(text).get(root), simdjson::SUCCESS) << text;
    return JsonNode(root, "it");
  }
  simdjson::dom::parser parser_;
};

TEST_F(TokenizerSteps, SequencesAreFlat) {
  std::vector<ContentOp> ops;
  ASSERT_TRUE(append_normalizer(parse(R"({"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Sequence", "normalizers": [
      {"type": "Lowercase"}, {"type": "Replace", "pattern": {"String": "a"}, "content": "b"}]}]})"), ops).ok());
  ASSERT_EQ(ops.size(), 3u);
  EXPECT_EQ(ops[0].kind, static_cast<uint16_t>(NormalizerKind::nfc));
  EXPECT_EQ(ops[2].kind, static_cast<uint16_t>(NormalizerKind::replace_text));
  EXPECT_EQ(ops[2].text + ops[2].more, "ab");
}

TEST_F(TokenizerSteps, SequencesEndSomewhere) {
  std::string text = R"({"type": "NFC"})";
  for (int i = 0; i < 20; ++i) text = R"({"type": "Sequence", "normalizers": [)" + text + "]}";
  std::vector<ContentOp> ops;
  EXPECT_EQ(append_normalizer(parse(text), ops).code(), Code::unsupported);
}

TEST_F(TokenizerSteps, ByteLevelIsUpToThreeSteps) {
  std::vector<ContentOp> ops;
  ASSERT_TRUE(append_pre_tokenizer(parse(R"({"type": "ByteLevel"})"), ops).ok());
  ASSERT_EQ(ops.size(), 3u);
  EXPECT_EQ(ops[0].kind, static_cast<uint16_t>(PreTokenizerKind::prefix_space));
  EXPECT_EQ(ops[1].kind, static_cast<uint16_t>(PreTokenizerKind::split_pattern));
  EXPECT_EQ(ops[2].kind, static_cast<uint16_t>(PreTokenizerKind::byte_level));
  ops.clear();
  ASSERT_TRUE(append_pre_tokenizer(parse(R"({"type": "ByteLevel", "add_prefix_space": false, "use_regex": false})"), ops).ok());
  EXPECT_EQ(ops.size(), 1u);
}

TEST_F(TokenizerSteps, MetaspaceOldAndNew) {
  const auto flags = [&](const std::string& members) {
    std::vector<ContentOp> ops;
    EXPECT_TRUE(append_pre_tokenizer(parse(R"({"type": "Metaspace", "replacement": "_")" + members + "}"), ops).ok());
    return ops.empty() ? 0 : ops[0].flags;
  };
  EXPECT_EQ(flags(""), kPrependAlways | kSplitMetaspace);
  EXPECT_EQ(flags(R"(, "add_prefix_space": false)"), kSplitMetaspace);
  EXPECT_EQ(flags(R"(, "prepend_scheme": "first", "split": false)"), kPrependFirst);
}

TEST_F(TokenizerSteps, ErrorsNameTheMember) {
  std::vector<ContentOp> ops;
  const auto field = [](const Status& status) { return status.detail().field; };
  EXPECT_EQ(field(append_normalizer(parse(R"({"type": "Replace", "pattern": {"Regex": "("}, "content": ""})"), ops)), "it.pattern.Regex");
  EXPECT_EQ(field(append_normalizer(parse(R"({"type": "Precompiled", "precompiled_charsmap": "!!"})"), ops)), "it.precompiled_charsmap");
  EXPECT_EQ(field(append_normalizer(parse(R"({})"), ops)), "it.type");
  EXPECT_EQ(field(append_pre_tokenizer(parse(R"({"type": "Split", "pattern": {"String": "a"}, "behavior": "Sideways"})"), ops)), "it.behavior");
  EXPECT_EQ(field(append_pre_tokenizer(parse(R"({"type": "Split", "pattern": {}})"), ops)), "it.pattern");
  EXPECT_EQ(field(append_pre_tokenizer(parse(R"({"type": "Metaspace", "replacement": "ab"})"), ops)), "it.replacement");
  EXPECT_EQ(field(append_pre_tokenizer(parse(R"({"type": "Metaspace", "replacement": "a", "prepend_scheme": "x"})"), ops)), "it.prepend_scheme");
  EXPECT_EQ(field(append_pre_tokenizer(parse(R"({"type": "FixedLength", "length": 0})"), ops)), "it.length");
  EXPECT_EQ(field(append_decoder(parse(R"({"type": "Strip", "content": "", "start": 1})"), ops)), "it.content");
}

TEST_F(TokenizerSteps, DecoderDefaults) {
  std::vector<ContentOp> ops;
  ASSERT_TRUE(append_decoder(parse(R"({"type": "Sequence", "decoders": [{"type": "WordPiece"}, {"type": "BPEDecoder"}, {"type": "CTC"},
      {"type": "Strip", "content": "x", "start": 2, "stop": 3}]})"), ops).ok());
  ASSERT_EQ(ops.size(), 4u);
  EXPECT_EQ(ops[0].text, "##");
  EXPECT_EQ(ops[1].text, "</w>");
  EXPECT_EQ(ops[2].text + ops[2].more, "<pad>|");
  EXPECT_EQ(ops[3].number, 2u);
  EXPECT_EQ(ops[3].number2, 3u);
}

TEST_F(TokenizerSteps, PostProcessorsNest) {
  std::vector<uint32_t> prefix, suffix;
  ASSERT_TRUE(append_post_processor(parse(R"({"type": "Sequence", "processors": [{"type": "ByteLevel"},
      {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "B"}}, {"Sequence": {"id": "A"}}],
       "special_tokens": {"B": {"ids": [5, 6]}}},
      {"type": "BertProcessing", "cls": ["[CLS]", 1], "sep": ["[SEP]", 2]}]})"), prefix, suffix).ok());
  EXPECT_EQ(prefix, (std::vector<uint32_t>{1, 5, 6}));
  EXPECT_EQ(suffix, std::vector<uint32_t>{2});
}

TEST_F(TokenizerSteps, TemplatesMustHaveTheTextOnce) {
  std::vector<uint32_t> prefix, suffix;
  EXPECT_FALSE(append_post_processor(parse(R"({"type": "TemplateProcessing", "single": [], "special_tokens": {}})"), prefix, suffix).ok());
  EXPECT_FALSE(append_post_processor(parse(R"({"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A"}}, {"Sequence": {"id": "A"}}]})"), prefix,
                                     suffix).ok());
  EXPECT_FALSE(append_post_processor(parse(R"({"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "X"}}, {"Sequence": {"id": "A"}}],
      "special_tokens": {}})"), prefix, suffix).ok());
}

}  // namespace
}  // namespace pteron::text
