#include "partition/backend.h"

#include <gtest/gtest.h>

namespace pteron::partition {
namespace {

TEST(Backend, UnknownOptionListsTheKnownOnes) {
  constexpr std::string_view kKnown[] = {"threads", "pack"};
  const Status status = unknown_option("cpu", "pak", kKnown);
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_EQ(status.detail().expected, "one of threads, pack");
  EXPECT_EQ(status.detail().found, "pak");
  EXPECT_EQ(unknown_option("portable", "x", {}).detail().expected, "no options");
}

}  // namespace
}  // namespace pteron::partition
