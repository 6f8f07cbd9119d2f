#include "text/tokenizer_compile.h"

#include <nlohmann/json.hpp>

#include "text/tokenizer_fixture.h"

namespace pteron::text {
namespace {

using nlohmann::json;
using testing::Test;

json small() {
  return json::parse(R"({
    "added_tokens": [{"id": 3, "content": "<s>", "special": true}],
    "normalizer": null, "pre_tokenizer": null, "post_processor": null, "decoder": {"type": "Fuse"},
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]]}})");
}

// The error for a document that was changed at one place.
Status error_of(std::string_view pointer, const json& value) {
  json document = small();
  document[json::json_pointer(std::string(pointer))] = value;
  return compile_tokenizer_json(document.dump()).status();
}

TEST(CompileTokenizer, SameBytesForTheSameFile) {
  const auto a = compile_tokenizer_json(small().dump()), b = compile_tokenizer_json(small().dump());
  ASSERT_TRUE(a.ok());
  EXPECT_EQ(*a, *b);
}

TEST(CompileTokenizer, CanBeStopped) {
  const GoOn stop = [] { return Status::error(Code::cancelled, "enough"); };
  EXPECT_EQ(compile_tokenizer_json(small().dump(), {}, stop).status().code(), Code::cancelled);
}

TEST(CompileTokenizer, NamesWhatIsWrongByItsPath) {
  const auto expect = [](std::string_view pointer, const json& value, std::string_view field, std::string_view found, Code code) {
    const Status status = error_of(pointer, value);
    EXPECT_EQ(status.code(), code) << status.message();
    EXPECT_EQ(status.detail().field, field) << status.message();
    EXPECT_EQ(status.detail().found, found) << status.message();
  };
  expect("/normalizer", {{"type", "Magic"}}, "normalizer.type", "\"Magic\"", Code::unsupported);
  expect("/pre_tokenizer", json::parse(R"({"type": "Sequence", "pretokenizers": [{"type": "Digits"}, {"type": "UnicodeScripts"}]})"),
         "pre_tokenizer.pretokenizers[1].type", "\"UnicodeScripts\"", Code::unsupported);
  expect("/decoder", {{"type", 5}}, "decoder.type", "5", Code::invalid_data);
  expect("/model/type", "Neural", "model.type", "\"Neural\"", Code::unsupported);
  expect("/model/dropout", 0.1, "model.dropout", "0.1", Code::unsupported);
  expect("/model/vocab", json::array(), "model.vocab", "a list", Code::invalid_data);
  expect("/model/vocab/c", -1, "model.vocab.c", "-1", Code::invalid_data);
  expect("/model/vocab/c", 4000000000u, "model.vocab.c", "4000000000", Code::invalid_data);
  expect("/model/vocab/c", 2, "model.vocab", "ab and c", Code::invalid_data);
  expect("/model/merges/0", json::array({"a", "z"}), "model.merges[0]", "a list", Code::invalid_data);
  expect("/model/merges/0", "a b c", "model.merges[0]", "\"a b c\"", Code::invalid_data);
  expect("/model/byte_fallback", "yes", "model.byte_fallback", "\"yes\"", Code::invalid_data);
  expect("/model/unk_token", "<unk>", "model.unk_token", "\"<unk>\"", Code::invalid_data);
  expect("/added_tokens/0/content", json(), "added_tokens[0].content", "null", Code::invalid_data);
  expect("/added_tokens/0/id", 1, "added_tokens[0]", "b and <s>", Code::invalid_data);
  expect("/post_processor", json::parse(R"({"type": "RobertaProcessing", "cls": ["<s>", 3], "sep": ["</s>", 9]})"), "post_processor", "9",
         Code::invalid_data);
}

TEST(CompileTokenizer, EveryTruncationIsAnError) {
  for (const std::string& name : test_tokenizer_names()) {
    const auto text = read_text_file(std::string(PTERON_TEST_DATA) + "/tokenizers/" + name + "/tokenizer.json");
    ASSERT_TRUE(text.ok());
    const size_t whole = text->find_last_of('}');
    for (size_t i = 0; i < 200; ++i) {
      const size_t size = whole * i / 200;
      const auto result = compile_tokenizer_json(std::string_view(*text).substr(0, size));
      ASSERT_FALSE(result.ok()) << name << " " << size;
      EXPECT_EQ(result.code(), Code::invalid_data);
    }
  }
}

