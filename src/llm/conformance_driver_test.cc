#include <gtest/gtest.h>

#include "llm/testing/slipping_driver.h"

namespace pteron::llm {
namespace {

using testing::expect_found;
using testing::ringed;
using testing::Slip;

TEST(ConformanceDriver, FindsWrongInputs) {
  auto counted = ringed();
  counted.counter = true;
  expect_found<Slip::position_ahead>("driver.split");
  expect_found<Slip::ignores_chunks>("driver.split");
  expect_found<Slip::stale_padding>("driver.padding");
  expect_found<Slip::padded_positions_zero>("driver.positions");
  expect_found<Slip::counter_unset>("driver.counter", counted);
  expect_found<Slip::last_row_physical>("driver.last_row");
}

TEST(ConformanceDriver, FindsWrongMasks) {
  expect_found<Slip::mask_window_off>("driver.masks");
  expect_found<Slip::mask_padding_empty>("driver.masks");
  expect_found<Slip::mask_minus_infinity>("driver.masks");
}

TEST(ConformanceDriver, FindsWrongBuffers) {
  auto separate = ringed();
  separate.states = testing::States::separate;
  expect_found<Slip::state_unbound>("driver.binding", separate);
  expect_found<Slip::moves_buffers>("driver.binding");
  expect_found<Slip::overlaps_caches>("driver.binding");
  expect_found<Slip::loads_everything>("driver.only_selected");
}

}  // namespace
}  // namespace pteron::llm
