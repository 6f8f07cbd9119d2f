#include "text/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "text/newer_characters.h"

namespace pteron::text {
namespace {

utf8proc_category_t category(char32_t c) { return utf8proc_category(static_cast<utf8proc_int32_t>(c)); }

// The bytes that may follow `first` as the second byte of a character: [low, high].
struct SecondByteRange {
  unsigned char low, high;
};
SecondByteRange second_byte_range(unsigned char first) {
  switch (first) {
    case 0xe0: return {0xa0, 0xbf};
    case 0xed: return {0x80, 0x9f};
    case 0xf0: return {0x90, 0xbf};
    case 0xf4: return {0x80, 0x8f};
    default: return {0x80, 0xbf};
  }
}

}  // namespace

Utf8Char utf8_at(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1, true};
  const size_t length = utf8_length(first);
  if (length == 1) return {kReplacementCharacter, 1, false};
  const size_t left = text.size() - at;
  char32_t code = first & (0x7f >> length);
  for (size_t i = 1; i < length; ++i) {
    const SecondByteRange range = i == 1 ? second_byte_range(first) : SecondByteRange{0x80, 0xbf};
    if (i >= left || byte(i) < range.low || byte(i) > range.high) return {kReplacementCharacter, static_cast<uint32_t>(i), false};
    code = code << 6 | (byte(i) & 0x3f);
  }
  return {code, static_cast<uint32_t>(length), true};
}

Utf8Char utf8_before(std::string_view text, size_t end) {
  size_t begin = end - 1;
  while (begin > 0 && end - begin < 4 && (static_cast<unsigned char>(text[begin]) & 0xc0) == 0x80) --begin;
  return utf8_at(text, begin);
}

std::optional<size_t> find_invalid_utf8(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    if (i + 8 <= text.size()) {
      uint64_t chunk;
      std::copy_n(text.data() + i, 8, reinterpret_cast<char*>(&chunk));
      if ((chunk & 0x8080808080808080u) == 0) {
        i += 8;
        continue;
      }
    }
    const Utf8Char c = utf8_at(text, i);
    if (!c.valid) return i;
    i += c.size;
  }
  return std::nullopt;
}

void append_utf8(std::string& out, char32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | code >> 6);
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | code >> 12);
    out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | code >> 18);
    out += static_cast<char>(0x80 | (code >> 12 & 0x3f));
    out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  }
}

size_t count_characters(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

size_t open_utf8_tail(std::string_view text) {
  for (size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xc0) == 0x80) continue;
    if (utf8_length(byte) <= back) return 0;
    return utf8_at(text, text.size() - back).size == back ? back : 0;
  }
  return 0;
}

void append_lossy_utf8(std::string& out, std::string_view bytes) {
  size_t i = 0;
  while (i < bytes.size()) {
    const size_t stop = find_invalid_utf8(bytes.substr(i)).value_or(bytes.size() - i);
    out.append(bytes, i, stop);
    i += stop;
    if (i == bytes.size()) break;
    out += kReplacementUtf8;
    i += utf8_at(bytes, i).size;
  }
}

bool is_number(char32_t c) {
  if (c < 0x80) return c >= '0' && c <= '9';
  const utf8proc_category_t k = category(c);
  return k >= UTF8PROC_CATEGORY_ND && k <= UTF8PROC_CATEGORY_NO;
}

bool is_punctuation(char32_t c) {
  if (c < 0x80) return (c >= 0x21 && c <= 0x2f) || (c >= 0x3a && c <= 0x40) || (c >= 0x5b && c <= 0x60) || (c >= 0x7b && c <= 0x7e);
  if (c == 0x166d || c == 0x111c9) return true;  // were punctuation once
  const utf8proc_category_t k = category(c);
  return k >= UTF8PROC_CATEGORY_PC && k <= UTF8PROC_CATEGORY_PO && !in_ranges(kNewerPunctuation, c);
}

bool is_control(char32_t c) {
  const utf8proc_category_t k = category(c);
  return k == UTF8PROC_CATEGORY_CC || k == UTF8PROC_CATEGORY_CO || (k == UTF8PROC_CATEGORY_CF && !in_ranges(kNewerFormats, c));
}

bool is_mark(char32_t c) {
  const utf8proc_category_t k = category(c);
  return (k >= UTF8PROC_CATEGORY_MN && k <= UTF8PROC_CATEGORY_ME && !in_ranges(kNewerMarks, c)) || c == 0x1cf2 || c == 0x1cf3;
}

