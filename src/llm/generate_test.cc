#include "llm/generate.h"

#include <atomic>
#include <fstream>
#include <iterator>
#include <memory>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "llm/testing/script_program.h"
#include "llm/testing/tiny_program.h"
#include "text/tokenizer.h"
#include "text/tokenizer_compile.h"

namespace pteron::llm {
namespace {

using testing::Script;
using testing::ScriptContract;
using testing::ScriptManager;
using testing::TinyConfig;
using testing::TinyProgram;

// A session that writes what a script says.
struct Scripted {
  explicit Scripted(Script script) : contract(std::move(script)), session(*Session::create(contract, program)) {}
  Generation run(const GenerateOptions& options, const OnToken& on_token = {}, const text::Tokenizer* tokenizer = nullptr) {
    auto out = generate(session, tokenizer, options, on_token);
    EXPECT_TRUE(out.ok()) << out.status().message();
    return out.ok() ? std::move(*out) : Generation();
  }
  void append(std::vector<TokenId> tokens) { ASSERT_TRUE(session.append(tokens).ok()); }
  TinyProgram program{TinyConfig()};
  ScriptContract contract;
  Session session;
};

GenerateOptions greedy(size_t max_tokens) {
  GenerateOptions options;
  options.sampler.temperature = 0;
  options.max_tokens = max_tokens;
  return options;
}

Script counting() {
  Script script;
  for (TokenId i = 0; i < 64; ++i) script.text.push_back(i % 16);
  return script;
}

TEST(Generate, EndsAtTheLimitWithTheLastTokenPending) {
  Scripted scripted(counting());
  scripted.append({0, 1, 2});
  const Generation out = scripted.run(greedy(4));
  EXPECT_EQ(out.tokens, (std::vector<TokenId>{3, 4, 5, 6}));
  EXPECT_EQ(out.finish_reason, FinishReason::length);
  EXPECT_EQ(scripted.session.position(), 6u) << "the last token is not committed";
  EXPECT_EQ(scripted.session.pending(), 6);
  const Generation more = scripted.run(greedy(2));
  EXPECT_EQ(more.tokens, (std::vector<TokenId>{7, 8})) << "goes on where it was";
  EXPECT_EQ(scripted.session.position(), 8u);
}

TEST(Generate, ZeroAndOneToken) {
  Scripted scripted(counting());
  scripted.append({0});
  Generation out = scripted.run(greedy(0));
  EXPECT_TRUE(out.tokens.empty());
  EXPECT_EQ(out.finish_reason, FinishReason::length);
  EXPECT_FALSE(scripted.session.pending().has_value());
  out = scripted.run(greedy(1));
  EXPECT_EQ(out.tokens, (std::vector<TokenId>{1}));
  EXPECT_EQ(scripted.session.position(), 1u);
}

TEST(Generate, NeedsLogitsAndARoomyContext) {
  Scripted scripted(counting());
  EXPECT_EQ(generate(scripted.session, nullptr, greedy(1)).code(), Code::invalid_argument);
  Script small = counting();
  small.capacity = 5;
  Scripted full(small);
  full.append({0, 1, 2});
  const Generation out = full.run(greedy(10));
  EXPECT_EQ(out.tokens, (std::vector<TokenId>{3, 4, 5})) << "at the end one more token is valid output";
  EXPECT_EQ(out.finish_reason, FinishReason::context);
  EXPECT_EQ(full.session.position(), 5u);
  EXPECT_EQ(full.session.pending(), 5);
  EXPECT_EQ(generate(full.session, nullptr, greedy(1)).code(), Code::out_of_capacity);
}

TEST(Generate, EndOfTextAndStopTokens) {
  Scripted scripted(counting());
  scripted.append({0, 1});
  GenerateOptions options = greedy(20);
  options.eos_tokens = {4};
  options.stop_tokens = {6};
  Generation out = scripted.run(options);
  EXPECT_EQ(out.tokens, (std::vector<TokenId>{2, 3, 4}));
  EXPECT_EQ(out.finish_reason, FinishReason::stop);
  EXPECT_EQ(out.stop_token, 4);
  EXPECT_EQ(scripted.session.position(), 4u);
  options.eos_tokens = {};
  out = scripted.run(options);
  EXPECT_EQ(out.stop_token, 6);
  // As the first generated token, and as part of the prompt.
  Scripted first(counting());
  first.append({4, 4, 4});
  options.eos_tokens = {3};
  EXPECT_EQ(first.run(options).tokens, (std::vector<TokenId>{3}));
}

TEST(Generate, BelowTheMinimumItDoesNotEnd) {
  Scripted scripted(counting());
  scripted.append({0, 1});
  GenerateOptions options = greedy(20);
  options.eos_tokens = {2, 5};
  options.min_tokens = 3;
  const Generation out = scripted.run(options);
  EXPECT_EQ(out.tokens, (std::vector<TokenId>{0, 3, 4, 5})) << "the lowest of equals replaces the banned one";
}

TEST(Generate, ParametersAreCheckedBeforeWork) {
  Scripted scripted(counting());
  scripted.append({0});
  GenerateOptions options = greedy(3);
  options.sampler.top_p = 2;
  EXPECT_EQ(generate(scripted.session, nullptr, options).status().detail().field, "top_p");
  options = greedy(3);
  options.stop_strings = {"x"};
  EXPECT_EQ(generate(scripted.session, nullptr, options).status().detail().field, "stop_strings");
  EXPECT_EQ(scripted.session.position(), 1u);
}

TEST(Generate, TheCallbackAndOtherThreadsStopIt) {
  Scripted scripted(counting());
  scripted.append({0});
  std::vector<TokenId> seen;
  const Generation out = scripted.run(greedy(30), [&](const TokenEvent& event) {
    if (event.token) seen.push_back(*event.token);
    return seen.size() == 3 ? Flow::stop : Flow::go_on;
  });
  EXPECT_EQ(out.finish_reason, FinishReason::cancelled);
  EXPECT_EQ(out.tokens, seen);
  EXPECT_EQ(scripted.session.pending(), 3);
  EXPECT_EQ(scripted.session.position(), 3u);
  scripted.session.cancel();
  const Generation none = scripted.run(greedy(5));
  EXPECT_EQ(none.finish_reason, FinishReason::cancelled);
  EXPECT_TRUE(none.tokens.empty());
  EXPECT_EQ(scripted.session.pending(), 3) << "as it was";
  EXPECT_EQ(scripted.run(greedy(2)).tokens, (std::vector<TokenId>{4, 5}));
  Script endless = counting();
  endless.capacity = 1 << 20;
  Scripted long_one(endless);
  long_one.append({0});
  std::binary_semaphore begun{0}, cancelled{0};
  std::thread other([&] {
    begun.acquire();
    long_one.session.cancel();
    cancelled.release();
  });
  size_t tokens = 0;
  const Generation stopped = long_one.run(greedy(1000), [&](const TokenEvent&) {
    if (++tokens == 10) begun.release(), cancelled.acquire();
    return Flow::go_on;
  });
  other.join();
  EXPECT_EQ(stopped.finish_reason, FinishReason::cancelled);
  EXPECT_EQ(stopped.tokens.size(), 10u);
}

// Step by step it is the same generation, and the session stands where the steps do.
TEST(TokenStream, GivesWhatAWholeGenerationGives) {
  Scripted whole(counting()), steps(counting());
  whole.append({0, 1});
  steps.append({0, 1});
  const Generation expected = whole.run(greedy(5));
  auto stream = TokenStream::create(steps.session, nullptr, greedy(5));
  ASSERT_TRUE(stream.ok());
  std::vector<TokenId> seen;
  for (;;) {
    const auto event = stream->next();
    ASSERT_TRUE(event.ok()) << event.status().message();
    if (!*event) break;
    seen.push_back(*(*event)->token);
    EXPECT_EQ(steps.session.position(), 1 + seen.size()) << "nothing is computed ahead";
  }
  EXPECT_FALSE(stream->next()->has_value()) << "the end is the end";
  const auto made = stream->finish();
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(seen, expected.tokens);
  EXPECT_EQ(made->tokens, expected.tokens);
  EXPECT_EQ(made->finish_reason, FinishReason::length);
  EXPECT_EQ(steps.session.pending(), whole.session.pending());
}

TEST(TokenStream, LeftInTheMiddleItCanGoOn) {
  Scripted scripted(counting());
  scripted.append({0});
  auto stream = TokenStream::create(scripted.session, nullptr, greedy(9));
  ASSERT_TRUE(stream.ok());
  for (TokenId token : {1, 2}) EXPECT_EQ((*stream->next())->token, token);
  scripted.session.cancel();  // meant for this generation: it is gone with it
  const auto made = stream->finish();
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->finish_reason, FinishReason::cancelled);
  EXPECT_EQ(made->tokens, (std::vector<TokenId>{1, 2}));
  EXPECT_EQ(scripted.session.pending(), 2);
  EXPECT_EQ(scripted.run(greedy(2)).tokens, (std::vector<TokenId>{3, 4}));
}

TEST(TokenStream, CancelAndStopEndIt) {
  Scripted scripted(counting());
  scripted.append({0});
  auto stream = TokenStream::create(scripted.session, nullptr, greedy(9));
  ASSERT_TRUE(stream.ok());
  EXPECT_EQ((*stream->next())->token, 1);
  scripted.session.cancel();
  EXPECT_FALSE(stream->next()->has_value());
  EXPECT_EQ(stream->finish()->finish_reason, FinishReason::cancelled);
  auto stopped = TokenStream::create(scripted.session, nullptr, greedy(9));
  ASSERT_TRUE(stopped.ok());
  stopped->stop();
  EXPECT_FALSE(stopped->next()->has_value());
  EXPECT_TRUE(stopped->finish()->tokens.empty());
  EXPECT_EQ(TokenStream::create(scripted.session, nullptr, [] {
    GenerateOptions options = greedy(1);
    options.sampler.top_p = 2;
    return options;
  }()).status().detail().field, "top_p");
}

TEST(Generate, TheTimeLimitEndsIt) {
  Script endless = counting();
  endless.capacity = 1 << 20;
  Scripted scripted(endless);
  scripted.append({0});
  GenerateOptions options = greedy(1 << 20);
  options.time_limit = std::chrono::milliseconds(5);
  const Generation out = scripted.run(options, [](const TokenEvent&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return Flow::go_on;
  });
  EXPECT_EQ(out.finish_reason, FinishReason::length);
  EXPECT_LE(out.tokens.size(), 6u);
}

TEST(Generate, LogprobsComeWithEachToken) {
  Scripted scripted(counting());
  scripted.append({0});
  GenerateOptions options = greedy(3);
  options.want_logprobs = true;
  options.logprobs = 2;
  size_t events = 0;
  const Generation out = scripted.run(options, [&](const TokenEvent& event) {
    EXPECT_NEAR(event.logprob, 0, 0.01);
    EXPECT_EQ(event.top.size(), 2u);
    ++events;
    return Flow::go_on;
  });
  EXPECT_EQ(events, 3u);
  ASSERT_EQ(out.logprobs.size(), 3u);
  ASSERT_EQ(out.top_logprobs[1].size(), 2u);
  EXPECT_EQ(out.top_logprobs[1][0].token, 2);
}

// Guessing changes nothing but the number of calls, with greedy choice and with sampling.
TEST(Generate, LookupGivesTheSameTokensInFewerCalls) {
  for (const double temperature : {0.0, 1.0}) {
    for (const float sharpness : {2.0f, 10.0f}) {
      Script script = counting();
      script.capacity = 200;
      script.sharpness = sharpness;
      Scripted plain(script);
      script.verify_rows = 6;
      Scripted guessing(script);
      const std::vector<TokenId> prompt = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2};
      GenerateOptions options = greedy(100);
      options.sampler.temperature = temperature;
      options.sampler.seed = 5;
      plain.append(prompt);
      ScriptManager::calls = 0;
      const Generation expected = plain.run(options);
      EXPECT_EQ(ScriptManager::calls, 99u);
      guessing.append(prompt);
      options.lookup = 5;
      ScriptManager::calls = 0;
      const Generation out = guessing.run(options);
      EXPECT_EQ(out.tokens, expected.tokens);
      EXPECT_EQ(guessing.session.position(), plain.session.position());
      EXPECT_TRUE(std::equal(plain.session.tokens().begin(), plain.session.tokens().end(), guessing.session.tokens().begin()));
      EXPECT_LE(out.accepted, out.drafted);
      if (temperature == 0) {
        EXPECT_LT(ScriptManager::calls, 30u);
        EXPECT_GT(out.accepted, 70u);
      }
    }
  }
}

