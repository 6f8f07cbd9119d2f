#include <gtest/gtest.h>

#include "pteron/llm.h"

namespace pteron {
namespace {

std::string data(const std::string& name) { return std::string(PTERON_TEST_DATA) + "/" + name; }

class TokenizerApi : public testing::Test {
 protected:
  void SetUp() override {
    Result<Tokenizer> opened = Tokenizer::open(data("tokenizers/llama3_bytelevel/tokenizer.json"));
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    tokenizer_.emplace(std::move(*opened));
  }
  std::optional<Tokenizer> tokenizer_;
};

TEST_F(TokenizerApi, TextThereAndBack) {
  const std::string text = "The caf\xc3\xa9 costs 12 \xe2\x82\xac.";
  const Result<std::vector<TokenId>> ids = tokenizer_->encode(text);
  ASSERT_TRUE(ids.ok());
  EXPECT_FALSE(ids->empty());
  EXPECT_EQ(*tokenizer_->decode(*ids), text);
  DecodeStream stream = tokenizer_->stream();
  std::string streamed;
  for (const TokenId id : *ids) streamed += *stream.push(id);
  EXPECT_EQ(streamed + stream.flush(), text);
  for (const TokenId id : *ids) EXPECT_EQ(tokenizer_->id_of(tokenizer_->piece(id)), id);
}

TEST_F(TokenizerApi, SpecialTokensOnlyWhereAsked) {
  const std::string piece = "<|begin_of_text|>";
  ASSERT_TRUE(tokenizer_->id_of(piece).has_value());
  const TokenId bos = *tokenizer_->id_of(piece);
  EXPECT_TRUE(tokenizer_->is_special(bos));
  EXPECT_EQ(*tokenizer_->encode(piece, {.parse_special = true}), std::vector<TokenId>{bos});
  EXPECT_NE(*tokenizer_->encode(piece), std::vector<TokenId>{bos});
  EXPECT_EQ(*tokenizer_->decode(std::vector<TokenId>{bos}, {.skip_special = true}), "");
}

TEST_F(TokenizerApi, IdsOutsideTheVocabulary) {
  const auto outside = static_cast<TokenId>(tokenizer_->vocab_size());
  DecodeStream stream = tokenizer_->stream();
  for (const TokenId id : {outside, TokenId{-1}}) {
    EXPECT_EQ(stream.push(id).code(), Code::invalid_argument);
    EXPECT_EQ(tokenizer_->piece(id), "");
    EXPECT_FALSE(tokenizer_->is_special(id));
  }
  EXPECT_EQ(tokenizer_->id_of("no such piece of any vocabulary"), std::nullopt);
}

TEST(TokenizerOpen, ErrorsNameTheFile) {
  for (const char* name : {"nowhere/tokenizer.json", "arch/llama_gqa/config.json", "pte/valid/mlp.dynamic_unplanned_io.pte", "pte/negative/header_magic.pte"}) {
    const Status status = Tokenizer::open(data(name)).status();
    EXPECT_FALSE(status.ok()) << name;
    EXPECT_EQ(status.detail().file, data(name));
  }
}

}  // namespace
}  // namespace pteron
