#include "emit/emit.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>

#include "format/flat_tensor.h"
#include "format/program_reader.h"
#include "ir/parser.h"

namespace pteron::emit {
namespace {

constexpr const char* kText = R"(const @w : float32[2] = values [1.0, 2.0]
const @unused : float32[2] = values [9.0, 9.0]
const @v : float16[3] = values [1.0, 2.0, 3.0]
method @prefill {
  input %0 "x" user : float32[4,2]
  %1 : float32[4,2] = aten::mul.out(%0, @w)
  output %1 "y" user
}
method @decode {
  input %0 "x" user : float32[1,2]
  input %1 "h" user : float16[3]
  %2 : float32[1,2] = aten::mul.out(%0, @w)
  %3 : float16[3] = aten::add.out(%1, @v)
  output %2 "y" user
  output %3 "z" user
}
)";

class EmitTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string folder = testing::TempDir() + "pteron_emit_XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    folder_ = folder;
    auto module = ir::parse(kText);
    ASSERT_TRUE(module.ok()) << module.status().message();
    module_ = std::move(*module);
    request_.module = &module_;
  }
  void TearDown() override {
    for (const char* name : {"/a.pte", "/b.pte", "/c.ptd"}) unlink((folder_ + name).c_str());
    rmdir(folder_.c_str());
  }
  Result<EmitReport> emit_to(const std::string& name) {
    auto writer = FileWriter::create(folder_ + name);
    if (!writer.ok()) return std::move(writer).status();
    PTERON_ASSIGN(EmitReport report, emit(request_, *writer));
    PTERON_TRY(writer->commit());
    return report;
  }
  std::string folder_;
  ir::Module module_;
  EmitRequest request_;
};

TEST_F(EmitTest, ProgramReadsBackWithSharedConstantsNamedDataAndConstantMethods) {
  request_.constant_methods = {{"io_contract", {std::string("{}")}}, {"get_eos_ids", {int64_t{1}, int64_t{2}}}, {"use_kv_cache", {true}}};
  const std::string asset = "hello";
  request_.named_data = {{"greeting", asset.size(), [&](const ByteSink& sink) { return sink(as_bytes(asset)); }, 64}};
  const auto report = emit_to("/a.pte");
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->constant_bytes, 8u + 6u) << "what no method uses is left out";
  auto file = FileBytes::map(folder_ + "/a.pte");
  ASSERT_TRUE(file.ok());
  const auto program = format::read_program(file->bytes());
  ASSERT_TRUE(program.ok()) << program.status().message();
  std::vector<std::string> names;
  for (const auto& plan : program->plans) names.push_back(plan.name);
  EXPECT_EQ(names, (std::vector<std::string>{"decode", "prefill", "io_contract", "get_eos_ids", "use_kv_cache"})) << "methods by name, then constants as given";
  EXPECT_EQ(program->plans[3].outputs.size(), 2u);
  ASSERT_EQ(program->constants->offsets.size(), 3u) << "the reserved entry and two constants, shared by both methods";
  const auto& segment = program->segments[program->constants->segment_index];
  float w[2];
  std::memcpy(w, file->bytes().data() + segment.offset + program->constants->offsets[1], sizeof w);
  EXPECT_EQ(w[1], 2.0f);
  ASSERT_EQ(program->named_data.size(), 1u);
  EXPECT_EQ(program->named_data[0].key, "greeting");
}

TEST_F(EmitTest, TheSameRequestGivesTheSameBytes) {
  ASSERT_TRUE(emit_to("/a.pte").ok());
  ASSERT_TRUE(emit_to("/b.pte").ok());
  EXPECT_EQ(*read_text_file(folder_ + "/a.pte"), *read_text_file(folder_ + "/b.pte"));
}

TEST_F(EmitTest, ConstantsCanLieInASecondFile) {
  auto data_file = FileWriter::create(folder_ + "/c.ptd");
  ASSERT_TRUE(data_file.ok());
  request_.external = &*data_file;
  ASSERT_TRUE(emit_to("/a.pte").ok());
  ASSERT_TRUE(data_file->commit().ok());
  auto program_file = FileBytes::map(folder_ + "/a.pte");
  const auto program = format::read_program(program_file->bytes());
  ASSERT_TRUE(program.ok()) << program.status().message();
  int external = 0;
  for (const auto& value : program->plans[0].values) {
    const auto* t = std::get_if<format::Tensor>(&value);
    external += t && t->external ? 1 : 0;
  }
  EXPECT_EQ(external, 2);
  auto data = format::FlatTensorFile::open(*FileBytes::map(folder_ + "/c.ptd"));
  ASSERT_TRUE(data.ok()) << data.status().message();
  ASSERT_NE(data->find("w"), nullptr);
  EXPECT_EQ(data->find("w")->bytes.size(), 8u);
}

TEST_F(EmitTest, ARecipeThatFailsFailsTheWholeAndLeavesNothing) {
  request_.named_data = {{"broken", 5, [](const ByteSink&) { return Status::error(Code::io_error, "disk on fire"); }, 64}};
  const auto report = emit_to("/a.pte");
  ASSERT_FALSE(report.ok());
  EXPECT_NE(report.status().message().find("disk on fire"), std::string::npos);
  EXPECT_NE(access((folder_ + "/a.pte").c_str(), F_OK), 0);
}

}  // namespace
}  // namespace pteron::emit
