#include <gtest/gtest.h>

#include "llm/testing/slipping_driver.h"

namespace pteron::llm {
namespace {

using testing::expect_found;
using testing::ringed;
using testing::Slip;

TEST(ConformanceSession, FindsWrongOperations) {
  expect_found<Slip::reset_keeps_caches>("session.reset");
  expect_found<Slip::ignores_failure>("session.failed_call");
  expect_found<Slip::rewinds_anywhere>("session.rewind");
  expect_found<Slip::never_rewinds>("session.rewind");
  expect_found<Slip::fork_copies_nothing>("session.fork");
  expect_found<Slip::fork_misses_the_last>("session.fork");
  expect_found<Slip::load_does_nothing>("session.adopt");
  expect_found<Slip::evicts_anything>("session.evict");
}

TEST(ConformanceSession, FindsKeptMemory) { expect_found<Slip::keeps_blocks>("session.memory"); }

}  // namespace
}  // namespace pteron::llm
