#include "llm/program_methods.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/file.h"
#include "builtin/run/builtin.h"
#include "package/open.h"

namespace pteron::llm {
namespace {

ProgramMethods methods() {
  runtime::LoadOptions options;
  options.kernels = &builtin::builtin_kernels();
  return ProgramMethods(package::open(PTERON_TEST_DATA "/llm/programs/llama_gqa.pte")->program, options);
}

TEST(ProgramMethods, DescribesAndLoads) {
  const ProgramMethods source = methods();
  ASSERT_NE(find_method(source.infos(), "decode"), nullptr);
  EXPECT_TRUE(source.constant_string("io_contract").ok());
  EXPECT_EQ(source.load("nothing", {}).code(), Code::not_found);
  auto method = source.load("decode", {});
  ASSERT_TRUE(method.ok()) << method.status().message();
  const int64_t id = 0;
  const int32_t sizes[2] = {1, 1};
  EXPECT_TRUE((*method)->set_input(0, {ScalarType::Long, sizes, {}, &id, sizeof id}).ok());
  EXPECT_FALSE((*method)->set_input(99, {ScalarType::Long, sizes, {}, &id, sizeof id}).ok());
  EXPECT_EQ(source.io_allocator(), nullptr) << "portable programs have no device";
}

TEST(ProgramMethods, IdentityIsTheDigestOfTheFile) {
  const ProgramMethods source = methods();
  auto file = FileBytes::map(PTERON_TEST_DATA "/llm/programs/llama_gqa.pte");
  const Digest expected = sha256(file->bytes());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { EXPECT_EQ(source.identity(), expected); });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace pteron::llm
