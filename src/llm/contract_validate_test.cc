#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "llm/contract.h"
#include "llm/testing/tiny_program.h"

namespace pteron::llm {
namespace {

using nlohmann::ordered_json;
using testing::TinyConfig;
using testing::TinyProgram;

TinyConfig every_feature() {
  TinyConfig config;
  config.layers = {{}, {.window = 6}};
  config.states = testing::States::separate;
  config.counter = true;
  config.verify_rows = 3;
  return config;
}

// The other direction: the object stays, the program changes.
TEST(ContractValidate, EveryChangeOfTheProgramIsNoticed) {
  const TinyProgram original(every_feature());
  const Contract contract = *parse_contract(original.contract_json());
  size_t checked = 0;
  const auto expect_refused = [&](const std::string& what, const std::function<void(std::vector<MethodInfo>&)>& change) {
    std::vector<MethodInfo> infos(original.infos().begin(), original.infos().end());
    change(infos);
    const Status status = validate_contract(contract, infos);
    EXPECT_FALSE(status.ok()) << what;
    EXPECT_EQ(status.code(), Code::invalid_data) << what;
    EXPECT_FALSE(status.detail().field.empty()) << what;
    EXPECT_FALSE(status.detail().expected.empty()) << what;
    ++checked;
  };
  for (size_t m = 0; m < 3; ++m) {
    const std::string name = original.infos()[m].name;
    expect_refused(name + " renamed", [&](auto& infos) { infos[m].name = "renamed"; });
    expect_refused(name + " constant", [&](auto& infos) { infos[m].constant = true; });
    expect_refused(name + " one input fewer", [&](auto& infos) { infos[m].inputs.pop_back(); });
    expect_refused(name + " one input more", [&](auto& infos) { infos[m].inputs.push_back(infos[m].inputs[0]); });
    expect_refused(name + " one output fewer", [&](auto& infos) { infos[m].outputs.pop_back(); });
    expect_refused(name + " an undeclared output", [&](auto& infos) { infos[m].outputs.push_back(infos[m].outputs[0]); });
    for (const bool output : {false, true}) {
      const size_t count = output ? original.infos()[m].outputs.size() : original.infos()[m].inputs.size();
      for (size_t i = 0; i < count; ++i) {
        const auto slot = [&](std::vector<MethodInfo>& infos) -> SlotInfo& { return output ? infos[m].outputs[i] : infos[m].inputs[i]; };
        const std::string what = name + (output ? " output " : " input ") + std::to_string(i);
        expect_refused(what + " kind", [&](auto& infos) { slot(infos).kind = ValueKind::number_int; });
        expect_refused(what + " dtype", [&](auto& infos) { slot(infos).dtype = ScalarType::Double; });
        expect_refused(what + " dynamic", [&](auto& infos) { slot(infos).dynamic = true; });
        expect_refused(what + " rank", [&](auto& infos) { slot(infos).sizes.push_back(1); });
        const bool state = output && i > 0;
        if (!state) expect_refused(what + " planned", [&](auto& infos) { slot(infos).planned = true; });
        for (size_t d = 0; d < (output ? original.infos()[m].outputs[i] : original.infos()[m].inputs[i]).sizes.size(); ++d) {
          expect_refused(what + " size", [&](auto& infos) { slot(infos).sizes[d] += 1; });
        }
      }
    }
  }
  expect_refused("permuted", [&](auto& infos) { std::swap(infos[0].inputs[4].dim_order[1], infos[0].inputs[4].dim_order[2]); });
  EXPECT_GT(checked, 300u);
}

TEST(ContractValidate, APlannedStateOutputIsAccepted) {
  TinyConfig config;
  config.states = testing::States::planned;
  TinyProgram program(config);
  EXPECT_TRUE(validate_contract(*parse_contract(program.contract_json()), program.infos()).ok());
}

TEST(ContractValidate, PublishedIntegersMustAgree) {
  TinyProgram program(every_feature());
  const Contract contract = *parse_contract(program.contract_json());
  const auto with = [&](const std::string& name, ValueKind kind, int64_t value) {
    std::vector<MethodInfo> infos(program.infos().begin(), program.infos().end());
    MethodInfo info;
    info.name = name;
    info.constant = true;
    info.outputs.resize(1);
    info.outputs[0].kind = kind;
    info.outputs[0].int_value = value;
    info.outputs[0].bool_value = value != 0;
    infos.push_back(info);
    return validate_contract(contract, infos).detail().field;
  };
  for (const auto& [name, right] : std::vector<std::pair<std::string, int64_t>>{{"get_max_context_len", 24}, {"get_max_seq_len", 24}, {"get_vocab_size", 13}, {"get_n_layers", 2}}) {
    EXPECT_EQ(with(name, ValueKind::number_int, right), "");
    EXPECT_EQ(with(name, ValueKind::number_int, right + 1), name);
    EXPECT_EQ(with(name, ValueKind::string, right), name);
  }
  EXPECT_EQ(with("use_kv_cache", ValueKind::boolean, 1), "");
  EXPECT_EQ(with("use_kv_cache", ValueKind::boolean, 0), "use_kv_cache");
}

// Rules that single values cannot break.
TEST(ContractValidate, RulesBetweenValues) {
  const TinyProgram program(every_feature());
  const ordered_json object = ordered_json::parse(program.contract_json());
  const auto field_with = [&](const std::function<void(ordered_json&)>& change) {
    ordered_json changed = object;
    change(changed);
    const auto parsed = parse_contract(changed.dump());
    EXPECT_TRUE(parsed.ok()) << parsed.status().message();
    return parsed.ok() ? validate_contract(*parsed, program.infos()).detail().field : "";
  };
  EXPECT_EQ(field_with([](auto& o) { o["pad_token"] = 13; }), "pad_token");
  EXPECT_EQ(field_with([](auto& o) { o["methods"].erase(1); }), "methods");
  EXPECT_EQ(field_with([](auto& o) { o["methods"][1]["role"] = "prefill"; }), "methods[1].role");
  EXPECT_EQ(field_with([](auto& o) { o["methods"][0]["name"] = "decode"; }), "methods[1].name");
  EXPECT_EQ(field_with([](auto& o) { o["methods"][0]["rows"] = 25; }), "methods[0].rows");
  EXPECT_EQ(field_with([](auto& o) { o["methods"][0]["rows"] = 1; }), "methods[0].rows");
  EXPECT_EQ(field_with([](auto& o) { o["cache"]["layers"][1]["slots"] = 8; }), "cache.layers[1].slots") << "one slot fewer than W + C - 1";
  EXPECT_EQ(field_with([](auto& o) { o["cache"]["layers"][1]["window"] = 0; }), "cache.layers[1].window");
  EXPECT_EQ(field_with([](auto& o) { o["cache"]["layers"][0]["kind"] = "sliding", o["cache"]["layers"][0]["window"] = 5; }), "cache.layers[1].window")
      << "one mask serves all sliding layers";
  EXPECT_EQ(field_with([](auto& o) { o["cache"]["dtype"] = "int8"; }), "cache.dtype");
  EXPECT_EQ(field_with([](auto& o) { o["masks"].erase(1); }), "masks");
  EXPECT_EQ(field_with([](auto& o) { o["masks"][1]["kind"] = "full"; }), "masks[1].kind");
  EXPECT_EQ(field_with([](auto& o) { o["masks"][1]["name"] = "full"; }), "masks[1].name");
  EXPECT_EQ(field_with([](auto& o) { o["methods"][0]["inputs"][1]["index"] = 0; }), "methods[0].inputs[1].index");
  EXPECT_EQ(field_with([](auto& o) { o["methods"][0]["inputs"][1]["index"] = 99; }), "methods[0].inputs[1].index");
  EXPECT_EQ(field_with([](auto& o) { o["methods"][0]["inputs"][6]["layer"] = 0; }), "methods[0].inputs[6].shape[2]");
  EXPECT_EQ(field_with([](auto& o) { o["methods"][0]["inputs"][5]["role"] = "key_cache"; }), "methods[0].inputs[5].shape[3]");
  EXPECT_EQ(field_with([](auto& o) { o["methods"][0]["inputs"].erase(9); }), "methods[0].inputs") << "selected logits need last_row";
  EXPECT_EQ(field_with([](auto& o) { o["methods"][1]["outputs"][1]["aliases"] = 0; }), "methods[1].outputs[1].aliases");
  EXPECT_EQ(field_with([](auto& o) { o["methods"][1]["outputs"][1]["layer"] = 1; }), "methods[1].outputs[1].layer");
  EXPECT_EQ(field_with([](auto& o) { o["verify"]["logits_rows"] = "selected"; }), "verify.logits_rows");
  EXPECT_EQ(field_with([](auto& o) { o["rope"]["tables"][0]["dims"] = 6; }), "rope.tables[0].inverse_frequencies");
  EXPECT_EQ(field_with([](auto& o) { o["rope"]["layers"].erase(0); }), "rope.layers");
}

TEST(ContractValidate, ProductsThatOverflowAreErrors) {
  const TinyProgram program{TinyConfig()};
  ordered_json object = ordered_json::parse(program.contract_json());
  for (auto& layer : object["cache"]["layers"]) layer["heads"] = layer["key_dim"] = layer["value_dim"] = 2147483647;
  const Status status = validate_contract(*parse_contract(object.dump()), program.infos());
  EXPECT_EQ(status.detail().field, "cache.layers[0]") << status.message();
  object = ordered_json::parse(program.contract_json());
  object["methods"][0]["inputs"][0]["shape"] = {4294967296, 4294967296, 4294967296};
  EXPECT_EQ(validate_contract(*parse_contract(object.dump()), program.infos()).detail().field, "methods[0].inputs[0].shape");
}

}  // namespace
}  // namespace pteron::llm
