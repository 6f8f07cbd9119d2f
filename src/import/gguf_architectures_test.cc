#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "import/gguf_config.h"
#include "import/test_files.h"

namespace pteron::importer {
namespace {

using ::testing::AllOf;
using testing::GgufWriter;
using ::testing::HasSubstr;

Result<const GgufArchitecture*> architecture_of(const GgufWriter& writer) {
  const std::string bytes = writer.bytes();
  const Result<GgufFile> file = GgufFile::parse(FileBytes::borrow(as_bytes(bytes)));
  EXPECT_TRUE(file.ok());
  return gguf_architecture(*file);
}

TEST(GgufArchitectures, KnownOnesHaveAClass) {
  for (const auto& [name, hf_class] : std::vector<std::pair<std::string, std::string>>{{"llama", "LlamaForCausalLM"},
                                                                                       {"qwen2", "Qwen2ForCausalLM"},
                                                                                       {"qwen3", "Qwen3ForCausalLM"},
                                                                                       {"gemma", "GemmaForCausalLM"},
                                                                                       {"gemma2", "Gemma2ForCausalLM"},
                                                                                       {"gemma3", "Gemma3ForCausalLM"},
                                                                                       {"phi3", "Phi3ForCausalLM"},
                                                                                       {"smollm3", "SmolLM3ForCausalLM"},
                                                                                       {"olmo2", "Olmo2ForCausalLM"},
                                                                                       {"granite", "GraniteForCausalLM"},
                                                                                       {"stablelm", "StableLmForCausalLM"},
                                                                                       {"command-r", "CohereForCausalLM"},
                                                                                       {"gpt2", "GPT2LMHeadModel"},
                                                                                       {"gptneox", "GPTNeoXForCausalLM"},
                                                                                       {"falcon", "FalconForCausalLM"}}) {
    const auto found = architecture_of(GgufWriter().string("general.architecture", name));
    ASSERT_TRUE(found.ok()) << name;
    EXPECT_EQ((*found)->hf_class, hf_class);
    EXPECT_EQ((*found)->name, name);
  }
}

TEST(GgufArchitectures, AnUnknownOneListsTheKnown) {
  const auto found = architecture_of(GgufWriter().string("general.architecture", "mamba"));
  EXPECT_EQ(found.code(), Code::unsupported);
  EXPECT_THAT(found.status().message(), AllOf(HasSubstr("(general.architecture): expected one of llama, qwen2"), HasSubstr("found mamba")));
}

TEST(GgufArchitectures, TheKeyIsNeededAndAString) {
  EXPECT_EQ(architecture_of(GgufWriter()).code(), Code::invalid_data);
  EXPECT_EQ(architecture_of(GgufWriter().u32("general.architecture", 1)).code(), Code::invalid_data);
}

TEST(GgufArchitectures, AFalconWithTwoNormsNamesThemSo) {
  GgufWriter one, two;
  one.string("general.architecture", "falcon");
  two.string("general.architecture", "falcon").floats("blk.0.attn_norm_2.weight", {8});
  EXPECT_TRUE((*architecture_of(one))->own.empty());
  EXPECT_FALSE((*architecture_of(two))->own.empty());
}

}  // namespace
}  // namespace pteron::importer
