// A tiny program as an engine, through the public interface alone; llm_test.cc has what the cpu backend adds.
#include "pteron/llm.h"

#include "api/tiny_model.h"

namespace pteron {
namespace {

class EngineApi : public TinyModel {
 protected:
  void SetUp() override {
    TinyModel::SetUp();
    Result<Engine> loaded = Engine::load(model(), {.threads = 1});
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    engine_.emplace(std::move(*loaded));
  }
  Session session() const { return std::move(*engine_->new_session()); }
  static std::vector<float> copy(const Result<LogitsView>& logits) { return {logits->begin(), logits->end()}; }
  std::optional<Engine> engine_;
};

TEST_F(EngineApi, EngineSaysWhatTheProgramIs) {
  EXPECT_EQ(engine_->context_length(), 64u);
  EXPECT_EQ(engine_->vocab_size(), 256u);
  EXPECT_EQ(engine_->prefill_rows(), 8u);
  EXPECT_GT(engine_->cache_bytes(), 0u);
  EXPECT_EQ(engine_->tokenizer(), nullptr);
  EXPECT_EQ(engine_->chat_template(), nullptr);
  EXPECT_EQ(engine_->default_generation().eos_tokens, std::vector<TokenId>{2});
  EXPECT_NE(engine_->contract_json().find("hf_static"), std::string_view::npos);
  EXPECT_FALSE(engine_->encode_prompt("text").ok());
}

TEST_F(EngineApi, ALongPromptIsRefusedBeforeAnyWork) {
  Session s = session();
  const std::vector<TokenId> long_prompt(65, 5);
  const Status status = s.append(long_prompt).status();
  EXPECT_EQ(status.code(), Code::out_of_capacity);
  EXPECT_NE(status.message().find("64"), std::string::npos);
  EXPECT_NE(status.message().find("65"), std::string::npos);
  EXPECT_EQ(s.position(), 0u);
  EXPECT_TRUE(s.append(std::vector<TokenId>{5}).ok());  // nothing was poisoned
}

TEST_F(EngineApi, RewindForkAndRestoreGiveTheSameLogits) {
  Session s = session();
  const std::vector<TokenId> prompt = {5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
  const std::vector<float> once = copy(s.append(prompt));
  ASSERT_TRUE(s.rewind(4).ok());
  EXPECT_EQ(copy(s.append(std::span(prompt).subspan(4))).size(), once.size());
  const std::string path = scratch() / "session";
  ASSERT_TRUE(s.snapshot(path).ok());
  Session other = session();
  ASSERT_TRUE(other.restore(path).ok());
  EXPECT_EQ(other.position(), prompt.size());
  Result<Session> fork = s.fork();
  ASSERT_TRUE(fork.ok());
  const std::vector<TokenId> next = {3};
  const std::vector<float> continued = copy(s.append(next));
  EXPECT_EQ(copy(fork->append(next)), continued);
  EXPECT_EQ(copy(other.append(next)), continued);
}

TEST_F(EngineApi, GenerationEndsWhereItIsTold) {
  Session s = session();
  ASSERT_TRUE(s.append(std::vector<TokenId>{5, 6, 7}).ok());
  GenerateOptions options = engine_->default_generation();
  options.eos_tokens.clear();
  options.max_tokens = 5;
  Result<Generation> made = s.generate(options);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(made->tokens.size(), 5u);
  EXPECT_EQ(made->finish_reason, FinishReason::length);
  options.max_tokens = 1000;
  made = s.generate(options);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->finish_reason, FinishReason::context);
  options.stop_strings = {"x"};
  EXPECT_FALSE(session().generate(options).ok());  // no tokenizer to find a text with
}

TEST_F(EngineApi, SamplerOfItsOwn) {
  EXPECT_FALSE(Sampler::create({.temperature = -1}, 4).ok());
  Result<Sampler> sampler = Sampler::create({.temperature = 0}, 4);
  ASSERT_TRUE(sampler.ok());
  const std::vector<float> logits = {0, 3, 3, 1};
  EXPECT_EQ(*sampler->sample(logits), 1);
  EXPECT_FALSE(sampler->sample(std::span(logits).first(3)).ok());
}

TEST_F(EngineApi, FilesThatAreNoLanguageModels) {
  for (const std::string& path : {data("pte/valid/mlp.io_unplanned.pte"), data("pte/negative/header_magic.pte"), folder() / "none.pte"}) {
    const Status status = Engine::load(path).status();
    EXPECT_FALSE(status.ok());
    EXPECT_EQ(status.detail().file, path);
  }
  EXPECT_EQ(Engine::load(model(), {.policy = {.require_signed = true}}).code(), Code::refused);
}

}  // namespace
}  // namespace pteron
