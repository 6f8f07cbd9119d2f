#include "pteron/program.h"

#include "api/tiny_model.h"
#include "base/file.h"

namespace pteron {
namespace {

std::string pte(const std::string& name) { return std::string(PTERON_TEST_DATA) + "/pte/" + name; }

TEST(Program, OpensLooksInsideAndRuns) {
  const Result<Program> program = Program::open(pte("valid/methods.constants.pte"));
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_EQ(program->trust().state, Trust::State::unsigned_file);
  ASSERT_NE(program->find("forward"), nullptr);
  EXPECT_EQ(program->find("backward"), nullptr);
  const MethodInfo* constant = program->find("get_max_seq_len");
  ASSERT_NE(constant, nullptr);
  EXPECT_TRUE(constant->constant);
  Result<Method> method = program->load("get_max_seq_len");
  ASSERT_TRUE(method.ok()) << method.status().message();
  ASSERT_TRUE(method->execute().ok());
  EXPECT_TRUE(method->output_int(0).ok());
  const Status missing = program->load("backward").status();
  EXPECT_EQ(missing.code(), Code::not_found);
}

TEST(Program, AMethodKeepsItsProgramAlive) {
  Result<Method> method = Status::error(Code::internal, "not loaded");
  {
    const Result<Program> program = Program::open(pte("valid/mlp.dynamic_unplanned_io.pte"));
    ASSERT_TRUE(program.ok());
    method = program->load("forward");
  }
  ASSERT_TRUE(method.ok()) << method.status().message();
  const SlotInfo& slot = method->info().inputs[0];
  const std::vector<float> input(slot.nbytes / sizeof(float), 0.5f);
  ASSERT_TRUE(method->set_input(0, TensorView{slot.dtype, slot.sizes, slot.dim_order, input.data(), slot.nbytes}).ok());
  ASSERT_TRUE(method->allocate_outputs().ok());
  ASSERT_TRUE(method->execute().ok());
  EXPECT_GT(method->output(0)->nbytes, 0u);
}

class ExportedProgram : public TinyModel {};

TEST_F(ExportedProgram, BytesInMemoryAreTheSameProgram) {
  const FileBytes file = *FileBytes::copy(model());
  const Result<Program> program = Program::from_bytes(file.bytes());
  ASSERT_TRUE(program.ok()) << program.status().message();
  const std::vector<std::string> keys = program->named_data_keys();
  ASSERT_FALSE(keys.empty());
  EXPECT_TRUE(program->named_data(keys[0]).ok());
  const Status missing = program->named_data("no such key").status();
  EXPECT_EQ(missing.code(), Code::not_found);
  EXPECT_EQ(Program::from_bytes(file.bytes().first(file.bytes().size() / 2)).code(), Code::invalid_data);
  const LoadPolicy signed_only{.require_signed = true};
  EXPECT_EQ(Program::from_bytes(file.bytes(), signed_only).code(), Code::refused);
}

TEST(Program, TablesAloneGiveNoMethod) {
  const Result<Program> tables = Program::open_tables(pte("valid/mlp.dynamic_unplanned_io.pte"));
  ASSERT_TRUE(tables.ok());
  EXPECT_FALSE(tables->methods().empty());
  EXPECT_FALSE(tables->load("forward").ok());
}

TEST(Program, ErrorsNameTheFile) {
  for (const char* name : {"negative/header_magic.pte", "nowhere.pte"}) {
    const Status status = Program::open(pte(name)).status();
    EXPECT_FALSE(status.ok());
    EXPECT_EQ(status.detail().file, pte(name));
  }
  const std::string absent = pte("absent.ptd");
  const Status status = Program::open(pte("valid/mlp.external_constants.pte"), {}, std::span(&absent, 1)).status();
  EXPECT_EQ(status.code(), Code::not_found);
  EXPECT_EQ(status.detail().file, absent);
}

}  // namespace
}  // namespace pteron
