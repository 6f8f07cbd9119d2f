#include "llm/method_source.h"

#include <vector>

#include <gtest/gtest.h>

#include "llm/testing/tiny_program.h"

namespace pteron::llm {
namespace {

TEST(MethodSource, FindsByName) {
  std::vector<MethodInfo> infos(2);
  infos[0].name = "prefill";
  infos[1].name = "decode";
  EXPECT_EQ(find_method(infos, "decode"), &infos[1]);
  EXPECT_EQ(find_method(infos, "forward"), nullptr);
  EXPECT_EQ(find_method({}, "decode"), nullptr);
}

TEST(MethodSource, ReadsConstantStrings) {
  testing::TinyProgram program{testing::TinyConfig()};
  EXPECT_EQ(*program.constant_string("io_contract"), program.contract_json());
  EXPECT_EQ(program.constant_string("nothing").code(), Code::not_found);
  EXPECT_EQ(program.constant_string("decode").code(), Code::invalid_data);
}

}  // namespace
}  // namespace pteron::llm
