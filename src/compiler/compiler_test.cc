#include "compiler/compiler.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "import/test_files.h"
#include "package/open.h"

namespace pteron::compiler {
namespace {

using importer::testing::TempFolder;
using nlohmann::json;

// Takes nothing, so that the report must say why; stores weights in a packing of its own.
class NoBackend final : public partition::CompileBackend {
 public:
  std::string_view name() const override { return "none"; }
  std::string_view delegate_id() const override { return "None"; }
  std::string_view summary() const override { return "takes nothing"; }
  ir::Packing default_packing() const override { return ir::Packing::int4; }
  ScalarType default_cache_dtype() const override { return ScalarType::Half; }
  Result<std::unique_ptr<partition::BackendOptions>> parse_options(std::span<const partition::KeyValue> options) const override {
    if (!options.empty()) return partition::unknown_option("none", options[0].first, {});
    return std::make_unique<partition::BackendOptions>();
  }
  std::vector<ir::Pass> edge_transforms(const partition::BackendOptions&) const override {
    return {{"note", "leaves a note", [](ir::Module&, ir::Notes& notes) {
               notes.emplace_back("the backend's pass ran");
               return Status();
             }}};
  }
  std::vector<partition::Claim> claim(const ir::Module&, const ir::Graph& graph, const partition::BackendOptions&) const override {
    return std::vector<partition::Claim>(graph.nodes.size(), {false, "it takes nothing"});
  }
  Result<partition::Payload> compile(const partition::Region&, const partition::BackendOptions&, partition::NamedDataStore&) const override {
    return Status::error(Code::internal, "nothing was claimed");
  }
};

class CompilerTest : public ::testing::Test {
 protected:
  CompileRequest request(const std::string& name = "out.pte") const {
    CompileRequest out;
    out.source = PTERON_TEST_DATA "/arch/llama_gqa";
    out.output = folder_.file(name);
    return out;
  }
  // The contract object of what a request makes.
  json contract(const CompileRequest& request) {
    const auto report = compile(request);
    EXPECT_TRUE(report.ok()) << report.status().message();
    auto opened = package::open(request.output);
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    if (!opened.ok()) return {};
    const format::Plan* plan = opened->program.find_plan("io_contract");
    EXPECT_NE(plan, nullptr);
    for (const format::Value& value : plan->values) {
      if (const auto* text = std::get_if<std::string>(&value)) return json::parse(*text);
    }
    return {};
  }
  std::string bytes(const std::string& name) const {
    std::ifstream file(folder_.file(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  std::string wrong_field(const CompileRequest& request) const {
    const auto report = compile(request);
    EXPECT_FALSE(report.ok());
    EXPECT_FALSE(std::filesystem::exists(request.output)) << "whole or not at all";
    return report.status().detail().field;
  }

  TempFolder folder_;
};

TEST_F(CompilerTest, EqualRequestsMakeEqualBytesAndTheReportSaysWhatWasMade) {
  const auto report = compile(request("a.pte"));
  ASSERT_TRUE(report.ok()) << report.status().message();
  CompileRequest other = request("b.pte");
  other.threads = 1;
  ASSERT_TRUE(compile(other).ok());
  EXPECT_EQ(bytes("a.pte"), bytes("b.pte"));
  EXPECT_EQ(report->bytes, bytes("a.pte").size());
  const json said = json::parse(report->json);
  EXPECT_EQ(said["backend"], "portable");
  ASSERT_EQ(said["methods"].size(), 3u);
  EXPECT_EQ(said["methods"][0]["name"], "prefill");
  EXPECT_GT(said["methods"][0]["memory_plan"]["arena_bytes"], 0);
  EXPECT_EQ(said["bytes"]["file"], report->bytes);
  for (const char* stage : {"import", "build", "passes", "legalize", "assets", "emit"}) EXPECT_TRUE(said["stage_ms"].contains(stage)) << stage;
}

TEST_F(CompilerTest, TheMethodForGuessesIsThereWhereItHelps) {
  CompileRequest asked = request();
  json object = contract(asked);
  ASSERT_EQ(object["methods"].size(), 2u);
  EXPECT_EQ(object["methods"][0]["logits_rows"], "selected");
  ASSERT_TRUE(object.contains("verify"));
  EXPECT_EQ(object["verify"]["rows"], 8);
  EXPECT_EQ(object["verify"]["logits_rows"], "all");
  asked.prefill_rows = 4;
  EXPECT_EQ(contract(asked)["verify"]["rows"], 4);
  asked.selected_logits = false;
  EXPECT_FALSE(contract(asked).contains("verify")) << "prefill itself is small and shows all rows";
  asked.prefill_rows = 16;
  EXPECT_EQ(contract(asked)["verify"]["rows"], 8) << "prefill shows all rows, but costs more";
  asked.prefill_rows = 0;
  object = contract(asked);
  EXPECT_FALSE(object.contains("verify")) << "decode only";
  EXPECT_EQ(object["methods"].size(), 1u);
}

TEST_F(CompilerTest, OptionsReachTheContract) {
  CompileRequest asked = request();
  asked.context_length = 48;
  asked.prefill_rows = 5;
  asked.cache_dtype = ScalarType::BFloat16;
  asked.ids_dtype = ScalarType::Int;
  asked.boolean_mask = true;
  asked.state_outputs = true;
  const json object = contract(asked);
  EXPECT_EQ(object["context_length"], 48);
  EXPECT_EQ(object["cache"]["dtype"], "bfloat16");
  EXPECT_EQ(object["masks"][0]["form"], "boolean");
  const json& prefill = object["methods"][0];
  EXPECT_EQ(prefill["rows"], 5);
  EXPECT_EQ(prefill["inputs"][0]["dtype"], "int32");
  EXPECT_EQ(prefill["inputs"][2]["dtype"], "bool");
  EXPECT_EQ(prefill["outputs"].size(), 1 + 2 * object["cache"]["layers"].size());
  EXPECT_EQ(prefill["outputs"][1]["aliases"], 3);
}

TEST_F(CompilerTest, WrongOptionsAreNamedAndLeaveNoFile) {
  const auto with = [&](auto&& change) {
    CompileRequest asked = request();
    change(asked);
    return wrong_field(asked);
  };
  EXPECT_EQ(with([](CompileRequest& r) { r.dtype = ScalarType::Int; }), "dtype");
  EXPECT_EQ(with([](CompileRequest& r) { r.cache_dtype = ScalarType::Double; }), "cache_dtype");
  EXPECT_EQ(with([](CompileRequest& r) { r.ids_dtype = ScalarType::Short; }), "ids_dtype");
  EXPECT_EQ(with([](CompileRequest& r) { r.context_length = -1; }), "context_length");
  EXPECT_EQ(with([](CompileRequest& r) { r.context_length = 1 << 24; }), "context_length") << "a mask of 8 GB";
  EXPECT_EQ(with([](CompileRequest& r) { r.prefill_rows = 1; }), "prefill_rows");
  EXPECT_EQ(with([](CompileRequest& r) { r.quant = Quantization::int4; }), "quant") << "portable stores floats";
  EXPECT_EQ(with([](CompileRequest& r) { r.print_after = {"no_such_pass"}; }), "print_after");
  CompileRequest fast = request();
  fast.backend_options = {{"speed", "high"}};
  EXPECT_EQ(compile(fast).status().detail().found, "speed") << "portable has no options";
  EXPECT_FALSE(std::filesystem::exists(fast.output));
  CompileRequest nowhere = request();
  nowhere.source = folder_.file("nothing");
  EXPECT_EQ(compile(nowhere).code(), Code::not_found);
}

TEST_F(CompilerTest, PassesArePrintedInTheirOrder) {
  CompileRequest asked = request();
  asked.prefill_rows = 0;
  asked.passes = {{"mine", "of the caller", [](ir::Module&, ir::Notes& notes) {
                     notes.emplace_back("mine ran");
                     return Status();
                   }}};
  for (const auto& [name, summary] : printable_passes()) asked.print_after.push_back(name);
  asked.print_after.push_back("mine");
  const auto report = compile(asked);
  ASSERT_TRUE(report.ok()) << report.status().message();
  size_t at = 0;
  for (const char* name : {"build", "static_cache", "mine", "dedupe_constants", "legalize", "fold", "reinplace", "dce"}) {
    const size_t found = report->printed.find("# after " + std::string(name) + "\n", at);
    ASSERT_NE(found, std::string::npos) << name;
    at = found;
  }
  const size_t made_static = report->printed.find("# after static_cache");
  EXPECT_EQ(report->printed.substr(0, made_static).find("key_cache_0"), std::string::npos) << "caches are inside";
  EXPECT_NE(report->printed.substr(0, made_static).find("pteron::cache("), std::string::npos);
  EXPECT_EQ(report->printed.find("pteron::cache(", made_static), std::string::npos) << "and inputs afterwards";
  EXPECT_NE(report->printed.find("aten::index_put_(", report->printed.find("# after reinplace")), std::string::npos);
  const json said = json::parse(report->json);
  EXPECT_NE(std::find(said["notes"].begin(), said["notes"].end(), "mine ran"), said["notes"].end());
}

TEST_F(CompilerTest, APassThatFailsOrBreaksTheGraphIsNamed) {
  CompileRequest asked = request();
  asked.passes = {{"broken", "drops all nodes", [](ir::Module& module, ir::Notes&) {
                     module.methods[0].nodes.clear();
                     return Status();
                   }}};
  EXPECT_NE(wrong_field(asked).find("broken"), std::string::npos);
  asked.passes = {{"failing", "fails", [](ir::Module&, ir::Notes&) { return Status::error(Code::unsupported, "not today"); }}};
  const auto report = compile(asked);
  EXPECT_EQ(report.code(), Code::unsupported);
}

TEST_F(CompilerTest, ABackendsDefaultsPassesAndRefusalsCount) {
  const NoBackend backend;
  CompileRequest asked = request();
  asked.backend = &backend;
  const auto report = compile(asked);
  ASSERT_TRUE(report.ok()) << report.status().message();
  const json said = json::parse(report->json);
  EXPECT_EQ(said["options"]["quant"], "int4");
  EXPECT_EQ(said["options"]["head_quant"], "int8") << "milder than the rest";
  EXPECT_EQ(said["options"]["cache_dtype"], "float16");
  EXPECT_EQ(said["methods"][0]["claimed_nodes"], 0);
  EXPECT_EQ(said["methods"][0]["refused"][0]["reason"], "it takes nothing");
  EXPECT_NE(std::find(said["notes"].begin(), said["notes"].end(), "the backend's pass ran"), said["notes"].end());
  asked.backend_options = {{"x", "1"}};
  asked.output = folder_.file("other.pte");
  EXPECT_EQ(compile(asked).status().detail().found, "x");
  EXPECT_FALSE(std::filesystem::exists(asked.output));
}

TEST_F(CompilerTest, TheSealComesLastAndMayRefuse) {
  CompileRequest asked = request();
  asked.seal = [](FileWriter& file, FileWriter*) { return file.write(as_bytes("sealed")); };
  ASSERT_TRUE(compile(asked).ok());
  EXPECT_TRUE(bytes("out.pte").ends_with("sealed"));
  asked.output = folder_.file("refused.pte");
  asked.seal = [](FileWriter&, FileWriter*) { return Status::error(Code::refused, "no key", {.field = "key"}); };
  EXPECT_EQ(wrong_field(asked), "key");
}

TEST_F(CompilerTest, ConstantsMayGoIntoASecondFile) {
  CompileRequest asked = request();
  asked.external_constants = "weights.ptd";
  ASSERT_TRUE(compile(asked).ok());
  ASSERT_TRUE(compile(request("inside.pte")).ok());
  EXPECT_LT(bytes("out.pte").size() + 100000, bytes("inside.pte").size());
  EXPECT_GT(bytes("weights.ptd").size(), 100000u);
}

}  // namespace
}  // namespace pteron::compiler
