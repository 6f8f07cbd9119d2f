#include "manifest/footer.h"

#include <algorithm>
#include <string>

#include "base/checked.h"
#include "manifest/encode.h"
#include "manifest/malformed.h"

namespace pteron::manifest {
namespace {

constexpr std::string_view kMagic = "em00";
constexpr size_t kCoveredBytes = 16;

}  // namespace

Result<std::optional<Footer>> parse_footer(ByteSpan tail, uint64_t file_size) {
  if (tail.size() < kMagic.size() || as_text(tail.last(kMagic.size())) != kMagic) return std::optional<Footer>();
  if (tail.size() < kFieldBytes)
    return malformed("the file is too small for its manifest", "size", "at least 24 bytes", std::to_string(file_size));
  const ByteSpan fields = tail.last(kFieldBytes);
  const auto signature_size = load_unaligned<uint32_t>(fields.data());
  const auto padding = load_unaligned<uint32_t>(fields.data() + 4);
  const auto signed_bytes = load_unaligned<uint64_t>(fields.data() + 8);
  const auto length = load_unaligned<uint32_t>(fields.data() + 16);
  if (length < kFieldBytes || length > kMaxFooterBytes) {
    return malformed("the manifest's length is out of range", "length", "24 to 536 bytes", std::to_string(length));
  }
  if (length > file_size) {
    return malformed("the manifest is longer than the file", "length", "at most " + std::to_string(file_size), std::to_string(length));
  }
  if (signature_size > length - kFieldBytes) {
    return malformed("the signature does not fit into the manifest", "signature_size", "at most " + std::to_string(length - kFieldBytes),
                     std::to_string(signature_size));
  }
  if (padding >= kPaddingAlignment)
    return malformed("the padding before the manifest is too large", "padding_size", "less than 16", std::to_string(padding));
  const std::optional<uint64_t> end = checked_add<uint64_t>(signed_bytes, uint64_t{padding} + length);
  if (end != file_size) {
    return malformed("program, padding and manifest do not add up to the file", "program_offset",
                     file_size >= uint64_t{padding} + length ? std::to_string(file_size - padding - length) : "a larger file",
                     std::to_string(signed_bytes));
  }
  const ByteSpan zeros = tail.last(length + padding).first(padding);
  if (std::any_of(zeros.begin(), zeros.end(), [](std::byte b) { return b != std::byte{0}; })) {
    return malformed("the padding before the manifest is not zero", "padding", "zeros", "other bytes");
  }
  Footer footer;
  footer.signed_bytes = signed_bytes;
  footer.padding = padding;
  const ByteSpan variable = tail.last(length).first(length - kFieldBytes);
  footer.extension = variable.first(variable.size() - signature_size);
  footer.signature = variable.last(signature_size);
  footer.covered_fields = fields.first(kCoveredBytes);
  return std::optional<Footer>(footer);
}

std::vector<std::byte> covered_fields(uint64_t signed_bytes, size_t signature_bytes) {
  std::vector<std::byte> out;
  append_value(out, static_cast<uint32_t>(signature_bytes));
  append_value(out, padding_for(signed_bytes));
  append_value(out, signed_bytes);
  return out;
}

std::vector<std::byte> write_footer(uint64_t signed_bytes, ByteSpan extension, ByteSpan signature) {
  std::vector<std::byte> out(padding_for(signed_bytes));
  append_bytes(out, extension);
  append_bytes(out, signature);
  append_bytes(out, covered_fields(signed_bytes, signature.size()));
  append_value(out, static_cast<uint32_t>(extension.size() + signature.size() + kFieldBytes));
  append_bytes(out, as_bytes(kMagic));
  return out;
}

}  // namespace pteron::manifest
