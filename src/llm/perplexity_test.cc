#include "llm/perplexity.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "llm/testing/tiny_program.h"

namespace pteron::llm {
namespace {

using testing::TinyConfig;
using testing::TinyProgram;

struct Scorer {
  explicit Scorer(bool all = false) : program(config(all)), contract(*IoManagerRegistry::with_defaults().open(program)), session(*Session::create(*contract, program)) {}
  static TinyConfig config(bool all) {
    TinyConfig c;
    c.prefill_all = all;
    return c;
  }
  // The score of `token` after `before`, on a fresh run.
  double nll(std::vector<TokenId> before, TokenId token) {
    EXPECT_TRUE(session.reset().ok());
    const auto logits = session.append(before);
    double total = 0;
    for (const float logit : *logits) total += std::exp(static_cast<double>(logit));
    return std::log(total) - (*logits)[static_cast<size_t>(token)];
  }
  TinyProgram program;
  std::unique_ptr<IoContract> contract;
  Session session;
};

const std::vector<TokenId> kText = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5};

TEST(Perplexity, WithoutBosTheFirstTokenOfAWindowIsContext) {
  for (const bool all : {false, true}) {
    Scorer scorer(all);
    const auto out = perplexity(scorer.session, kText, {.ctx = 4, .stride = 4, .bos = {}});
    ASSERT_TRUE(out.ok()) << out.status().message();
    double expected = 0;
    size_t count = 0;
    for (size_t begin = 0; begin < kText.size(); begin += 4) {
      for (size_t i = begin + 1; i < std::min(begin + 4, kText.size()); ++i, ++count) {
        expected += scorer.nll({kText.begin() + static_cast<std::ptrdiff_t>(begin), kText.begin() + static_cast<std::ptrdiff_t>(i)}, kText[i]);
      }
    }
    EXPECT_EQ(out->tokens, count);
    EXPECT_NEAR(out->nll_sum, expected, 1e-5);
    EXPECT_NEAR(out->value(), std::exp(expected / static_cast<double>(count)), 1e-5);
  }
}

TEST(Perplexity, WithBosEveryTokenIsScored) {
  Scorer scorer;
  const auto out = perplexity(scorer.session, kText, {.ctx = 5, .stride = 5, .bos = TokenId{7}});
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(out->tokens, kText.size());
  double expected = 0;
  for (size_t i = 0; i < kText.size(); ++i) {
    std::vector<TokenId> before = {7};
    before.insert(before.end(), kText.begin() + static_cast<std::ptrdiff_t>(i / 5 * 5), kText.begin() + static_cast<std::ptrdiff_t>(i));
    expected += scorer.nll(before, kText[i]);
  }
  EXPECT_NEAR(out->nll_sum, expected, 1e-5);
}

TEST(Perplexity, OverlappingWindowsScoreEachTokenOnce) {
  Scorer scorer;
  const auto out = perplexity(scorer.session, kText, {.ctx = 6, .stride = 2, .bos = {}});
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(out->tokens, kText.size() - 1);
  double expected = 0;
  for (size_t i = 1; i < kText.size(); ++i) {
    const size_t begin = i < 6 ? 0 : (i - 4) / 2 * 2;  // the first window that holds the token
    expected += scorer.nll({kText.begin() + static_cast<std::ptrdiff_t>(begin), kText.begin() + static_cast<std::ptrdiff_t>(i)}, kText[i]);
  }
  EXPECT_NEAR(out->nll_sum, expected, 1e-5);
}

TEST(Perplexity, ErrorsAndProgress) {
  Scorer scorer;
  EXPECT_EQ(perplexity(scorer.session, kText, {.ctx = 4, .stride = 5, .bos = {}}).status().detail().field, "stride");
  EXPECT_EQ(perplexity(scorer.session, kText, {.ctx = 4, .stride = 0, .bos = {}}).code(), Code::invalid_argument);
  const std::vector<TokenId> longer(30, 1);
  EXPECT_EQ(perplexity(scorer.session, longer, {.ctx = 30, .stride = 30, .bos = {}}).code(), Code::out_of_capacity);
  size_t last = 0;
  ASSERT_TRUE(perplexity(scorer.session, kText, {.ctx = 4, .stride = 4, .bos = {}}, [&](const Perplexity&, size_t done) { last = done; }).ok());
  EXPECT_EQ(last, kText.size());
  EXPECT_EQ(perplexity(scorer.session, {}, {})->tokens, 0u);
}

}  // namespace
}  // namespace pteron::llm
