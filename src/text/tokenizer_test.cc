#include "text/tokenizer.h"

#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "text/tokenizer_fixture.h"

namespace pteron::text {
namespace {

using nlohmann::json;

json vectors_of(const std::string& name) {
  auto text = read_text_file(std::string(PTERON_TEST_DATA) + "/tokenizers/" + name + "/vectors.json");
  EXPECT_TRUE(text.ok());
  return json::parse(text.ok() ? *text : "{}");
}

class TokenizerVectors : public testing::TestWithParam<std::string> {};

TEST_P(TokenizerVectors, EncodesAndDecodesAsTheReference) {
  const TestTokenizer t = TestTokenizer::from_data(GetParam());
  const json vectors = vectors_of(GetParam());
  ASSERT_FALSE(vectors["encode"].empty());
  for (const json& v : vectors["encode"]) {
    const std::string text = v["text"];
    const auto ids = v["ids"].get<std::vector<TokenId>>();
    EXPECT_EQ(t.ids(text, {.parse_special = true}), ids) << text;
    EXPECT_EQ(t.ids(text), v.value("ids", ids)) << text;
    EXPECT_EQ(t.ids(text, {.parse_special = false}), v.value("ids_no_parse", ids)) << text;
    EXPECT_EQ(t.ids(text, {.parse_special = true, .add_special = true}), v.value("ids_add_special", ids)) << text;
    const std::string decoded = v.value("decoded", text);
    EXPECT_EQ(*t.tokenizer.decode(ids), decoded);
    EXPECT_EQ(*t.tokenizer.decode(ids, {.skip_special = true}), v.value("decoded_skip", decoded));
  }
}

TEST_P(TokenizerVectors, DecodesAnyIdsAsTheReference) {
  const TestTokenizer t = TestTokenizer::from_data(GetParam());
  const json vectors = vectors_of(GetParam());
  ASSERT_FALSE(vectors["decode"].empty());
  for (const json& v : vectors["decode"]) {
    const auto ids = v["ids"].get<std::vector<TokenId>>();
    const std::string decoded = v["decoded"];
    EXPECT_EQ(*t.tokenizer.decode(ids), decoded) << v["ids"];
    EXPECT_EQ(*t.tokenizer.decode(ids, {.skip_special = true}), v.value("decoded_skip", decoded)) << v["ids"];
  }
}

TEST_P(TokenizerVectors, StreamsArePrefixesAndEndAsTheWhole) {
  const TestTokenizer t = TestTokenizer::from_data(GetParam());
  const json vectors = vectors_of(GetParam());
  ASSERT_FALSE(vectors["stream"].empty());
  for (const json& v : vectors["stream"]) {
    const auto ids = v["ids"].get<std::vector<TokenId>>();
    const std::string whole = *t.tokenizer.decode(ids);
    DecodeStream stream = t.tokenizer.stream();
    std::string text;
    for (const TokenId id : ids) text += stream.push(id);
    EXPECT_TRUE(whole.starts_with(text)) << v["ids"];
    EXPECT_EQ(text + stream.flush(), whole) << v["ids"];
  }
}

TEST_P(TokenizerVectors, StreamsOfRandomTokensLoseAndDoubleNothing) {
  const TestTokenizer t = TestTokenizer::from_data(GetParam());
  std::minstd_rand random(20);
  DecodeStream plain = t.tokenizer.stream(), skipping = t.tokenizer.stream({.skip_special = true});
  for (int round = 0; round < 10000; ++round) {
    std::vector<TokenId> ids(random() % 24);
    for (TokenId& id : ids) id = static_cast<TokenId>(random() % (t.tokenizer.size() + 2)) - 1;
    for (const bool skip : {false, true}) {
      DecodeStream& stream = skip ? skipping : plain;  // usable again after each flush
      std::string text;
      for (const TokenId id : ids) {
        const std::string chunk = stream.push(id);
        ASSERT_FALSE(chunk.ends_with("\xef\xbf\xbd"));  // might still become a character
        text += chunk;
      }
      text += stream.flush();
      ASSERT_EQ(text, *t.tokenizer.decode(ids, {.skip_special = skip}));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, TokenizerVectors, testing::ValuesIn(test_tokenizer_names()), [](const auto& param) { return param.param; });

TEST(Tokenizer, StreamNeverShowsHalfACharacter) {
  const TestTokenizer t = TestTokenizer::from_data("gpt2_bytelevel");
  const std::vector<TokenId> ids = t.ids("\xf0\x9f\xa6\x9c!");  // a parrot of several tokens
  ASSERT_EQ(ids.size(), 4u);
  DecodeStream stream = t.tokenizer.stream();
  EXPECT_EQ(stream.push(ids[0]), "");
  EXPECT_EQ(stream.push(ids[1]), "");
  EXPECT_EQ(stream.push(ids[2]), "\xf0\x9f\xa6\x9c");
  EXPECT_EQ(stream.push(ids[0]), "");
  EXPECT_EQ(stream.push(ids[3]), "\xef\xbf\xbd!");
  EXPECT_EQ(stream.push(ids[0]), "");
  EXPECT_EQ(stream.flush(), "\xef\xbf\xbd");
  EXPECT_EQ(stream.flush(), "");
}

TEST(Tokenizer, SpecialTokensOfAUsersTextArePlainTextUnlessAsked) {
  const TestTokenizer t = TestTokenizer::from_data("llama3_bytelevel");
  const TokenId end = t.tokenizer.token_to_id("<|eot_id|>");
  ASSERT_GE(end, 0);
  EXPECT_TRUE(t.tokenizer.is_special(end));
  EXPECT_EQ(t.ids("<|eot_id|>", {.parse_special = true}), std::vector<TokenId>{end});
  const auto plain = t.ids("<|eot_id|>", {});
  EXPECT_EQ(std::count(plain.begin(), plain.end(), end), 0);
  EXPECT_EQ(*t.tokenizer.decode(plain), "<|eot_id|>");
  EXPECT_EQ(*t.tokenizer.decode(plain, {.skip_special = true}), "<|eot_id|>");
}

TEST(Tokenizer, TellsAboutItsTokens) {
  const TestTokenizer t = TestTokenizer::from_data("llama3_bytelevel");
  const Tokenizer& k = t.tokenizer;
  EXPECT_EQ(k.size(), 691u);
  EXPECT_EQ(k.piece(680), "<|begin_of_text|>");
  EXPECT_EQ(k.token_to_id("<|begin_of_text|>"), 680);
  EXPECT_EQ(k.prefix_ids(), std::vector<TokenId>{680});
  EXPECT_TRUE(k.suffix_ids().empty());
  EXPECT_TRUE(k.is_added(688));
  EXPECT_FALSE(k.is_special(688));
  EXPECT_FALSE(k.is_added(0));
  EXPECT_EQ(k.piece(-1), "");
  EXPECT_EQ(k.piece(691), "");
  EXPECT_EQ(k.token_to_id("no such token"), -1);
  EXPECT_EQ(k.token_to_id(""), -1);
  EXPECT_EQ(k.bos_id(), -1);  // tokenizer.json alone does not say
  EXPECT_EQ(k.piece_bytes(k.token_to_id("\xc4\xa0t")), " t");
  const TestTokenizer spm = TestTokenizer::from_data("spm_bpe_first");
  EXPECT_EQ(spm.tokenizer.piece_bytes(spm.tokenizer.token_to_id("<0x0A>")), "\n");
  EXPECT_EQ(spm.tokenizer.piece_bytes(spm.tokenizer.token_to_id("\xe2\x96\x81t")), " t");
}

TEST(Tokenizer, IdsWithoutATokenDecodeToNothing) {
  const TestTokenizer t = TestTokenizer::from_data("gpt2_bytelevel");
  const std::vector<TokenId> ids = {-5, t.ids("a")[0], 1 << 30, 100000};
  EXPECT_EQ(*t.tokenizer.decode(ids), "a");
}

TEST(Tokenizer, RefusesTextThatIsNotUtf8) {
  const TestTokenizer t = TestTokenizer::from_data("gpt2_bytelevel");
  const auto result = t.tokenizer.encode("ab\xff");
  EXPECT_EQ(result.code(), Code::invalid_argument);
  EXPECT_NE(result.status().message().find("offset 2"), std::string::npos) << result.status().message();
}

TEST(Tokenizer, SaysHowManyBytesVanish) {
  const TestTokenizer t = TestTokenizer::from_json(R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []}})");
  EXPECT_EQ(t.ids("axb\xc3\xa9 a"), (std::vector<TokenId>{0, 1, 0}));
  EXPECT_EQ(*t.tokenizer.lost_bytes("axb\xc3\xa9 a"), 4u);
  EXPECT_EQ(*t.tokenizer.lost_bytes("ab"), 0u);
  std::string repeated;
  for (int i = 0; i < 200; ++i) repeated += "ax";
  EXPECT_EQ(*t.tokenizer.lost_bytes(repeated), 200u);
}

TEST(Tokenizer, HostileTextsTakeLinearTime) {
  for (const char* name : {"gpt2_bytelevel", "spm_bpe_first", "unigram_nfkc", "wordpiece_uncased"}) {
    const TestTokenizer t = TestTokenizer::from_data(name);
    std::string word;
    std::minstd_rand random(1);
    for (int i = 0; i < 1000000; ++i) word += static_cast<char>('a' + random() % 26);
    std::string marks;
    for (int i = 0; i < 200000; ++i) marks += i % 2 != 0 ? "\xcc\x81" : "\xcc\xa3";
    for (const std::string& text : {std::string(1000000, 'a'), std::string(1000000, ' '), std::string(1000000, '\n'), word, marks}) {
      EXPECT_TRUE(t.tokenizer.encode(text).ok()) << name;
    }
  }
}

TEST(Tokenizer, IsSharedByThreads) {
  const TestTokenizer t = TestTokenizer::from_data("llama3_bytelevel");
  const std::string text = "The quick brown fox, 12345 times: na\xc3\xafve <think> caf\xc3\xa9!";
  const auto expected = t.ids(text);
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int k = 0; k < 200; ++k) {
        const auto ids = t.tokenizer.encode(text, {.parse_special = true});
        wrong[static_cast<size_t>(i)] += !ids.ok() || *ids != expected || *t.tokenizer.decode(*ids) != text;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4));
}

}  // namespace
}  // namespace pteron::text
