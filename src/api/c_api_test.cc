// What C callers may get wrong; tests/c_api has the whole interface from C11.
#include "pteron/c_api.h"

#include <gtest/gtest.h>

#include <string>

namespace {

std::string data(const std::string& name) { return std::string(PTERON_TEST_DATA) + "/" + name; }

TEST(CApi, ErrorsCarryTheirParts) {
  pteron_status* status = nullptr;
  EXPECT_EQ(pteron_program_open("nowhere.pte", nullptr, nullptr, 0, &status), nullptr);
  ASSERT_NE(status, nullptr);
  EXPECT_STREQ(pteron_status_code(status), "not_found");
  EXPECT_STREQ(pteron_status_file(status), "nowhere.pte");
  pteron_status_free(status);
  EXPECT_EQ(pteron_program_open("nowhere.pte", nullptr, nullptr, 0, nullptr), nullptr);  // whoever does not ask is not told
}

TEST(CApi, TrustOfASignedFile) {
  pteron_trust trust;
  const std::string vector = data("manifest/signed.ed25519.bin");
  EXPECT_TRUE(pteron_check(vector.c_str(), nullptr, nullptr, 0, &trust, nullptr));
  EXPECT_STREQ(trust.state, "unknown-key");
  EXPECT_EQ(std::string(trust.key_id).size(), 16u);
  pteron_policy* policy = pteron_policy_new();
  pteron_policy_require_signed(policy, true);
  pteron_status* status = nullptr;
  EXPECT_FALSE(pteron_check(vector.c_str(), policy, nullptr, 0, nullptr, &status));
  EXPECT_STREQ(pteron_status_code(status), "refused");
  pteron_status_free(status);
  pteron_policy_free(policy);
}

TEST(CApi, IndicesThatThereAreNot) {
  pteron_program* program = pteron_program_open(data("pte/valid/mlp.dynamic_unplanned_io.pte").c_str(), nullptr, nullptr, 0, nullptr);
  ASSERT_NE(program, nullptr);
  EXPECT_EQ(pteron_program_method_name(program, 99), nullptr);
  EXPECT_EQ(pteron_method_load(program, "backward", 1, nullptr), nullptr);
  pteron_method* method = pteron_method_load(program, "forward", 1, nullptr);
  ASSERT_NE(method, nullptr);
  pteron_program_free(program);  // the method keeps what it needs
  EXPECT_EQ(pteron_method_input(method, 99, nullptr), PTERON_NONE);
  pteron_tensor tensor;
  EXPECT_FALSE(pteron_method_output(method, 99, &tensor, nullptr));
  EXPECT_FALSE(pteron_method_set_input_int(method, 0, 1, nullptr));
  pteron_method_free(method);
}

}  // namespace
