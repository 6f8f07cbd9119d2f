#include "core/packed_weight.h"

#include <array>

#include "base/checked.h"

namespace pteron {
namespace {

constexpr std::array<PackedLayout, kPackedEncodings> kLayouts = {{
    {"float32", 32, 1, false, 0, 0, 0, 64},
    {"float16", 16, 1, false, 0, 0, 0, 32},
    {"bfloat16", 16, 1, false, 0, 0, 0, 32},
    {"int8", 8, 32, false, 128, 0, 512, 544},
    {"int4", 4, 32, false, 8, 0, 256, 288},
    {"int4_affine", 4, 32, true, 0, 0, 256, 320},
    {"int5", 5, 32, false, 16, 256, 320, 352},
    {"int5_affine", 5, 32, true, 0, 256, 320, 384},
    {"int6", 6, 32, false, 32, 256, 384, 448},
}};

}  // namespace

const PackedLayout* packed_layout(PackedEncoding encoding) {
  const auto index = static_cast<size_t>(encoding);
  return index < kLayouts.size() ? &kLayouts[index] : nullptr;
}

std::optional<uint64_t> packed_tile_bytes(PackedEncoding encoding, uint64_t cols) {
  const PackedLayout* layout = packed_layout(encoding);
  if (layout == nullptr || cols == 0) return std::nullopt;
  const uint64_t records = cols / layout->record_columns + (cols % layout->record_columns != 0 ? 1 : 0);
  return checked_mul<uint64_t>(records, layout->record_bytes);
}

std::optional<uint64_t> packed_bytes(PackedEncoding encoding, uint64_t rows, uint64_t cols) {
  const auto tile = packed_tile_bytes(encoding, cols);
  if (!tile || rows == 0) return std::nullopt;
  return checked_mul<uint64_t>(rows / kTileRows + (rows % kTileRows != 0 ? 1 : 0), *tile);
}

}  // namespace pteron
