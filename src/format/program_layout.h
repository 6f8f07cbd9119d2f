// Where the parts of a `.pte` lie: the extended header of docs/pte.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/status.h"

namespace pteron::format {

// FlatBuffers offsets are signed 32-bit numbers.
inline constexpr uint64_t kMaxFlatBuffer = (uint64_t{1} << 31) - 1;

struct ProgramLayout {
  bool has_header = false;
  uint64_t program_size = 0;       // of the FlatBuffer region, which starts at byte 0
  uint64_t segment_base = 0;       // 0: there are no segments
  uint64_t segment_data_size = 0;  // as the header says; 0 in headers of 24 bytes
  uint64_t segment_end = 0;        // no segment reaches beyond this byte
};

// Reads and checks the identifier and the header (or its absence) of a `.pte` of which `file` is the whole. Trailing bytes are legal.
Result<ProgramLayout> read_program_layout(ByteSpan file);

inline constexpr size_t kProbeBytes = 64;   // what readers fetch before anything else; a shorter file is no program
inline constexpr size_t kHeaderOffset = 8;  // behind the root offset and the identifier
inline constexpr size_t kHeaderBytes = 32;

// The header block that goes to byte 8; `layout.program_size` counts it.
std::array<std::byte, kHeaderBytes> make_header(const ProgramLayout& layout);

}  // namespace pteron::format
