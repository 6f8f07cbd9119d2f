#include "format/program_layout.h"

#include <string>

#include "base/checked.h"
#include "format/malformed.h"

namespace pteron::format {
namespace {

constexpr std::string_view kMagic = "eh00";
constexpr uint32_t kShortHeader = 24;  // older: without the segment data size

Status check_identifier(ByteSpan file) {
  if (file.size() < kProbeBytes) return malformed("size", "at least 64 bytes", std::to_string(file.size()) + " bytes");
  const std::string_view identifier = as_text(file.subspan(4, 4));
  if (identifier == "ET12") return {};
  if (identifier.starts_with("ET")) return malformed("identifier", "ET12", "another version of the schema", Code::unsupported);
  return malformed("identifier", "ET12", identifier == "FT01" ? "FT01 (a .ptd file)" : "another kind of file");
}

Status check_header(ByteSpan file, uint32_t length, ProgramLayout& layout) {
  const uint64_t header_end = kHeaderOffset + uint64_t{length};
  if (layout.program_size < header_end || layout.program_size > file.size()) {
    return malformed("extended_header.program_size", std::to_string(header_end) + ".." + std::to_string(file.size()), std::to_string(layout.program_size));
  }
  if (layout.segment_base == 0) return {};
  if (layout.segment_base < layout.program_size) {
    return malformed("extended_header.segment_base_offset", "at least the program size " + std::to_string(layout.program_size), std::to_string(layout.segment_base));
  }
  const bool has_data_size = length >= kHeaderBytes;
  layout.segment_end = has_data_size ? layout.segment_base + layout.segment_data_size : file.size();
  if (!range_inside(layout.segment_base, has_data_size ? layout.segment_data_size : 0, file.size())) {
    return malformed("extended_header.segment_data_size", "segments within the file's " + std::to_string(file.size()) + " bytes",
                     std::to_string(layout.segment_data_size) + " bytes from " + std::to_string(layout.segment_base));
  }
  return {};
}

}  // namespace

Result<ProgramLayout> read_program_layout(ByteSpan file) {
  PTERON_TRY(check_identifier(file));
  ProgramLayout layout;
  const std::byte* header = file.data() + kHeaderOffset;
  if (as_text(file.subspan(kHeaderOffset, kMagic.size())) == kMagic) {
    layout.has_header = true;
    const auto length = load_unaligned<uint32_t>(header + 4);
    if (length < kShortHeader) return malformed("extended_header.length", "at least 24", std::to_string(length));
    layout.program_size = load_unaligned<uint64_t>(header + 8);
    layout.segment_base = load_unaligned<uint64_t>(header + 16);
    layout.segment_data_size = length >= kHeaderBytes ? load_unaligned<uint64_t>(header + 24) : 0;
    PTERON_TRY(check_header(file, length, layout));
  } else {
    layout.program_size = file.size();
  }
  if (layout.program_size > kMaxFlatBuffer) {
    return malformed(layout.has_header ? "extended_header.program_size" : "size", "at most 2147483647 bytes of program", std::to_string(layout.program_size));
  }
  return layout;
}

std::array<std::byte, kHeaderBytes> make_header(const ProgramLayout& layout) {
  std::array<std::byte, kHeaderBytes> header{};
  std::memcpy(header.data(), kMagic.data(), kMagic.size());
  store_unaligned(header.data() + 4, static_cast<uint32_t>(kHeaderBytes));
  store_unaligned(header.data() + 8, layout.program_size);
  store_unaligned(header.data() + 16, layout.segment_base);
  store_unaligned(header.data() + 24, layout.segment_data_size);
  return header;
}

}  // namespace pteron::format
