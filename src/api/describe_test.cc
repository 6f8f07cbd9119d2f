#include "api/describe.h"

#include <nlohmann/json.hpp>

#include "api/tiny_model.h"
#include "pteron/program.h"

namespace pteron {
namespace {

nlohmann::json describe(const std::string& name, bool instructions = false) {
  const Result<Program> program = Program::open(std::string(PTERON_TEST_DATA) + "/pte/valid/" + name);
  if (!program.ok()) return {};
  return nlohmann::json::parse(program->describe(instructions));
}

TEST(Describe, MethodsWithInputsOutputsAndMemory) {
  const nlohmann::json page = describe("mlp.dynamic_unplanned_io.pte");
  ASSERT_EQ(page["methods"].size(), 1u);
  const nlohmann::json& method = page["methods"][0];
  EXPECT_EQ(method["name"], "forward");
  EXPECT_EQ(method["inputs"][0]["kind"], "tensor");
  EXPECT_EQ(method["inputs"][0]["dtype"], "float32");
  EXPECT_EQ(method["inputs"][0]["planned"], false);
  EXPECT_FALSE(method["constant"]);
  EXPECT_FALSE(method["operators"].empty());
  EXPECT_FALSE(method.contains("listing"));
}

TEST(Describe, BytesAddUpToTheFile) {
  const nlohmann::json bytes = describe("mlp.dynamic_unplanned_io.pte")["bytes"];
  uint64_t sum = 0;
  for (const auto& [key, value] : bytes.items()) sum += key == "total" ? 0 : value.get<uint64_t>();
  EXPECT_EQ(sum, bytes["total"].get<uint64_t>());
}

TEST(Describe, TheListingHasEveryInstruction) {
  const nlohmann::json page = describe("mlp.dynamic_unplanned_io.pte", true);
  for (const auto& method : page["methods"]) {
    EXPECT_EQ(method["listing"].size(), method["instructions"].get<size_t>());
    EXPECT_EQ(method["value_table"].size(), method["values"].get<size_t>());
  }
}

class DescribeExported : public TinyModel {};

TEST_F(DescribeExported, NamedDataWithItsSize) {
  const Result<Program> program = Program::open(model());
  ASSERT_TRUE(program.ok());
  const nlohmann::json page = nlohmann::json::parse(program->describe());
  ASSERT_EQ(page["named_data"].size(), program->named_data_keys().size());
  for (const auto& entry : page["named_data"]) EXPECT_EQ(entry["bytes"], program->named_data(entry["key"].get<std::string>())->size());
}

TEST(Describe, ConstantMethods) {
  const nlohmann::json page = describe("methods.constants.pte");
  size_t constant = 0;
  for (const auto& method : page["methods"]) constant += method["constant"].get<bool>() ? 1 : 0;
  EXPECT_EQ(constant, page["methods"].size() - 1);
}

}  // namespace
}  // namespace pteron
