// The alphabet of byte-level vocabularies: every byte has a printable character.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace pteron::text {

// Printable bytes stand for themselves; the 68 others are U+0100, U+0101, ... in order.
constexpr bool byte_is_printable(unsigned byte) { return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae; }

constexpr std::array<uint16_t, 256> make_byte_characters() {
  std::array<uint16_t, 256> characters{};
  uint16_t next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) characters[byte] = byte_is_printable(byte) ? static_cast<uint16_t>(byte) : next++;
  return characters;
}
inline constexpr std::array<uint16_t, 256> kByteCharacters = make_byte_characters();

// The bytes as characters of the alphabet, UTF-8.
void append_byte_characters(std::string& out, std::string_view bytes);
// Appends the bytes that the characters of a token stand for; false (and nothing appended) if one is not of the alphabet.
bool append_character_bytes(std::string& out, std::string_view token);

}  // namespace pteron::text
