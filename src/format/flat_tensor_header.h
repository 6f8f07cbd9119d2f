// The header of a `.ptd`: docs/pte.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/status.h"

namespace pteron::format {

inline constexpr size_t kFlatTensorHeaderBytes = 48;  // the block that goes to byte 8: 40 bytes of fields, padded to 16

struct FlatTensorHeader {
  uint64_t flatbuffer_end = 0;  // the tables are bytes [0, here)
  uint64_t segment_base = 0;
  uint64_t segment_data_size = 0;
};

// Reads and checks identifier and header of a `.ptd` of which `file` is the whole. Trailing bytes are legal.
Result<FlatTensorHeader> read_flat_tensor_header(ByteSpan file);

// The block for a file with this header.
std::array<std::byte, kFlatTensorHeaderBytes> make_flat_tensor_header(const FlatTensorHeader& header);

}  // namespace pteron::format
