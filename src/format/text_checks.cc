#include "format/text_checks.h"

#include <cstddef>
#include <cstdint>

#include "format/malformed.h"

namespace pteron::format {

bool is_utf8(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  for (size_t i = 0; i < text.size();) {
    const uint8_t lead = byte(i);
    if (lead < 0x80) {
      ++i;
      continue;
    }
    const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || length > text.size() - i) return false;
    for (size_t k = 1; k < length; ++k) {
      if ((byte(i + k) & 0xc0) != 0x80) return false;
    }
    const uint8_t second = byte(i + 1);
    if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) || (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f)) {
      return false;
    }
    i += length;
  }
  return true;
}

Status check_text(std::string_view text, std::string_view field) {
  if (!is_utf8(text)) return malformed(field, "UTF-8", "other bytes");
  return text.find('\0') == std::string_view::npos ? Status() : malformed(field, "text without NUL", "a NUL inside");
}

Status check_name(std::string_view text, std::string_view field) {
  return text.empty() ? malformed(field, "a name", "an empty string") : check_text(text, field);
}

}  // namespace pteron::format