TEST(Generate, LookupOnARealCacheEqualsPlainGeneration) {
  TinyConfig config;
  config.L = 60;
  config.layers = {{}, {.window = 6}};
  config.verify_rows = 4;
  TinyProgram program(config);
  const auto contract = IoManagerRegistry::with_defaults().open(program);
  const std::vector<TokenId> prompt = {1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 1, 2};
  for (const double temperature : {0.0, 0.7}) {
    std::vector<std::vector<TokenId>> results;
    for (const size_t lookup : {size_t{0}, size_t{3}}) {
      Session session = *Session::create(**contract, program);
      ASSERT_TRUE(session.append(prompt).ok());
      GenerateOptions options = greedy(48);
      options.sampler.temperature = temperature;
      options.lookup = lookup;
      auto out = generate(session, nullptr, options);
      ASSERT_TRUE(out.ok()) << out.status().message();
      results.push_back(out->tokens);
    }
    EXPECT_EQ(results[0], results[1]);
  }
}

// Text through a tokenizer of single bytes.
class GenerateText : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ifstream file(PTERON_TEST_DATA "/llm/tokenizer.json");
    const std::string json((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    auto table = text::compile_tokenizer_json(json);
    ASSERT_TRUE(table.ok()) << table.status().message();
    table_ = std::move(*table);
    auto tokenizer = text::Tokenizer::from_table(table_);
    ASSERT_TRUE(tokenizer.ok());
    tokenizer_.emplace(std::move(*tokenizer));
  }
  // A session that will write `text`, its first character already fed.
  std::unique_ptr<Scripted> writing(const std::string& text) {
    Script script;
    script.capacity = 4096;
    script.vocab = 256;
    script.text = *tokenizer_->encode(text);
    auto scripted = std::make_unique<Scripted>(script);
    scripted->append({script.text[0]});
    return scripted;
  }
  std::vector<std::byte> table_;
  std::optional<text::Tokenizer> tokenizer_;
};

