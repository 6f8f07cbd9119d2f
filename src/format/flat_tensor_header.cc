#include "format/flat_tensor_header.h"

#include <string>
#include <string_view>

#include "base/checked.h"
#include "format/malformed.h"

namespace pteron::format {
namespace {

constexpr size_t kProbeBytes = 64;
constexpr size_t kMagicOffset = 8;
constexpr std::string_view kMagic = "FH01";
constexpr uint32_t kFieldBytes = 40;

}  // namespace

Result<FlatTensorHeader> read_flat_tensor_header(ByteSpan file) {
  if (file.size() < kProbeBytes) return malformed("size", "at least 64 bytes", std::to_string(file.size()) + " bytes");
  if (as_text(file.subspan(4, 4)) != "FT01") return malformed("identifier", "FT01", "another kind of file");
  if (as_text(file.subspan(kMagicOffset, kMagic.size())) != kMagic) return malformed("header.magic", std::string(kMagic), "other bytes");
  const std::byte* fields = file.data() + kMagicOffset;
  const auto length = load_unaligned<uint32_t>(fields + 4);
  if (length < kFieldBytes) return malformed("header.length", "at least 40", std::to_string(length));
  // Despite its name the first offset is the length of the inserted block, and the size leaves that block out.
  const auto inserted = load_unaligned<uint64_t>(fields + 8), size = load_unaligned<uint64_t>(fields + 16);
  FlatTensorHeader header;
  header.segment_base = load_unaligned<uint64_t>(fields + 24);
  header.segment_data_size = load_unaligned<uint64_t>(fields + 32);
  if (inserted < kFieldBytes || !range_inside(inserted, size, file.size())) {
    return malformed("header.flatbuffer_size", "tables within the file's " + std::to_string(file.size()) + " bytes",
                     std::to_string(size) + " bytes behind a block of " + std::to_string(inserted));
  }
  header.flatbuffer_end = inserted + size;
  if (header.segment_base < header.flatbuffer_end || !range_inside(header.segment_base, header.segment_data_size, file.size())) {
    return malformed("header.segment_data_size", "segments between the tables and the end of the file at " + std::to_string(file.size()),
                     std::to_string(header.segment_data_size) + " bytes from " + std::to_string(header.segment_base));
  }
  return header;
}

std::array<std::byte, kFlatTensorHeaderBytes> make_flat_tensor_header(const FlatTensorHeader& header) {
  std::array<std::byte, kFlatTensorHeaderBytes> block{};
  std::memcpy(block.data(), kMagic.data(), kMagic.size());
  store_unaligned(block.data() + 4, kFieldBytes);
  store_unaligned(block.data() + 8, uint64_t{kFlatTensorHeaderBytes});
  store_unaligned(block.data() + 16, header.flatbuffer_end - kFlatTensorHeaderBytes);
  store_unaligned(block.data() + 24, header.segment_base);
  store_unaligned(block.data() + 32, header.segment_data_size);
  return block;
}

}  // namespace pteron::format
