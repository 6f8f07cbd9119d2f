#include <vector>

#include <gtest/gtest.h>

#include "llm/testing/conformance_check.h"

namespace pteron::llm {
namespace {

using testing::failures;
using testing::Fault;
using testing::has;
using testing::joined;
using testing::ringed;
using testing::States;
using testing::TinyConfig;
using testing::TinyProgram;

// Each planted fault is found, by the case that is about it.
TEST(ConformanceProgram, FindsEveryFaultyProgram) {
  struct Planted {
    Fault fault;
    const char* found_by;
    States states = States::none;
  };
  const std::vector<Planted> faults = {{Fault::ring_off_by_one, "program.writes"},
                                       {Fault::window_ignored, "program.hidden_slots"},
                                       {Fault::window_one_short, "program.visible_slots"},
                                       {Fault::masks_swapped, "program.hidden_slots"},
                                       {Fault::mask_ignored, "program.hidden_slots"},
                                       {Fault::counter_trusted, "program.writes"},
                                       {Fault::pad_leaks, "program.padding"},
                                       {Fault::last_physical_row, "program.chunks"},
                                       {Fault::row_off_by_one, "program.chunks"},
                                       {Fault::positions_from_zero, "program.writes"},
                                       {Fault::attend_before_write, "program.chunks"},
                                       {Fault::neighbour_slot, "program.writes"},
                                       {Fault::clobbers_slot_zero, "program.writes"},
                                       {Fault::writes_one_row_more, "program.writes"},
                                       {Fault::value_not_written, "program.writes"},
                                       {Fault::prefill_keys_unrotated, "program.chunk_caches"},
                                       {Fault::layers_swapped_in_prefill, "program.chunk_caches"},
                                       {Fault::hidden_state, "program.repeatable"},
                                       {Fault::state_output_late, "program.writes", States::planned},
                                       {Fault::states_swapped, "program.chunk_caches"},
                                       {Fault::nan_logits, "program.chunks"},
                                       {Fault::not_repeatable, "program.repeatable"},
                                       {Fault::end_of_context, "program.writes"},
                                       {Fault::first_key_unseen, "program.visible_slots"},
                                       {Fault::last_token_folded, "program.vocabulary"},
                                       {Fault::drops_last_row_of_full_chunk, "program.writes"},
                                       {Fault::decode_scale, "program.chunks"},
                                       {Fault::key_precision, "program.chunk_caches"},
                                       {Fault::guesses_shifted, "program.verify"}};
  for (const Planted& planted : faults) {
    TinyConfig config = ringed(planted.fault);
    config.states = planted.states;
    if (planted.fault == Fault::guesses_shifted) config.verify_rows = 3;
    if (planted.fault == Fault::layers_swapped_in_prefill || planted.fault == Fault::states_swapped) config.layers = {{}, {}};
    if (planted.fault == Fault::window_ignored) config.layers = {{}, {.window = 5, .slots = 32}};
    if (planted.fault == Fault::masks_swapped) config.layers = {{}, {.window = 5, .slots = 32}};
    const auto failed = failures(TinyProgram(config));
    EXPECT_TRUE(has(failed, planted.found_by)) << "fault " << static_cast<int>(planted.fault) << " should be found by " << planted.found_by << joined(failed);
  }
  TinyConfig inverted = ringed(Fault::boolean_inverted);
  inverted.mask = ScalarType::Bool;
  EXPECT_TRUE(has(failures(TinyProgram(inverted)), "program.hidden_slots"));
}

}  // namespace
}  // namespace pteron::llm
