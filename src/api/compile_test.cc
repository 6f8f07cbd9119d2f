#include "pteron/compile.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "api/tiny_model.h"
#include "base/file.h"
#include "pteron/program.h"

namespace pteron {
namespace {

class Compile : public TinyModel {
 protected:
  ExportRequest to_scratch() const {
    ExportRequest wanted = request();
    wanted.output = scratch() / "m.pte";
    return wanted;
  }
  // The export fails and leaves nothing.
  Status fails(const ExportRequest& wanted) const {
    const Result<ExportReport> made = export_program(wanted);
    EXPECT_FALSE(made.ok());
    EXPECT_EQ(entries(scratch()), 0u);
    return made.status();
  }
};

TEST_F(Compile, ReportSaysWhatWasDone) {
  ExportRequest wanted = to_scratch();
  wanted.print_after = {"legalize"};
  std::vector<std::string> stages;
  wanted.progress = [&](std::string_view stage, uint64_t done, uint64_t total) {
    EXPECT_LE(done, total);
    if (stages.empty() || stages.back() != stage) stages.emplace_back(stage);
    return true;
  };
  const Result<ExportReport> made = export_program(wanted);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(made->bytes, std::filesystem::file_size(wanted.output));
  EXPECT_TRUE(made->printed.starts_with("# after legalize\n"));
  EXPECT_EQ(nlohmann::json::parse(made->json)["options"]["context_length"], 64);
  EXPECT_EQ(stages.front(), "import");
  EXPECT_EQ(stages.back(), "emit");
}

TEST_F(Compile, StoppedByTheCallerAtAnyStageLeavesNothing) {
  for (const std::string_view last : {"import", "legalize", "emit"}) {
    ExportRequest wanted = to_scratch();
    wanted.external_constants = "w.ptd";
    wanted.progress = [&](std::string_view stage, uint64_t, uint64_t) { return stage != last; };
    EXPECT_EQ(fails(wanted).code(), Code::cancelled) << last;
  }
}

TEST_F(Compile, WrongWordsNameTheOption) {
  ExportRequest wanted = to_scratch();
  wanted.backend = "abacus";
  Status status = fails(wanted);
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_NE(status.detail().expected.find("portable"), std::string::npos);
  wanted = to_scratch();
  wanted.backend_options = {{"speed", "high"}};
  EXPECT_EQ(fails(wanted).code(), Code::invalid_argument);
  for (const char* name : {"a/b.ptd", "..", "m.pte"}) {
    wanted = to_scratch();
    wanted.external_constants = name;
    status = fails(wanted);
    EXPECT_EQ(status.detail().field, "external_constants") << name;
    EXPECT_EQ(status.detail().found, name);
  }
  wanted = to_scratch();
  wanted.source = scratch() / "none";
  EXPECT_EQ(fails(wanted).code(), Code::not_found);
}

TEST_F(Compile, TheSourceIsNotWrittenOver) {
  const std::filesystem::path source = folder() / "source";
  std::filesystem::copy(data("arch/llama_gqa"), source);
  for (const char* name : {"model.safetensors", "config.json"}) {
    ExportRequest wanted = to_scratch();
    wanted.source = source;
    wanted.output = source / name;
    const std::string before = *read_text_file(wanted.output);
    EXPECT_EQ(fails(wanted).code(), Code::invalid_argument);
    EXPECT_EQ(*read_text_file(wanted.output), before);
  }
}

TEST_F(Compile, SignsProgramAndDataFileBeforeTheyGetTheirNames) {
  const Result<PrivateKey> key = PrivateKey::from_file(data("manifest/ed25519.key.pem"));
  ASSERT_TRUE(key.ok());
  ExportRequest wanted = to_scratch();
  wanted.key = &*key;
  wanted.external_constants = "w.ptd";
  ASSERT_TRUE(export_program(wanted).ok());
  const std::string weights = scratch() / "w.ptd";
  const std::vector<PublicKey> trusted = {key->public_key()};
  const LoadPolicy policy{.trusted = trusted, .require_signed = true};
  EXPECT_TRUE(Program::open(wanted.output, policy, std::span(&weights, 1)).ok());

  std::fstream file(weights, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-1, std::ios::end);
  file.put('\x55');
  file.close();
  const Status status = Program::open(wanted.output, policy, std::span(&weights, 1)).status();
  EXPECT_EQ(status.code(), Code::refused);
  EXPECT_EQ(status.detail().file, weights);
}

TEST(CompileLists, NameWhatThereIs) {
  const auto has = [](const std::vector<Described>& rows, std::string_view name) {
    return std::any_of(rows.begin(), rows.end(), [&](const Described& row) { return row.name == name && !row.summary.empty(); });
  };
  EXPECT_TRUE(has(list_backends(), "portable"));
  EXPECT_TRUE(has(list_backends(), "cpu"));
  EXPECT_TRUE(has(list_passes(), "legalize"));
  EXPECT_TRUE(has(list_models(), "LlamaForCausalLM"));
}

}  // namespace
}  // namespace pteron
