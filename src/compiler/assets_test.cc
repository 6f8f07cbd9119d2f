#include "compiler/assets.h"

#include <gtest/gtest.h>

#include "import/test_files.h"

namespace pteron::compiler {
namespace {

using importer::testing::TempFolder;
using nlohmann::json;

importer::Checkpoint checkpoint() {
  importer::Checkpoint out;
  out.source = "model";
  out.name = "Tiny";
  out.config = {{"architectures", {"LlamaForCausalLM"}}};
  return out;
}

std::string text_of(const emit::NamedBytes& entry) {
  std::string out;
  EXPECT_TRUE(entry.stream([&](ByteSpan bytes) {
    out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return Status();
  }).ok());
  EXPECT_EQ(out.size(), entry.nbytes) << entry.key;
  return out;
}

const emit::NamedBytes* find(const std::vector<emit::NamedBytes>& entries, const std::string& key) {
  for (const auto& entry : entries) {
    if (entry.key == key) return &entry;
  }
  return nullptr;
}

TEST(SpecialTokens, GenerationConfigurationBeforeTheModels) {
  importer::Checkpoint source = checkpoint();
  source.config["bos_token_id"] = 1;
  source.config["eos_token_id"] = 2;
  source.config["pad_token_id"] = 5;
  auto tokens = special_tokens(source, {{"eos_token_id", {7, 8}}}, 10);
  ASSERT_TRUE(tokens.ok());
  EXPECT_EQ(tokens->bos, 1);
  EXPECT_EQ(tokens->eos, (std::vector<int64_t>{7, 8}));
  EXPECT_EQ(tokens->pad, 5);
  tokens = special_tokens(source, nullptr, 10);
  EXPECT_EQ(tokens->eos, (std::vector<int64_t>{2}));
}

TEST(SpecialTokens, IdsOutsideTheVocabularyAreLeftOutAndWrongTypesAreErrors) {
  importer::Checkpoint source = checkpoint();
  source.config["bos_token_id"] = 10;
  source.config["eos_token_id"] = {-1, 9};
  source.config["pad_token_id"] = 99;
  const auto tokens = special_tokens(source, nullptr, 10);
  ASSERT_TRUE(tokens.ok());
  EXPECT_FALSE(tokens->bos.has_value());
  EXPECT_EQ(tokens->eos, (std::vector<int64_t>{9}));
  EXPECT_EQ(tokens->pad, 0) << "always an id of the vocabulary";
  source.config["eos_token_id"] = "end";
  const Status status = special_tokens(source, nullptr, 10).status();
  EXPECT_EQ(status.detail().field, "eos_token_id");
  EXPECT_EQ(status.detail().found, "\"end\"");
}

TEST(GenerationConfig, TheRequestsFileReplacesTheSources) {
  const TempFolder folder;
  importer::Checkpoint source = checkpoint();
  source.generation_config = {{"temperature", 0.5}};
  CompileRequest request;
  EXPECT_EQ(*generation_config(request, source, 10), source.generation_config);
  request.generation_config = folder.write("mine.json", R"({"top_k": 3})");
  EXPECT_EQ(*generation_config(request, source, 10), json({{"top_k", 3}}));
  request.generation_config = folder.write("broken.json", "{");
  EXPECT_EQ(generation_config(request, source, 10).status().detail().file, request.generation_config);
  request.generation_config = folder.file("nothing");
  EXPECT_EQ(generation_config(request, source, 10).code(), Code::not_found);
}

TEST(GenerationConfig, WhatASessionCouldNotUseIsNamed) {
  importer::Checkpoint source = checkpoint();
  const auto refused = [&](json config) {
    source.generation_config = std::move(config);
    const Status status = generation_config({}, source, 10).status();
    const Detail& detail = status.detail();
    return detail.file + " " + detail.field + " " + detail.expected + " " + detail.found;
  };
  const std::string file = "model/generation_config.json ";
  EXPECT_EQ(refused({{"temperature", -1}}), file + "temperature at least 0 -1");
  EXPECT_EQ(refused({{"temperature", "hot"}}), file + "temperature a number \"hot\"");
  EXPECT_EQ(refused({{"temperature", std::nan("")}}), file + "temperature a number null");
  EXPECT_EQ(refused({{"top_p", 1.5}}), file + "top_p 0 to 1 1.5");
  EXPECT_EQ(refused({{"min_p", -0.5}}), file + "min_p 0 to 1 -0.5");
  EXPECT_EQ(refused({{"typical_p", 0}}), file + "typical_p above 0, at most 1 0");
  EXPECT_EQ(refused({{"repetition_penalty", 0}}), file + "repetition_penalty above 0 0");
  EXPECT_EQ(refused({{"top_k", 1.5}}), file + "top_k an integer from 0 to 2147483647 1.5");
  EXPECT_EQ(refused({{"do_sample", 1}}), file + "do_sample true or false 1");
  EXPECT_EQ(refused({{"eos_token_id", 10}}), file + "eos_token_id an integer from 0 to 9 10");
  EXPECT_EQ(refused({{"eos_token_id", {3, -1}}}), file + "eos_token_id an integer from 0 to 9 -1");
  EXPECT_EQ(refused(json::array()), file + " an object []");
  EXPECT_EQ(refused({{"temperature", 0}, {"top_k", 0}, {"typical_p", 1}, {"eos_token_id", {0, 9}}, {"pad_token_id", -1}, {"min_p", nullptr}, {"mine", "x"}}), "   ");
}

TEST(Assets, TheModelCardIsAlwaysThere) {
  const TempFolder folder;
  importer::Checkpoint source = checkpoint();
  source.licence = "mit";
  source.chat_template = "{{ messages }}";
  source.files = {folder.write("config.json", "abc")};
  CompileRequest request;
  request.assets = false;
  std::vector<std::string> warnings;
  const auto entries = make_assets(request, source, nullptr, {{"backend", "portable"}}, warnings);
  ASSERT_TRUE(entries.ok()) << entries.status().message();
  ASSERT_EQ(entries->size(), 1u);
  EXPECT_EQ((*entries)[0].key, "model_card");
  const json card = json::parse(text_of((*entries)[0]));
  EXPECT_EQ(card["name"], "Tiny");
  EXPECT_EQ(card["architecture"], "LlamaForCausalLM");
  EXPECT_EQ(card["licence"], "mit");
  EXPECT_EQ(card["exporter"]["name"], "pteron");
  EXPECT_EQ(card["options"]["backend"], "portable");
  ASSERT_EQ(card["sources"].size(), 1u);
  EXPECT_EQ(card["sources"][0]["file"], "config.json") << "no folder: the card says the same wherever it was made";
  EXPECT_EQ(card["sources"][0]["sha256"], "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_TRUE(warnings.empty());
}

TEST(Assets, TokenizerTemplateAndConfigurationComeFromTheSourceOrTheRequest) {
  const TempFolder folder;
  importer::Checkpoint source = checkpoint();
  source.chat_template = "of the source";
  CompileRequest request;
  std::vector<std::string> warnings;
  auto entries = make_assets(request, source, {{"top_k", 3}}, {}, warnings);
  ASSERT_TRUE(entries.ok());
  EXPECT_EQ(warnings.size(), 1u) << "no tokenizer";
  EXPECT_EQ(find(*entries, "tokenizer"), nullptr);
  EXPECT_EQ(text_of(*find(*entries, "chat_template")), "of the source");
  EXPECT_EQ(text_of(*find(*entries, "generation_config")), R"({"top_k":3})");
  request.tokenizer = PTERON_TEST_DATA "/llm/tokenizer.json";
  request.chat_template = folder.write("chat.jinja", "of the request");
  warnings.clear();
  entries = make_assets(request, source, nullptr, {}, warnings);
  ASSERT_TRUE(entries.ok()) << entries.status().message();
  EXPECT_TRUE(warnings.empty());
  EXPECT_EQ(text_of(*find(*entries, "chat_template")), "of the request");
  EXPECT_EQ(find(*entries, "generation_config"), nullptr);
  EXPECT_GT(find(*entries, "tokenizer")->nbytes, 0u);
  EXPECT_EQ(json::parse(text_of(*find(*entries, "tokenizer.json")))["version"], "1.0");
  request.tokenizer = folder.write("tokenizer.json", "{}");
  EXPECT_EQ(make_assets(request, source, nullptr, {}, warnings).status().detail().file, request.tokenizer);
}

}  // namespace
}  // namespace pteron::compiler
