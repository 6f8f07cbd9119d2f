#include "compiler/contract.h"

#include <gtest/gtest.h>

#include "ir/parser.h"

namespace pteron::compiler {
namespace {

using Json = nlohmann::ordered_json;

std::string method(const std::string& name, int rows, bool selected) {
  const std::string q = std::to_string(rows), last = std::to_string(selected ? 1 : rows);
  return "method @" + name + " {\n  input %0 \"token_ids\" token_ids : int64[1," + q + "]\n  input %1 \"mask_full\" mask mask=\"full\" : float32[1,1," + q +
         ",16]\n  input %2 \"key_cache_0\" key_cache layer=0 : float32[1,1,16,4]\n" + (selected ? "  input %3 \"last_row\" last_row : int64[1]\n" : "") +
         "  input %4 \"logits_in\" user : float32[1," + last + ",11]\n  output %4 \"logits\" logits\n  output %2 \"key_state_0\" key_state layer=0 alias=2\n}\n";
}

class ContractObjectTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto module = ir::parse(method("prefill", 4, true) + method("decode", 1, false) + method("verify", 2, false));
    ASSERT_TRUE(module.ok()) << module.status().message();
    module_ = std::move(*module);
    decoder_.architecture = "TestForCausalLM";
    decoder_.vocab = 11;
    decoder_.blocks.resize(2);
    options_.context_length = 16;
    options_.cache_dtype = ScalarType::Half;
  }
  ContractFacts facts() const {
    return {.decoder = &decoder_, .options = &options_, .cache = &cache_, .ropes = &ropes_, .eos_ids = {7, 9}, .bos_id = 1, .pad_token = 3};
  }

  ir::Module module_;
  models::Decoder decoder_;
  models::BuildOptions options_;
  std::vector<models::CacheLayer> cache_ = {{.heads = 1, .key_dim = 4, .value_dim = 4, .slots = 16}, {.sliding = true, .heads = 1, .key_dim = 4, .value_dim = 4, .slots = 9, .window = 6}};
  std::vector<models::RopeTable> ropes_;
};

TEST_F(ContractObjectTest, SaysWhatTheMethodsAre) {
  const Json object = contract_object(module_, facts());
  EXPECT_EQ(object["contract"], "hf_static");
  EXPECT_EQ(object["version"], 1);
  EXPECT_EQ(object["requires"], Json::array());
  EXPECT_EQ(object["context_length"], 16);
  EXPECT_EQ(object["vocab_size"], 11);
  EXPECT_EQ(object["pad_token"], 3);
  EXPECT_EQ(object["architecture"], "TestForCausalLM");
  ASSERT_EQ(object["methods"].size(), 2u);
  const Json& prefill = object["methods"][0];
  EXPECT_EQ(prefill["role"], "prefill");
  EXPECT_EQ(prefill["rows"], 4);
  EXPECT_EQ(prefill["logits_rows"], "selected");
  EXPECT_EQ(prefill["inputs"][1], (Json{{"role", "mask"}, {"index", 1}, {"dtype", "float32"}, {"shape", {1, 1, 4, 16}}, {"mask", "full"}}));
  EXPECT_EQ(prefill["inputs"][2], (Json{{"role", "key_cache"}, {"index", 2}, {"dtype", "float32"}, {"shape", {1, 1, 16, 4}}, {"layer", 0}}));
  EXPECT_EQ(prefill["outputs"].size(), 1u) << "states are no outputs unless asked for";
  EXPECT_EQ(object["methods"][1]["logits_rows"], "all");
}

// Readers that know only version 1's two roles do not see it.
TEST_F(ContractObjectTest, TheMethodForGuessesIsAKeyOfItsOwn) {
  const Json object = contract_object(module_, facts());
  EXPECT_EQ(object["verify"]["role"], "verify");
  EXPECT_EQ(object["verify"]["rows"], 2);
  module_.methods.pop_back();
  EXPECT_FALSE(contract_object(module_, facts()).contains("verify"));
}

TEST_F(ContractObjectTest, StatesAreOutputsOnRequest) {
  ContractFacts asked = facts();
  asked.state_outputs = true;
  const Json object = contract_object(module_, asked);
  EXPECT_EQ(object["methods"][0]["outputs"][1], (Json{{"role", "key_state"}, {"index", 1}, {"dtype", "float32"}, {"shape", {1, 1, 16, 4}}, {"layer", 0}, {"aliases", 2}}));
}

TEST_F(ContractObjectTest, CachesAndMasksByKind) {
  Json object = contract_object(module_, facts());
  EXPECT_EQ(object["cache"]["dtype"], "float16");
  EXPECT_EQ(object["cache"]["layout"], "bhsd");
  EXPECT_EQ(object["cache"]["layers"][0], (Json{{"kind", "full"}, {"heads", 1}, {"key_dim", 4}, {"value_dim", 4}, {"slots", 16}}));
  EXPECT_EQ(object["cache"]["layers"][1], (Json{{"kind", "sliding"}, {"heads", 1}, {"key_dim", 4}, {"value_dim", 4}, {"slots", 9}, {"window", 6}}));
  EXPECT_EQ(object["masks"].size(), 2u);
  EXPECT_EQ(object["masks"][1], (Json{{"name", "sliding"}, {"kind", "sliding"}, {"form", "additive"}}));
  options_.boolean_mask = true;
  cache_.pop_back();
  object = contract_object(module_, facts());
  EXPECT_EQ(object["masks"], (Json::array({{{"name", "full"}, {"kind", "full"}, {"form", "boolean"}}}))) << "no mask of a kind that no layer has";
}

TEST_F(ContractObjectTest, RotationsAreGivenWhereThereAreAny) {
  EXPECT_FALSE(contract_object(module_, facts()).contains("rope"));
  ropes_.push_back({.inv_freq = {1.0F, 0.25F}});
  decoder_.ropes.resize(1);
  decoder_.ropes[0].interleaved = true;
  decoder_.blocks[0].attention.rope = 0;
  const Json object = contract_object(module_, facts());
  EXPECT_EQ(object["rope"], (Json{{"pairing", "interleaved"}, {"tables", Json::array({{{"dims", 4}, {"inverse_frequencies", {1.0, 0.25}}}})}, {"layers", {0, nullptr}}}));
}

TEST_F(ContractObjectTest, IntegersThatOtherRunnersRead) {
  const auto methods = contract_methods(module_, facts());
  std::vector<std::string> names;
  for (const auto& one : methods) names.push_back(one.name);
  EXPECT_EQ(names, (std::vector<std::string>{"io_contract", "get_max_context_len", "get_max_seq_len", "get_vocab_size", "use_kv_cache", "get_bos_id", "get_eos_ids", "get_n_layers"}));
  EXPECT_EQ(std::get<std::string>(methods[0].values[0]), contract_object(module_, facts()).dump());
  EXPECT_EQ(std::get<int64_t>(methods[1].values[0]), 16);
  EXPECT_EQ(std::get<int64_t>(methods[3].values[0]), 11);
  EXPECT_TRUE(std::get<bool>(methods[4].values[0]));
  EXPECT_EQ(methods[6].values.size(), 2u) << "one output an id";
  EXPECT_EQ(std::get<int64_t>(methods[7].values[0]), 2);
  ContractFacts without = facts();
  without.bos_id.reset();
  without.eos_ids.clear();
  EXPECT_EQ(contract_methods(module_, without).size(), methods.size() - 2);
}

}  // namespace
}  // namespace pteron::compiler
