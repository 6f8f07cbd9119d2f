#include "text/token_model.h"

#include "text/tokenizer_fixture.h"

namespace pteron::text {
namespace {

TEST(TokenModel, MakesTheModelThatTheTableNames) {
  for (const ModelKind kind : {ModelKind::bpe, ModelKind::unigram, ModelKind::word_piece, ModelKind::word_level}) {
    TokenizerContent content;
    content.model = kind;
    content.tokens.push_back({"ab", kTokenExists | kTokenInModel});
    content.tokens.push_back({"?", kTokenExists | kTokenInModel});
    content.scores = {-1, -2};
    content.model_unk = 1;
    const auto bytes = table_with(content);
    const auto table = TokenTable::open(bytes);
    ASSERT_TRUE(table.ok());
    const auto run = make_model_run(*table, 2);
    std::vector<int32_t> ids;
    ASSERT_TRUE(run->encode("ab", ids).ok());
    // BPE has no merge to build the word with.
    EXPECT_EQ(ids, kind == ModelKind::bpe ? (std::vector<int32_t>{1, 1}) : std::vector<int32_t>{0});
  }
}

TEST(TokenModel, RememberedWordsLoseTheSameBytes) {
  TokenizerContent content;
  content.tokens.push_back({"a", kTokenExists | kTokenInModel});
  const auto bytes = table_with(content);
  const auto table = TokenTable::open(bytes);
  const auto run = make_model_run(*table, 1000);
  std::vector<int32_t> ids;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(run->encode("axx", ids).ok());
  EXPECT_EQ(ids, std::vector<int32_t>(3, 0));
  EXPECT_EQ(run->lost_bytes(), 6u);
}

}  // namespace
}  // namespace pteron::text
