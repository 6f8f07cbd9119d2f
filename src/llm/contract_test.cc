#include "llm/contract.h"

#include <chrono>
#include <functional>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

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

TEST(Contract, ReadsEveryField) {
  const auto contract = parse_contract(TinyProgram(every_feature()).contract_json());
  ASSERT_TRUE(contract.ok()) << contract.status().message();
  EXPECT_EQ(contract->context_length, 24);
  EXPECT_EQ(contract->vocab_size, 13);
  EXPECT_EQ(contract->architecture, "Tiny");
  ASSERT_EQ(contract->methods.size(), 2u);
  const MethodSpec* prefill = contract->method(MethodRole::prefill);
  ASSERT_NE(prefill, nullptr);
  EXPECT_EQ(prefill->rows, 4);
  EXPECT_EQ(prefill->logits_rows, LogitsRows::selected);
  EXPECT_EQ(prefill->inputs.size(), 10u);
  EXPECT_EQ(prefill->inputs[4].role, InputRole::key_cache);
  EXPECT_EQ(prefill->outputs.size(), 5u);
  EXPECT_EQ(prefill->outputs[2].role, OutputRole::value_state);
  EXPECT_EQ(prefill->outputs[2].aliases, 5u);
  EXPECT_EQ(contract->method(MethodRole::verify)->rows, 3);
  EXPECT_EQ(contract->largest_rows(), 4);
  ASSERT_EQ(contract->layers.size(), 2u);
  EXPECT_EQ(contract->layers[1].kind, LayerKind::sliding);
  EXPECT_EQ(contract->layers[1].window, 6);
  EXPECT_EQ(contract->layers[1].slots, 9);
  ASSERT_TRUE(contract->rope.has_value());
  EXPECT_EQ(contract->rope->tables[0].inverse_frequencies[1], 0.125);
  EXPECT_EQ(contract->rope->layers[1], 0u);
  EXPECT_EQ(cache_bytes_per_token(*contract), 2u * 2 * (4 + 3) * 4);
  EXPECT_EQ(cache_bytes(*contract), (24u + 9) * 2 * (4 + 3) * 4);
}

TEST(Contract, IdentifiesAnyContract) {
  auto id = identify_contract(R"({"contract": "other", "version": 7, "whatever": [1]})");
  ASSERT_TRUE(id.ok());
  EXPECT_EQ(id->contract, "other");
  EXPECT_EQ(id->version, 7);
  EXPECT_EQ(identify_contract(R"({"version": 7})").status().detail().field, "contract");
  EXPECT_EQ(identify_contract(R"({"contract": "x", "version": "1"})").status().detail().field, "version");
  EXPECT_EQ(identify_contract("[]").code(), Code::invalid_data);
}

TEST(Contract, UnknownIdentityOrFeatureIsUnsupported) {
  ordered_json object = ordered_json::parse(TinyProgram(TinyConfig()).contract_json());
  const auto code_with = [&](const char* key, const ordered_json& value) {
    ordered_json changed = object;
    changed[key] = value;
    const auto parsed = parse_contract(changed.dump());
    return parsed.code();
  };
  EXPECT_EQ(code_with("contract", "hf_dynamic"), Code::unsupported);
  EXPECT_EQ(code_with("version", 2), Code::unsupported);
  EXPECT_EQ(code_with("requires", {"teleportation"}), Code::unsupported);
  EXPECT_EQ(code_with("requires", {1}), Code::invalid_data);
  EXPECT_EQ(code_with("requires", ordered_json::array()), Code::ok);
  EXPECT_EQ(code_with("something new", {{"a", 1}}), Code::ok) << "unknown optional keys are ignored";
  object["methods"][0]["inputs"][0]["note"] = "x";
  EXPECT_EQ(parse_contract(object.dump()).code(), Code::ok);
}

// Writes `json`, with the member at `target` written by `write` instead.
void dump(const ordered_json& json, const std::string& path, const std::string& target, const std::function<std::string(const std::string& key, const ordered_json&)>& write,
          std::string& out) {
  const auto child = [&](const std::string& here, const std::string& key, const ordered_json& value) {
    const std::string prefix = key.empty() ? "" : "\"" + key + "\":";
    if (here == target) {
      out += write(prefix, value);
    } else {
      out += prefix;
      dump(value, here, target, write, out);
    }
  };
  if (json.is_object()) {
    out += '{';
    bool first = true;
    for (const auto& [key, value] : json.items()) {
      std::string member;
      std::swap(member, out);
      child(path.empty() ? key : path + "." + key, key, value);
      std::swap(member, out);
      if (member.empty()) continue;
      if (!first) out += ',';
      out += member;
      first = false;
    }
    out += '}';
  } else if (json.is_array()) {
    out += '[';
    for (size_t i = 0; i < json.size(); ++i) {
      if (i > 0) out += ',';
      child(path + "[" + std::to_string(i) + "]", "", json[i]);
    }
    out += ']';
  } else {
    out += json.dump();
  }
}

