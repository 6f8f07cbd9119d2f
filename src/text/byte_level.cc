#include "text/byte_level.h"

#include "text/unicode.h"

namespace pteron::text {
namespace {

constexpr unsigned kCharacterLimit = 0x144;  // one above the last character of the alphabet

constexpr std::array<int16_t, kCharacterLimit> make_character_bytes() {
  std::array<int16_t, kCharacterLimit> bytes{};
  for (auto& b : bytes) b = -1;
  for (unsigned byte = 0; byte < 256; ++byte) bytes[kByteCharacters[byte]] = static_cast<int16_t>(byte);
  return bytes;
}
constexpr std::array<int16_t, kCharacterLimit> kCharacterBytes = make_character_bytes();

}  // namespace

void append_byte_characters(std::string& out, std::string_view bytes) {
  for (const char byte : bytes) append_utf8(out, kByteCharacters[static_cast<unsigned char>(byte)]);
}

bool append_character_bytes(std::string& out, std::string_view token) {
  const size_t before = out.size();
  for (size_t i = 0; i < token.size();) {
    const Utf8Char c = utf8_at(token, i);
    if (!c.valid || c.code >= kCharacterLimit || kCharacterBytes[c.code] < 0) {
      out.resize(before);
      return false;
    }
    out += static_cast<char>(kCharacterBytes[c.code]);
    i += c.size;
  }
  return true;
}

}  // namespace pteron::text
