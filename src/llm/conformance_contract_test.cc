#include <gtest/gtest.h>

#include "llm/testing/slipping_driver.h"

namespace pteron::llm {
namespace {

using testing::expect_found;
using testing::ringed;
using testing::Slip;

TEST(ConformanceContract, FindsCarelessReaders) {
  expect_found<Slip::trusts_any_object>("contract.missing_keys");
  expect_found<Slip::trusts_any_object>("contract.wrong_types");
  expect_found<Slip::trusts_any_object>("contract.negative_numbers");
  expect_found<Slip::trusts_any_object>("contract.huge_numbers");
  expect_found<Slip::trusts_any_object>("contract.disagreements");
  expect_found<Slip::accepts_unknown_version>("contract.unknown_identity");
}

}  // namespace
}  // namespace pteron::llm
