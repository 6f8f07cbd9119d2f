// How weights lie in a packed program: the noun that packers, payloads and kernels of the cpu backend share.
//
// A weight of `rows` outputs by `cols` inputs is cut into tiles of 16 rows. A tile holds, one after another along the columns, records:
//   float encodings   one record a column: its 16 rows
//   integer encodings one record a group of 32 columns: 8 blocks of 16 rows x 4 columns (row-major: four bytes of row 0, of row 1, ...),
//                     then the scales (float16, one a row; int6: 16 for columns 0-15, then 16 for 16-31), then the offsets where affine
// Blocks of narrow integers: byte j of the low plane holds block 2i in its low and block 2i+1 in its high nibble (4 x 64 bytes);
// int5 adds 64 bytes whose byte j has bit 4 of block b in bit b; int6 adds 128 bytes whose byte 64 * (b / 4) + j has bits 4-5 of block b
// in bits 2 * (b % 4) and up. Stored integers are unsigned: value = scale * (stored - zero_point), or scale * stored + offset where affine.
// Rows past the end have scale and offset zero; columns past the end are stored as the zero point (zero where affine).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace pteron {

enum class PackedEncoding : uint8_t { float32, float16, bfloat16, int8, int4, int4_affine, int5, int5_affine, int6 };

inline constexpr size_t kPackedEncodings = 9;
inline constexpr size_t kTileRows = 16;
inline constexpr size_t kGroupColumns = 32;
inline constexpr size_t kPackedAlignment = 64;  // of a whole weight; a tile starts at a multiple of 32

struct PackedLayout {
  std::string_view name;   // as reports and `inspect` print it
  uint8_t bits;            // of a stored value
  uint8_t record_columns;  // columns a record covers: 1 or 32
  bool affine;
  uint8_t zero_point;      // of the unsigned stored integer
  uint16_t plane_offset;   // of the high plane in a record (int5, int6)
  uint16_t scale_offset;   // of the scales in a record
  uint16_t record_bytes;
};

// The layout of an encoding; null for a number that is none.
const PackedLayout* packed_layout(PackedEncoding encoding);

// Bytes of a packed weight; nothing where a size is zero or the product overflows.
std::optional<uint64_t> packed_bytes(PackedEncoding encoding, uint64_t rows, uint64_t cols);

// Bytes from a tile to the next.
std::optional<uint64_t> packed_tile_bytes(PackedEncoding encoding, uint64_t cols);

}  // namespace pteron
