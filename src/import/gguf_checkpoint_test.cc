#include "import/gguf_checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "import/test_files.h"

namespace pteron::importer {
namespace {

using ::testing::ElementsAre;
using testing::GgufWriter;
using ::testing::HasSubstr;
using ::testing::Pair;
using testing::TempFolder;
using testing::tiny_model;

GgufWriter with_vocabulary() {
  GgufWriter writer = tiny_model("llama").floats("token_embd.weight", {8, 3});
  writer.string("tokenizer.ggml.model", "gpt2")
      .string("tokenizer.ggml.pre", "smollm")
      .strings("tokenizer.ggml.tokens", {"a", "b", "ab"})
      .strings("tokenizer.ggml.merges", {"a b"});
  writer.array<int32_t>("tokenizer.ggml.token_type", 5, {1, 1, 3}).array<float>("tokenizer.ggml.scores", 6, {0, -1, -2});
  writer.u32("tokenizer.ggml.bos_token_id", 2)
      .u32("tokenizer.ggml.eos_token_id", 1)
      .boolean("tokenizer.ggml.add_bos_token", true)
      .boolean("tokenizer.ggml.add_space_prefix", false);
  return writer;
}

TEST(GgufCheckpoint, HasAllPartsOfACheckpoint) {
  TempFolder folder;
  GgufWriter writer = with_vocabulary()
                          .string("general.name", "Tiny")
                          .string("general.license", "mit")
                          .string("tokenizer.chat_template", "{{ x }}")
                          .string("tokenizer.chat_template.tool_use", "{{ y }}");
  writer.array<uint8_t>("tokenizer.ggml.precompiled_charsmap", 0, {1, 255});
  const std::string path = folder.write("file.gguf", writer.bytes());
  const Result<Checkpoint> opened = open_gguf_checkpoint(path);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  EXPECT_EQ(opened->name, "Tiny");
  EXPECT_EQ(opened->licence, "mit");
  EXPECT_EQ(opened->config["vocab_size"], 3);
  EXPECT_EQ(opened->generation_config["eos_token_id"], 1);
  EXPECT_EQ(opened->chat_template, "{{ x }}");
  EXPECT_THAT(opened->named_chat_templates, ElementsAre(Pair("tool_use", "{{ y }}")));
  EXPECT_THAT(opened->files, ElementsAre(path));
  EXPECT_NE(opened->weights->find("model.embed_tokens.weight"), nullptr);
  ASSERT_TRUE(opened->tokenizer.gguf.has_value());
  const text::GgufVocabulary& vocabulary = *opened->tokenizer.gguf;
  EXPECT_EQ(vocabulary.model, "gpt2");
  EXPECT_EQ(vocabulary.pre, "smollm");
  EXPECT_EQ(vocabulary.architecture, "llama");
  EXPECT_THAT(vocabulary.tokens, ElementsAre("a", "b", "ab"));
  EXPECT_THAT(vocabulary.scores, ElementsAre(0, -1, -2));
  EXPECT_THAT(vocabulary.token_types, ElementsAre(1, 1, 3));
  EXPECT_THAT(vocabulary.merges, ElementsAre("a b"));
  EXPECT_EQ(vocabulary.bos_token_id, 2);
  EXPECT_EQ(vocabulary.unknown_token_id, -1);
  EXPECT_EQ(vocabulary.add_bos_token, 1);
  EXPECT_EQ(vocabulary.add_space_prefix, 0);
  EXPECT_EQ(vocabulary.add_eos_token, -1);
  EXPECT_EQ(vocabulary.precompiled_charsmap, "\x01\xff");
}

TEST(GgufCheckpoint, TheFileGivesAMissingName) {
  TempFolder folder;
  EXPECT_EQ(open_gguf_checkpoint(folder.write("my-model.gguf", with_vocabulary().bytes()))->name, "my-model");
}

TEST(GgufCheckpoint, AFileMayHaveNoVocabulary) {
  TempFolder folder;
  GgufWriter writer = tiny_model("llama")
                          .floats("token_embd.weight", {8, 3})
                          .u32("tokenizer.ggml.eos_token_id", 2)
                          .u32("tokenizer.ggml.padding_token_id", UINT32_MAX);
  const Result<Checkpoint> opened = open_gguf_checkpoint(folder.write("m.gguf", writer.bytes()));
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  EXPECT_FALSE(opened->tokenizer.gguf.has_value());
  EXPECT_EQ(opened->config["eos_token_id"], 2);
  EXPECT_FALSE(opened->config.contains("pad_token_id"));
  EXPECT_FALSE(opened->generation_config.contains("pad_token_id"));
}

TEST(GgufCheckpoint, TheMappingOutlivesTheFileObject) {
  TempFolder folder;
  ConstantPtr embedding;
  {
    const Result<Checkpoint> opened = open_gguf_checkpoint(folder.write("m.gguf", with_vocabulary().bytes()));
    embedding = opened->weights->find("model.embed_tokens.weight");
  }
  EXPECT_EQ(testing::streamed_floats(*embedding)[23], 23.0f);
}

TEST(GgufCheckpoint, VocabulariesThatContradictThemselvesAreRefused) {
  TempFolder folder;
  const auto refusal = [&](GgufWriter writer) { return open_gguf_checkpoint(folder.write("m.gguf", writer.bytes())).status().message(); };
  const auto tokens = [] {
    return tiny_model("llama").floats("token_embd.weight", {8, 3}).strings("tokenizer.ggml.tokens", {"a", "b", "ab"});
  };
  EXPECT_THAT(refusal(tokens().array<float>("tokenizer.ggml.scores", 6, {0})),
              HasSubstr("(" + folder.file("m.gguf") + ": tokenizer.ggml.scores): expected 3 entries, one a token, found 1"));
  EXPECT_THAT(refusal(tokens().array<int32_t>("tokenizer.ggml.token_type", 5, {1, 1})), HasSubstr("tokenizer.ggml.token_type"));
  EXPECT_THAT(refusal(tokens().u32("tokenizer.ggml.eos_token_id", 3)), HasSubstr("an id below 3, found 3"));
  EXPECT_THAT(refusal(tokens().string("tokenizer.ggml.scores", "x")), HasSubstr("found string"));
  EXPECT_THAT(refusal(tokens().u32("tokenizer.chat_template", 1)), HasSubstr("tokenizer.chat_template"));
}

}  // namespace
}  // namespace pteron::importer
