// GGUF's quantised blocks as groups of 32 unsigned integers with scales, ready to be packed without requantisation.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "core/constant_source.h"
#include "core/packed_weight.h"

namespace pteron::cpu_backend {

// value[i] = scale[i / 16] * (integer[i] - zero point of the encoding) + offset
struct GroupValues {
  uint8_t integers[kGroupColumns];
  float scales[2];  // equal but for int6
  float offset;
};

// The packed encoding that holds a block encoding as it is; float32 for `none`.
PackedEncoding packed_for(BlockEncoding encoding);

// Bytes of a row of `columns` values, a multiple of 32 (K-quants: of 256); 0 where it is not.
size_t block_row_bytes(BlockEncoding encoding, size_t columns);

// Group `group` of a row of stored blocks.
void read_group(BlockEncoding encoding, ByteSpan row, size_t group, GroupValues& out);

}  // namespace pteron::cpu_backend