bool is_nonspacing_mark(char32_t c) {
  return (category(c) == UTF8PROC_CATEGORY_MN && !in_ranges(kNewerNonspacingMarks, c)) || c == 0x1734;
}

bool is_word(char32_t c) {
  if (c < 0x80) return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  switch (category(c)) {
    case UTF8PROC_CATEGORY_LU: case UTF8PROC_CATEGORY_LL: case UTF8PROC_CATEGORY_LT: case UTF8PROC_CATEGORY_LM: case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN: case UTF8PROC_CATEGORY_MC: case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND: case UTF8PROC_CATEGORY_NL: case UTF8PROC_CATEGORY_PC:
      return true;
    default:
      break;
  }
  // The joiners, and the symbols that are Alphabetic: circled and squared letters.
  return c == 0x200c || c == 0x200d || (c >= 0x24b6 && c <= 0x24e9) || (c >= 0x1f130 && c <= 0x1f149) || (c >= 0x1f150 && c <= 0x1f169) ||
         (c >= 0x1f170 && c <= 0x1f189);
}

bool is_cjk_ideograph(char32_t c) {
  return (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf) || (c >= 0x20000 && c <= 0x2a6df) || (c >= 0x2a700 && c <= 0x2b73f) ||
         (c >= 0x2b740 && c <= 0x2b81f) || (c >= 0x2b920 && c <= 0x2ceaf) || (c >= 0xf900 && c <= 0xfaff) || (c >= 0x2f800 && c <= 0x2fa1f);
}

void append_lowercase(std::string& out, char32_t c) {
  if (c == 0x130) {
    out += "i\xcc\x87";  // the one character whose lower case is two
    return;
  }
  append_utf8(out, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
}

bool append_normalized(std::string& out, std::string_view text, NormalForm form) {
  const bool compat = form == NormalForm::nfkc || form == NormalForm::nfkd;
  const bool compose = form == NormalForm::nfc || form == NormalForm::nfkc;
  const auto decompose_options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | (compat ? UTF8PROC_COMPAT : 0));
  std::vector<utf8proc_int32_t> codes;
  codes.reserve(text.size() + 1);
  int boundary = 0;
  for (size_t i = 0; i < text.size();) {
    const Utf8Char c = utf8_at(text, i);
    i += c.size;
    if (c.code < 0x80 || in_ranges(kNewerDecompositions, c.code)) {
      codes.push_back(static_cast<utf8proc_int32_t>(c.code));
      continue;
    }
    utf8proc_int32_t parts[32];
    const utf8proc_ssize_t n = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c.code), parts, 32, decompose_options, &boundary);
    if (n < 0 || n > 32) return false;
    codes.insert(codes.end(), parts, parts + n);
  }
  // Canonical order: each run of combining marks sorted by class, equal classes in place. (The library's own sort is quadratic.)
  const auto combining_class = [](utf8proc_int32_t c) {
    return c < 0x300 || in_ranges(kNewerMarks, static_cast<char32_t>(c)) ? 0 : utf8proc_get_property(c)->combining_class;
  };
  std::vector<std::tuple<int, size_t, utf8proc_int32_t>> marks;  // class, place, character
  for (size_t i = 0; i < codes.size();) {
    size_t end = i;
    while (end < codes.size() && combining_class(codes[end]) != 0) ++end;
    if (end - i > 1) {
      marks.clear();
      for (size_t k = i; k < end; ++k) marks.push_back({combining_class(codes[k]), k, codes[k]});
      std::sort(marks.begin(), marks.end());
      for (size_t k = i; k < end; ++k) codes[k] = std::get<2>(marks[k - i]);
    }
    i = end + 1;
  }
  auto size = static_cast<utf8proc_ssize_t>(codes.size());
  if (compose) {
    codes.push_back(0);
    size = utf8proc_normalize_utf32(codes.data(), size, static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
    if (size < 0) return false;
  }
  for (utf8proc_ssize_t i = 0; i < size; ++i) append_utf8(out, static_cast<char32_t>(codes[static_cast<size_t>(i)]));
  return true;
}

size_t grapheme_length(std::string_view text, size_t at) {
  utf8proc_int32_t state = 0;
  size_t end = at;
  Utf8Char previous = utf8_at(text, end);
  end += previous.size;
  while (end < text.size()) {
    const Utf8Char next = utf8_at(text, end);
    if (utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(previous.code), static_cast<utf8proc_int32_t>(next.code), &state)) break;
    end += next.size;
    previous = next;
  }
  return end - at;
}

}  // namespace pteron::text