TEST_F(GenerateText, StreamsWholeCharactersAndLosesNothing) {
  const std::string text = "> caf\xc3\xa9 \xe2\x82\xac 12, na\xc3\xafve; \xf0\x9f\x98\x80 end";
  const auto scripted = writing(text);
  std::string streamed;
  const size_t tokens = tokenizer_->encode(text)->size() - 1;
  const Generation out = scripted->run(greedy(tokens), [&](const TokenEvent& event) {
    const std::string piece(event.text);
    EXPECT_TRUE(piece.empty() || (static_cast<unsigned char>(piece[0]) & 0xC0) != 0x80) << "no half characters";
    streamed += piece;
    return Flow::go_on;
  }, &*tokenizer_);
  EXPECT_EQ(streamed, text.substr(1));
  EXPECT_EQ(out.text, streamed);
}

TEST_F(GenerateText, StopStringsEndItWithoutATrace) {
  const std::string text = "> one two\n\nUser: three";
  for (const std::string stop : {"\n\nUser:", "\n\n", "two", "> "}) {
    const auto scripted = writing(text);
    GenerateOptions options = greedy(tokenizer_->encode(text)->size() - 1);
    options.stop_strings = {"never", stop};
    std::string streamed;
    const Generation out = scripted->run(options, [&](const TokenEvent& event) {
      streamed += event.text;
      return Flow::go_on;
    }, &*tokenizer_);
    const size_t at = text.substr(1).find(stop);
    EXPECT_EQ(streamed, text.substr(1, at));
    EXPECT_EQ(out.text, streamed);
    EXPECT_EQ(out.finish_reason, at == std::string::npos ? FinishReason::length : FinishReason::stop);
    EXPECT_EQ(out.stop_sequence, at == std::string::npos ? "" : stop);
  }
}

TEST_F(GenerateText, AnUnfinishedCharacterComesOutAtTheEnd) {
  const auto scripted = writing(">ab\xf0\x9f\x98\x80");
  const Generation out = scripted->run(greedy(4), {}, &*tokenizer_);
  EXPECT_EQ(out.text.substr(0, 2), "ab");
  EXPECT_NE(out.text.find("\xef\xbf\xbd"), std::string::npos) << "the replacement character";
}

TEST(Generate, ReasonsHaveNames) {
  EXPECT_EQ(finish_reason_name(FinishReason::stop), "stop");
  EXPECT_EQ(finish_reason_name(FinishReason::length), "length");
  EXPECT_EQ(finish_reason_name(FinishReason::context), "context");
  EXPECT_EQ(finish_reason_name(FinishReason::cancelled), "cancelled");
}

}  // namespace
}  // namespace pteron::llm
