#include "core/packed_weight.h"

#include <gtest/gtest.h>

#include <limits>

namespace pteron {
namespace {

TEST(PackedWeight, RecordsHoldTheirParts) {
  for (size_t i = 0; i < kPackedEncodings; ++i) {
    const PackedLayout* layout = packed_layout(static_cast<PackedEncoding>(i));
    ASSERT_NE(layout, nullptr);
    SCOPED_TRACE(layout->name);
    EXPECT_EQ(layout->record_bytes % 32, 0);
    if (layout->record_columns == 1) {
      EXPECT_EQ(layout->record_bytes, kTileRows * layout->bits / 8);
      continue;
    }
    const size_t scale_sets = layout->bits == 6 ? 2 : 1;
    const size_t values = kTileRows * kGroupColumns * layout->bits / 8;
    EXPECT_EQ(layout->scale_offset, values);
    EXPECT_EQ(layout->record_bytes, values + (scale_sets + (layout->affine ? 1 : 0)) * kTileRows * 2);
  }
  EXPECT_EQ(packed_layout(static_cast<PackedEncoding>(kPackedEncodings)), nullptr);
}

TEST(PackedWeight, SizesRoundUpToTilesAndGroups) {
  EXPECT_EQ(packed_bytes(PackedEncoding::int4, 16, 32), 288u);
  EXPECT_EQ(packed_bytes(PackedEncoding::int4, 17, 33), 2u * 2u * 288u);
  EXPECT_EQ(packed_bytes(PackedEncoding::float16, 1, 5), 5u * 32u);
  EXPECT_EQ(packed_tile_bytes(PackedEncoding::int8, 576), 18u * 544u);
}

TEST(PackedWeight, RefusesNothingAndTooMuch) {
  EXPECT_FALSE(packed_bytes(PackedEncoding::int4, 0, 32));
  EXPECT_FALSE(packed_bytes(PackedEncoding::int4, 16, 0));
  EXPECT_FALSE(packed_bytes(PackedEncoding::float32, std::numeric_limits<uint64_t>::max(), 1u << 20));
  EXPECT_FALSE(packed_bytes(PackedEncoding::int8, 1u << 20, std::numeric_limits<uint64_t>::max()));
  EXPECT_FALSE(packed_bytes(static_cast<PackedEncoding>(200), 16, 32));
}

}  // namespace
}  // namespace pteron