TEST(CompileTokenizer, RefusesWhatIsNoObject) {
  for (const char* text : {"", "[]", "5", "nonsense", "{}", R"({"model": 5})", R"({"model": {}})"}) EXPECT_FALSE(compile_tokenizer_json(text).ok()) << text;
}

TEST(CompileTokenizer, OldFilesWriteMergesAsTextAndLeaveTheModelsTypeOut) {
  json document = small();
  document["model"].erase("type");
  document["model"]["merges"] = json::array({"a b"});
  const TestTokenizer t = TestTokenizer::from_json(document.dump());
  EXPECT_EQ(t.pieces("abb<s>"), (std::vector<std::string>{"ab", "b", "<s>"}));
}

TEST(CompileTokenizer, ConfigNamesSpecialTokensAndAddsMissingOnes) {
  const TestTokenizer t = TestTokenizer::from(compile_tokenizer_json(small().dump(), R"({
      "bos_token": "<s>", "eos_token": {"content": "</s>", "lstrip": false}, "pad_token": null, "unk_token": "nowhere",
      "added_tokens_decoder": {"3": {"content": "<s>", "special": true}, "4": {"content": "</s>", "special": true}}})"));
  EXPECT_EQ(t.tokenizer.bos_id(), 3);
  EXPECT_EQ(t.tokenizer.eos_id(), 4);
  EXPECT_EQ(t.tokenizer.pad_id(), -1);
  EXPECT_EQ(t.tokenizer.unk_id(), -1);
  EXPECT_EQ(t.pieces("a</s>"), (std::vector<std::string>{"a", "</s>"}));
  const auto bad = compile_tokenizer_json(small().dump(), R"({"added_tokens_decoder": {"x": {"content": "y"}}})");
  EXPECT_EQ(bad.status().detail().field, "tokenizer_config.added_tokens_decoder.x");
  EXPECT_FALSE(compile_tokenizer_json(small().dump(), "{").ok());
}

TEST(CompileTokenizer, AddedTokensOfTheModelKeepTheModelsId) {
  json document = small();
  document["added_tokens"].push_back({{"id", 77}, {"content", "ab"}, {"special", false}, {"normalized", false}});
  const TestTokenizer t = TestTokenizer::from_json(document.dump());
  EXPECT_EQ(t.ids("ab"), std::vector<TokenId>{2});
  EXPECT_TRUE(t.tokenizer.is_added(2));
}

TEST(CompileTokenizer, AddedTokensKeepTheirHabits) {
  json document = small();
  document["normalizer"] = {{"type", "Lowercase"}};
  document["added_tokens"] = json::array({{{"id", 3}, {"content", "<l>"}, {"lstrip", true}, {"normalized", false}},
                                          {{"id", 4}, {"content", "<r>"}, {"rstrip", true}, {"normalized", false}},
                                          {{"id", 5}, {"content", "word"}, {"single_word", true}, {"normalized", false}},
                                          {{"id", 6}, {"content", "BAB"}, {"normalized", true}}});
  const TestTokenizer t = TestTokenizer::from_json(document.dump());
  EXPECT_EQ(t.ids("a  <l>  b"), (std::vector<TokenId>{0, 3, 1}));
  EXPECT_EQ(*t.tokenizer.lost_bytes("a  <l>  b"), 2u);  // the spaces on the left went into the token
  EXPECT_EQ(*t.tokenizer.lost_bytes("a  <r>  b"), 2u);
  EXPECT_EQ(t.ids("word words"), std::vector<TokenId>{5});
  EXPECT_EQ(t.ids("bAb"), std::vector<TokenId>{6});
  EXPECT_EQ(*t.tokenizer.decode(t.ids("BAB")), "bab");
}

}  // namespace
}  // namespace pteron::text
