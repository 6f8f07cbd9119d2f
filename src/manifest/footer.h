// The footer that ends a signed file: where it is, how large its parts are. Needs the last bytes of the file and nothing else.
//
//   [signed bytes][0-15 zeros][extension | signature][signature_size u32][padding_size u32][signed_bytes u64][length u32]["em00"]
//
// `length` counts from the first byte of the extension (or signature) to the end of the magic. Without an extension it is the footer that
// ExecuTorch publishes; with one, its readers still find signature and fields where they expect them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"

namespace pteron::manifest {

constexpr size_t kFieldBytes = 24;
constexpr size_t kMaxFooterBytes = 536;
constexpr size_t kMaxSignatureBytes = kMaxFooterBytes - kFieldBytes;
constexpr size_t kPaddingAlignment = 16;
// What a reader has to fetch: the longest footer and the padding in front of it.
constexpr size_t kTailBytes = kMaxFooterBytes + kPaddingAlignment - 1;

struct Footer {
  uint64_t signed_bytes = 0;  // all bytes before the padding
  uint32_t padding = 0;
  ByteSpan extension, signature;  // inside the tail that was parsed
  // The fields that a statement's signature covers: signature_size, padding_size and signed_bytes as they stand in the file.
  ByteSpan covered_fields;
};

// Reads the footer from the last min(file size, kTailBytes) bytes of a file. Nothing if the file does not end in the magic; a file that
// does and has anything wrong with its footer is an error.
Result<std::optional<Footer>> parse_footer(ByteSpan tail, uint64_t file_size);

// Zeros that bring `signed_bytes` to the alignment of the footer.
constexpr uint32_t padding_for(uint64_t signed_bytes) {
  return static_cast<uint32_t>((kPaddingAlignment - signed_bytes % kPaddingAlignment) % kPaddingAlignment);
}

// signature_size, padding_size and signed_bytes as the footer stores them.
std::vector<std::byte> covered_fields(uint64_t signed_bytes, size_t signature_bytes);

// Padding and footer, ready to be written behind `signed_bytes` bytes. Extension and signature together are at most 512 bytes.
std::vector<std::byte> write_footer(uint64_t signed_bytes, ByteSpan extension, ByteSpan signature);

}  // namespace pteron::manifest