void collect(const ordered_json& json, const std::string& path, std::vector<std::pair<std::string, ordered_json>>& out) {
  if (json.is_object()) {
    for (const auto& [key, value] : json.items()) {
      const std::string here = path.empty() ? key : path + "." + key;
      out.emplace_back(here, value);
      collect(value, here, out);
    }
  } else if (json.is_array()) {
    for (size_t i = 0; i < json.size(); ++i) {
      const std::string here = path + "[" + std::to_string(i) + "]";
      out.emplace_back(here, json[i]);
      collect(json[i], here, out);
    }
  }
}

bool is_element(const std::string& path) { return path.ends_with("]"); }

struct Mutation {
  std::string path, name, json;
};

// Every value of the object, made wrong in every way that its type allows.
std::vector<Mutation> mutations(const std::string& text) {
  const ordered_json object = ordered_json::parse(text);
  std::vector<std::pair<std::string, ordered_json>> values;
  collect(object, "", values);
  std::vector<Mutation> out;
  for (const auto& [path, value] : values) {
    const auto add = [&, &where = path](const std::string& name, const std::function<std::string(const std::string&, const ordered_json&)>& write) {
      std::string json;
      dump(object, "", where, write, json);
      out.push_back({where, name, json});
    };
    const auto replace = [&](const std::string& name, const std::string& with) {
      add(name, [with](const std::string& key, const ordered_json&) { return key + with; });
    };
    if (!is_element(path)) {
      add("missing", [](const std::string&, const ordered_json&) { return std::string(); });
      add("duplicated", [](const std::string& key, const ordered_json& v) { return key + v.dump() + "," + key + v.dump(); });
    }
    replace("wrong type", value.is_string() ? "5" : "\"text\"");
    replace("null", "null");
    if (value.is_number()) {
      replace("negative", "-1");
      replace("huge", "123456789012345678901234567890");
      replace("large", "9223372036854775807");
      replace("a fraction", "1.5");
      replace("disagreeing", std::to_string(value.is_number_integer() ? value.get<int64_t>() + 1 : 99));
    }
    if (value.is_string()) replace("disagreeing", "\"somebody else\"");
    if (value.is_array() && !value.empty()) replace("emptied", "[]");
  }
  return out;
}

// What may change without making the object wrong: optional keys, names for display, choices that are equally legal.
bool harmless(const Mutation& m) {
  const auto starts = [&](const char* prefix) { return m.path.rfind(prefix, 0) == 0; };
  if (m.name == "missing") {
    return m.path == "requires" || m.path == "architecture" || m.path == "verify" || m.path == "rope";
  }
  if (m.name == "disagreeing") return m.path == "architecture" || m.path == "pad_token" || starts("rope.tables[0].inverse_frequencies");
  if (m.name == "null") return starts("rope.layers[");
  if (starts("rope.tables[0].inverse_frequencies[")) return m.name != "wrong type" && m.name != "null";  // any number will do
  return false;
}

TEST(Contract, EveryMutationIsAnErrorOfItsOwn) {
  TinyProgram program(every_feature());
  const std::string text = program.contract_json();
  ASSERT_TRUE(validate_contract(*parse_contract(text), program.infos()).ok());
  size_t refused = 0;
  for (const Mutation& m : mutations(text)) {
    SCOPED_TRACE(m.name + " " + m.path);
    auto parsed = parse_contract(m.json);
    const Status status = parsed.ok() ? validate_contract(*parsed, program.infos()) : parsed.status();
    if (harmless(m)) {
      EXPECT_TRUE(status.ok()) << status.message();
      continue;
    }
    ++refused;
    ASSERT_FALSE(status.ok()) << m.json;
    EXPECT_FALSE(status.detail().field.empty()) << status.message();
    EXPECT_FALSE(status.detail().expected.empty()) << status.message();
    EXPECT_FALSE(status.detail().found.empty()) << status.message();
    // What a single value shows to be wrong is reported at that value.
    if (m.name == "missing" || m.name == "duplicated" || m.name == "wrong type" || m.name == "null" || m.name == "negative" || m.name == "huge" || m.name == "a fraction") {
      EXPECT_EQ(status.detail().field, m.path) << status.message();
    }
    // Anything the program says otherwise is at or beside the value.
    if (m.name == "disagreeing" && (m.path.find(".shape[") != std::string::npos || m.path.ends_with(".dtype"))) {
      EXPECT_EQ(status.detail().field.substr(0, m.path.find(']')), m.path.substr(0, m.path.find(']')));
    }
  }
  EXPECT_GT(refused, 1000u);
}

TEST(Contract, SixtyFourLayersTakeLessThanAMillisecond) {
  TinyConfig config;
  config.layers.assign(64, {});
  for (size_t i = 0; i < 64; i += 2) config.layers[i].window = 6;
  config.states = testing::States::separate;
  const TinyProgram program(config);
  const std::string json = program.contract_json();
  double best = 1e9;
  for (int i = 0; i < 20; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const auto contract = parse_contract(json);
    ASSERT_TRUE(contract.ok());
    ASSERT_TRUE(validate_contract(*contract, program.infos()).ok());
    best = std::min(best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  }
  std::printf("[          ] %.3f ms, %zu bytes\n", best, json.size());
#if defined(NDEBUG)
  EXPECT_LT(best, 1.0);
#endif
}

}  // namespace
}  // namespace pteron::llm
