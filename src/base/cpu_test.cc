#include "base/cpu.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace pteron {
namespace {

TEST(Cpu, ScalarIsAlwaysThereAndCanBeForced) {
  EXPECT_TRUE(cpu_supports(CpuTarget::scalar));
  ASSERT_EQ(setenv("PTERON_CPU", "scalar", 1), 0);
  EXPECT_EQ(*cpu_target(), CpuTarget::scalar);
  ASSERT_EQ(setenv("PTERON_CPU", "z80", 1), 0);
  const Status status = cpu_target().status();
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_EQ(status.detail().found, "z80");
  EXPECT_NE(status.detail().expected.find("scalar"), std::string::npos);
  unsetenv("PTERON_CPU");
  EXPECT_TRUE(cpu_supports(*cpu_target()));
}

TEST(Cpu, AtLeastOneCore) { EXPECT_GE(usable_cores(), 1u); }

}  // namespace
}  // namespace pteron
