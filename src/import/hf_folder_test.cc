#include "import/hf_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "import/test_files.h"

namespace pteron::importer {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using testing::safetensors;
using testing::TempFolder;

class HfFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_.write("config.json", R"({"architectures": ["LlamaForCausalLM"]})");
    folder_.write("model.safetensors", safetensors(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", "1234"));
  }
  Result<Checkpoint> open() { return open_hf_folder(folder_.path()); }
  std::string refusal() {
    const Result<Checkpoint> opened = open();
    EXPECT_FALSE(opened.ok());
    return opened.status().message();
  }
  TempFolder folder_;
};

TEST_F(HfFolder, NeedsOnlyConfigAndWeights) {
  const Result<Checkpoint> opened = open();
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  EXPECT_EQ(opened->config["architectures"][0], "LlamaForCausalLM");
  EXPECT_TRUE(opened->generation_config.is_null());
  EXPECT_TRUE(opened->tokenizer.tokenizer_json.empty());
  EXPECT_TRUE(opened->tokenizer.tokenizer_config.is_null());
  EXPECT_FALSE(opened->tokenizer.gguf.has_value());
  EXPECT_TRUE(opened->chat_template.empty());
  EXPECT_EQ(opened->name, std::filesystem::path(folder_.path()).filename().string());
  EXPECT_THAT(opened->weights->names(), ElementsAre("w"));
  EXPECT_THAT(opened->files, ElementsAre(folder_.file("config.json"), folder_.file("model.safetensors")));
}

TEST_F(HfFolder, ReadsAllTheRest) {
  folder_.write("generation_config.json", R"({"eos_token_id": [1, 2]})");
  folder_.write("tokenizer.json", "{\"model\": 1}");
  folder_.write("tokenizer_config.json", R"({"chat_template": "{{ a }}", "bos_token": "<s>"})");
  folder_.write("special_tokens_map.json", R"({"eos_token": "</s>"})");
  folder_.write("added_tokens.json", R"({"<x>": 3})");
  folder_.write("README.md", "---\nlanguage: en\nlicense: apache-2.0\n---\nlicense: other\n");
  const Result<Checkpoint> opened = open();
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  EXPECT_EQ(opened->generation_config["eos_token_id"][1], 2);
  EXPECT_EQ(opened->tokenizer.tokenizer_json, "{\"model\": 1}");
  EXPECT_EQ(opened->tokenizer.tokenizer_config["bos_token"], "<s>");
  EXPECT_EQ(opened->tokenizer.special_tokens_map["eos_token"], "</s>");
  EXPECT_EQ(opened->tokenizer.added_tokens["<x>"], 3);
  EXPECT_EQ(opened->chat_template, "{{ a }}");
  EXPECT_EQ(opened->licence, "apache-2.0");
  EXPECT_EQ(opened->files.size(), 7u);
}

TEST_F(HfFolder, ALicenceIsOnlyTakenFromTheFrontMatter) {
  for (const char* card : {"license: mit\n", "---\ntags: x\n---\nlicense: mit\n", "---\nlicense:\n---\n", "---"}) {
    folder_.write("README.md", card);
    EXPECT_EQ(open()->licence, "") << card;
  }
  folder_.write("README.md", "---\r\nlicense: \"mit\"\r\n---\r\n");
  EXPECT_EQ(open()->licence, "mit");
}

TEST_F(HfFolder, TemplatesComeInThreeForms) {
  folder_.write("tokenizer_config.json",
                R"({"chat_template": [{"name": "tool_use", "template": "T"}, {"name": "default", "template": "D"}]})");
  EXPECT_EQ(open()->chat_template, "D");
  EXPECT_THAT(open()->named_chat_templates, ElementsAre(Pair("tool_use", "T")));
  folder_.write("chat_template.jinja", "J");
  std::filesystem::create_directory(folder_.file("additional_chat_templates"));
  folder_.write("additional_chat_templates/rag.jinja", "R");
  folder_.write("additional_chat_templates/notes.txt", "N");
  EXPECT_EQ(open()->chat_template, "J");
  EXPECT_THAT(open()->named_chat_templates, ElementsAre(Pair("rag", "R"), Pair("tool_use", "T")));
}

TEST_F(HfFolder, ATemplateOfAProcessorCounts) {
  folder_.write("tokenizer_config.json", R"({"chat_template": null})");
  folder_.write("chat_template.json", R"({"chat_template": "P"})");
  EXPECT_EQ(open()->chat_template, "P");
}

TEST_F(HfFolder, MalformedTemplatesAreNamed) {
  for (const char* text : {R"({"chat_template": 1})", R"({"chat_template": [1]})", R"({"chat_template": [{"name": "x"}]})",
                           R"({"chat_template": [{"name": 1, "template": "x"}]})"}) {
    folder_.write("tokenizer_config.json", text);
    EXPECT_THAT(refusal(), HasSubstr("tokenizer_config.json: chat_template)")) << text;
  }
}

TEST_F(HfFolder, MalformedFilesAreNamed) {
  for (const char* name :
       {"generation_config.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "config.json"}) {
    HfFolder::SetUp();
    for (const char* text : {"{", "[]", ""}) {
      folder_.write(name, text);
      EXPECT_THAT(refusal(), HasSubstr(folder_.file(name))) << text;
    }
    std::filesystem::remove(folder_.file(name));
  }
}

TEST_F(HfFolder, EveryTruncationOfTheConfigIsRefused) {
  const std::string text = R"({"architectures": ["LlamaForCausalLM"], "hidden_size": 8})";
  for (size_t length = 0; length < text.size(); ++length) {
    folder_.write("config.json", text.substr(0, length));
    EXPECT_THAT(refusal(), HasSubstr("config.json")) << length;
  }
}

TEST_F(HfFolder, MissingPartsAreSaid) {
  std::filesystem::remove(folder_.file("model.safetensors"));
  EXPECT_THAT(refusal(), HasSubstr("no weights in the checkpoint"));
  std::filesystem::remove(folder_.file("config.json"));
  EXPECT_THAT(refusal(), AllOf(HasSubstr("no checkpoint in the folder"), HasSubstr("expected config.json, found an empty folder")));
  folder_.write("model.gguf", "x");
  EXPECT_THAT(refusal(), HasSubstr("found no such file"));
}

}  // namespace
}  // namespace pteron::importer
