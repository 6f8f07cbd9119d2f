// UTF-8 and the character classes that tokenizers ask for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pteron::text {

inline constexpr char32_t kReplacementCharacter = 0xfffd;
inline constexpr std::string_view kReplacementUtf8 = "\xef\xbf\xbd";

// Offset of the first byte that is not part of well-formed UTF-8; nothing if all of the text is.
std::optional<size_t> find_invalid_utf8(std::string_view text);

// The length that a first byte promises (1 for bytes that cannot begin a character).
constexpr size_t utf8_length(unsigned char first) { return first < 0xc2 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 1; }

struct Utf8Char {
  char32_t code;
  uint32_t size;  // bytes taken, at least 1
  bool valid;
};
// The character at `at`, which must be below text.size(). An ill-formed sequence gives U+FFFD and the size of its maximal valid beginning.
Utf8Char utf8_at(std::string_view text, size_t at);
// The character that ends at `end` (> 0) of well-formed text.
Utf8Char utf8_before(std::string_view text, size_t end);
void append_utf8(std::string& out, char32_t code);
size_t count_characters(std::string_view text);

// How many bytes at the end of `text` begin a character that later bytes could complete (0 to 3).
size_t open_utf8_tail(std::string_view text);
// Appends `bytes` with every ill-formed maximal subpart as one U+FFFD.
void append_lossy_utf8(std::string& out, std::string_view bytes);

// White_Space.
constexpr bool is_white_space(char32_t c) {
  if (c < 0x80) return c == 0x20 || (c >= 0x09 && c <= 0x0d);
  return c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}
bool is_number(char32_t c);               // Nd, Nl, No
bool is_punctuation(char32_t c);          // P*, and all ASCII symbols
bool is_control(char32_t c);              // Cc, Cf, Co
bool is_mark(char32_t c);                 // Mn, Mc, Me
bool is_nonspacing_mark(char32_t c);      // Mn
bool is_word(char32_t c);                 // Alphabetic, M, Nd, Pc, Join_Control
bool is_cjk_ideograph(char32_t c);        // the blocks that BERT sets apart
void append_lowercase(std::string& out, char32_t c);

enum class NormalForm : uint8_t { nfc, nfd, nfkc, nfkd };
// Appends the normal form of well-formed text. Linear but for sorting runs of combining marks. False if memory ran out.
bool append_normalized(std::string& out, std::string_view text, NormalForm form);

// Length of the extended grapheme cluster that begins at `at`.
size_t grapheme_length(std::string_view text, size_t at);

}  // namespace pteron::text
