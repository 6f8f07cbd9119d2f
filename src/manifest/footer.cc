#include "manifest/footer.h"

#include <algorithm>
#include <string>

#include "base/checked.h"

namespace pteron::manifest {
namespace {

constexpr std::string_view kMagic = "em00";
constexpr size_t kCoveredBytes = 16;

Status bad(std::string_view what, std::string_view field, std::string expected, std::string found) {
  return Status::error(Code::invalid_data, what,
                       {.file = {}, .field = "manifest." + std::string(field), .expected = std::move(expected), .found = std::move(found)});
}

template <class T>
void append_number(std::vector<std::byte>& out, T value) {
  const size_t at = out.size();
  out.resize(at + sizeof value);
  store_unaligned(out.data() + at, value);
}

void append(std::vector<std::byte>& out, ByteSpan bytes) { out.insert(out.end(), bytes.begin(), bytes.end()); }

}  // namespace

Result<std::optional<Footer>> parse_footer(ByteSpan tail, uint64_t file_size) {
  if (tail.size() < kMagic.size() || as_text(tail.last(kMagic.size())) != kMagic) return std::optional<Footer>();
  if (tail.size() < kFieldBytes) return bad("the file is too small for its manifest", "size", "at least 24 bytes", std::to_string(file_size));
  const ByteSpan fields = tail.last(kFieldBytes);
  const auto signature_size = load_unaligned<uint32_t>(fields.data());
  const auto padding = load_unaligned<uint32_t>(fields.data() + 4);
  const auto signed_bytes = load_unaligned<uint64_t>(fields.data() + 8);
  const auto length = load_unaligned<uint32_t>(fields.data() + 16);
  if (length < kFieldBytes || length > kMaxFooterBytes) {
    return bad("the manifest's length is out of range", "length", "24 to 536 bytes", std::to_string(length));
  }
  if (length > file_size) {
    return bad("the manifest is longer than the file", "length", "at most " + std::to_string(file_size), std::to_string(length));
  }
  if (signature_size > length - kFieldBytes) {
    return bad("the signature does not fit into the manifest", "signature_size", "at most " + std::to_string(length - kFieldBytes),
               std::to_string(signature_size));
  }
  if (padding >= kPaddingAlignment) return bad("the padding before the manifest is too large", "padding_size", "less than 16", std::to_string(padding));
  const std::optional<uint64_t> end = checked_add<uint64_t>(signed_bytes, uint64_t{padding} + length);
  if (end != file_size) {
    return bad("program, padding and manifest do not add up to the file", "program_offset",
               file_size >= uint64_t{padding} + length ? std::to_string(file_size - padding - length) : "a larger file", std::to_string(signed_bytes));
  }
  const ByteSpan zeros = tail.last(length + padding).first(padding);
  if (std::any_of(zeros.begin(), zeros.end(), [](std::byte b) { return b != std::byte{0}; })) {
    return bad("the padding before the manifest is not zero", "padding", "zeros", "other bytes");
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
  append_number(out, static_cast<uint32_t>(signature_bytes));
  append_number(out, padding_for(signed_bytes));
  append_number(out, signed_bytes);
  return out;
}

std::vector<std::byte> write_footer(uint64_t signed_bytes, ByteSpan extension, ByteSpan signature) {
  std::vector<std::byte> out(padding_for(signed_bytes));
  append(out, extension);
  append(out, signature);
  append(out, covered_fields(signed_bytes, signature.size()));
  append_number(out, static_cast<uint32_t>(extension.size() + signature.size() + kFieldBytes));
  append(out, as_bytes(kMagic));
  return out;
}

}  // namespace pteron::manifest
