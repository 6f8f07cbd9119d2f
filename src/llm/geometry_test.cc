#include "llm/geometry.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/dtype.h"

namespace pteron::llm {
namespace {

// A cache that remembers which position each slot holds, written to as the contract says: every row of every call, padding too.
class CacheModel {
 public:
  explicit CacheModel(const Geometry& geometry) : geometry_(geometry), held_(geometry.slots, -1) {}
  void write(size_t position, size_t rows) {
    for (size_t p = position; p < position + rows; ++p) held_[p % geometry_.slots] = static_cast<int64_t>(p);
  }
  // Chapter 7, word for word.
  bool attends(size_t position, size_t row, size_t slot) const {
    const int64_t query = static_cast<int64_t>(position + row), held = held_[slot];
    if (held < 0 || held > query) return false;
    return geometry_.window == SIZE_MAX || held > query - static_cast<int64_t>(geometry_.window);
  }
  int64_t held(size_t slot) const { return held_[slot]; }

 private:
  Geometry geometry_;
  std::vector<int64_t> held_;
};

void expect_mask_equals_model(const Geometry& geometry, const CacheModel& model, size_t position, size_t rows) {
  std::vector<uint8_t> mask(rows * geometry.slots, 7);
  fill_mask(geometry, position, rows, ScalarType::Bool, mask.data());
  for (size_t r = 0; r < rows; ++r) {
    bool any = false;
    for (size_t s = 0; s < geometry.slots; ++s) {
      const bool expected = model.attends(position, r, s);
      any = any || expected;
      ASSERT_EQ(mask[r * geometry.slots + s], expected) << "position " << position << " rows " << rows << " row " << r << " slot " << s;
      if (model.held(s) >= static_cast<int64_t>(position + rows)) continue;  // padding of an earlier call, to be written anew
      const auto held = geometry.position_in(s, position + rows);
      ASSERT_EQ(held ? static_cast<int64_t>(*held) : -1, model.held(s));
    }
    ASSERT_TRUE(any) << "no row is empty";
  }
}

TEST(Geometry, MasksEqualABruteForceModelInRings) {
  std::mt19937 random(1);
  // C < W, C = W, C > W, C = 1, at the smallest legal ring and above it.
  for (const auto& [rows, window] : std::vector<std::pair<size_t, size_t>>{{3, 8}, {4, 4}, {9, 4}, {1, 5}, {16, 1}, {2, 2}}) {
    for (const size_t extra : {0, 1, 5}) {
      const Geometry geometry{window + rows - 1 + extra, window};
      CacheModel model(geometry);
      size_t position = 0;
      while (position < 12 * window + 60) {
        const bool chunk = random() % 2 == 0;
        const size_t q = chunk ? rows : 1;
        model.write(position, q);
        expect_mask_equals_model(geometry, model, position, q);
        position += chunk ? 1 + random() % rows : 1;  // a chunk may be padded: fewer rows count than were written
      }
    }
  }
}

TEST(Geometry, MasksEqualABruteForceModelInFullLayersAndFlatWindows) {
  for (const size_t window : {SIZE_MAX, size_t{6}}) {
    const Geometry geometry{40, window};
    CacheModel model(geometry);
    for (size_t position = 0; position + 8 <= 40; position += 3) {
      model.write(position, 8);
      expect_mask_equals_model(geometry, model, position, 8);
    }
  }
}

// The rule for R is exact: one slot fewer and a padded chunk overwrites a key that is still needed.
TEST(Geometry, OneSlotFewerThanTheRuleLosesAKey) {
  const size_t rows = 4, window = 6;
  for (const bool short_of_one : {false, true}) {
    const Geometry geometry{window + rows - 1 - (short_of_one ? 1 : 0), window};
    bool lost = false;
    CacheModel model(geometry);
    for (size_t position = 0; position < 50; ++position) {
      model.write(position, rows);  // one valid row, the others padding
      for (size_t p = position >= window ? position - window + 1 : 0; p <= position; ++p) {
        lost = lost || model.held(p % geometry.slots) != static_cast<int64_t>(p);
      }
    }
    EXPECT_EQ(lost, short_of_one);
  }
}

TEST(Geometry, RewindIsAllowedExactlyWhileTheKeysAreHeld) {
  const Geometry geometry{9, 6};
  CacheModel model(geometry);
  for (size_t written = 1; written < 40; ++written) {
    model.write(written - 1, 1);
    for (size_t position = 0; position <= written; ++position) {
      bool held = true;
      for (size_t p = position >= 6 ? position - 5 : 0; p < position; ++p) held = held && model.held(p % 9) == static_cast<int64_t>(p);
      // The rule also asks for the key at the query's own place, which the query will write: never more than one position stricter.
      if (geometry.holds_for(position, written)) {
        EXPECT_TRUE(held) << position << " of " << written;
      } else {
        EXPECT_LT(position >= 6 ? position - 5 : 0, written - 9) << position << " of " << written;
      }
    }
    EXPECT_TRUE(geometry.holds_for(0, written));
    EXPECT_TRUE(geometry.holds_for(written, written));
  }
}

TEST(Geometry, HiddenIsTheMostNegativeFiniteValue) {
  EXPECT_EQ(std::bit_cast<float>(most_negative_bits(ScalarType::Float)), std::numeric_limits<float>::lowest());
  EXPECT_EQ(half_to_float(static_cast<uint16_t>(most_negative_bits(ScalarType::Half))), -65504.0f);
  const float lowest = bfloat16_to_float(static_cast<uint16_t>(most_negative_bits(ScalarType::BFloat16)));
  EXPECT_TRUE(std::isfinite(lowest));
  EXPECT_EQ(float_to_bfloat16(lowest), most_negative_bits(ScalarType::BFloat16));
  const Geometry geometry{4, SIZE_MAX};
  for (const ScalarType dtype : {ScalarType::Half, ScalarType::BFloat16}) {
    uint16_t mask[8];
    fill_mask(geometry, 1, 2, dtype, mask);
    const uint16_t hide = static_cast<uint16_t>(most_negative_bits(dtype));
    EXPECT_EQ(std::vector<uint16_t>(mask, mask + 8), (std::vector<uint16_t>{0, 0, hide, hide, 0, 0, 0, hide}));
  }
}

}  // namespace
}  // namespace pteron::llm
