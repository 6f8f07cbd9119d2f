#include "text/jinja_lexer.h"

#include <array>
#include <charconv>
#include <cstdlib>

#include "text/jinja_text.h"

namespace pteron::text::jinja {
namespace {

constexpr size_t kMaxSource = size_t{1} << 20;
constexpr std::array<std::string_view, 24> kSymbols = {"**", "//", "==", "!=", "<=", ">=", "+", "-", "*", "/", "%", "~", "<", ">", "=", ".", ",", ":", "|", "(", ")", "[", "]", "{"};

bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 0x80; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name(char c) { return is_name_start(c) || is_digit(c); }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'; }

// All line ends as \n, and the last one dropped.
std::string normalized(std::string_view source) {
  std::string text;
  text.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') text += source[i];
    else {
      text += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    }
  }
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

class Lexer {
 public:
  explicit Lexer(std::string source) : source_(std::move(source)) {}

  Result<std::vector<Token>> run() {
    while (at_ < source_.size()) PTERON_TRY(text_and_tag());
    push(TokenKind::end);
    return std::move(tokens_);
  }

 private:
  Token& push(TokenKind kind, std::string text = {}) {
    Token token;
    token.kind = kind;
    token.text = std::move(text);
    token.line = line_;
    tokens_.push_back(std::move(token));
    return tokens_.back();
  }

  void advance(size_t count) {
    for (size_t i = 0; i < count && at_ < source_.size(); ++i, ++at_) line_ += source_[at_] == '\n';
  }

  bool starts(std::string_view mark) const { return std::string_view(source_).substr(at_, mark.size()) == mark; }

  size_t next_tag(size_t from) const {
    for (size_t at = source_.find('{', from); at != std::string::npos; at = source_.find('{', at + 1)) {
      if (at + 1 < source_.size() && (source_[at + 1] == '{' || source_[at + 1] == '%' || source_[at + 1] == '#')) return at;
    }
    return source_.size();
  }

  // Takes off what white-space control wants gone at the end of a piece of text before a tag at `tag`.
  std::string_view trimmed_end(std::string_view text, size_t tag) const {
    const char sign = tag + 2 < source_.size() ? source_[tag + 2] : '\0';
    if (sign == '-') {
      while (!text.empty() && is_space(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
      return text;
    }
    if (source_[tag + 1] == '{' || sign == '+') return text;
    // lstrip_blocks: blanks go if the line holds nothing else before the block.
    size_t keep = text.size();
    while (keep > 0 && (text[keep - 1] == ' ' || text[keep - 1] == '\t' || text[keep - 1] == '\v' || text[keep - 1] == '\f')) --keep;
    const bool line_start = keep > 0 ? text[keep - 1] == '\n' : text.data() == source_.data() || text.data()[-1] == '\n';
    return line_start ? text.substr(0, keep) : text;
  }

  // What follows a tag: everything blank after `-`, one newline after a block or comment (trim_blocks) unless `+`.
  void skip_after(char sign, bool block) {
    if (sign == '-') {
      while (at_ < source_.size() && is_space(static_cast<unsigned char>(source_[at_]))) advance(1);
    } else if (block && sign != '+' && at_ < source_.size() && source_[at_] == '\n') {
      advance(1);
    }
  }

  void emit_text(std::string_view text) {
    if (!text.empty()) push(TokenKind::text, std::string(text));
  }

  Status text_and_tag() {
    const size_t tag = next_tag(at_);
    const std::string_view text(source_.data() + at_, tag - at_);
    if (tag == source_.size()) {
      emit_text(text);
      advance(text.size());
      return {};
    }
    emit_text(trimmed_end(text, tag));
    advance(text.size());
    const char kind = source_[at_ + 1];
    if (kind == '#') return comment();
    if (kind == '%' && raw_begins()) return raw();
    const int line = line_;
    const char sign = at_ + 2 < source_.size() ? source_[at_ + 2] : '\0';
    push(kind == '%' ? TokenKind::block_begin : TokenKind::variable_begin);
    advance(sign == '-' || sign == '+' ? 3 : 2);
    return inside(kind == '%', line);
  }

  Status comment() {
    const int line = line_;
    const size_t end = source_.find("#}", at_ + 2);
    if (end == std::string::npos) return syntax_error(line, "a comment is not closed");
    const char sign = end > at_ + 2 ? source_[end - 1] : '\0';
    advance(end + 2 - at_);
    skip_after(sign == '-' || sign == '+' ? sign : '\0', true);
    return {};
  }

  // Reads `{%- raw -%}` at `at`, or its end; the position after it, and the sign at its end. npos where it is something else.
  size_t match_raw(size_t at, std::string_view word, char* sign) const {
    at += 2;
    if (at < source_.size() && (source_[at] == '-' || source_[at] == '+')) ++at;
    while (at < source_.size() && is_blank(source_[at])) ++at;
    if (std::string_view(source_).substr(at, word.size()) != word) return std::string::npos;
    at += word.size();
    while (at < source_.size() && is_blank(source_[at])) ++at;
    *sign = '\0';
    if (at < source_.size() && (source_[at] == '-' || source_[at] == '+')) *sign = source_[at++];
    return std::string_view(source_).substr(at, 2) == "%}" ? at + 2 : std::string::npos;
  }

  bool raw_begins() const {
    char sign = '\0';
    return match_raw(at_, "raw", &sign) != std::string::npos;
  }

  Status raw() {
    char sign = '\0';
    const int line = line_;
    advance(match_raw(at_, "raw", &sign) - at_);
    skip_after(sign, true);
    for (size_t end = source_.find("{%", at_); end != std::string::npos; end = source_.find("{%", end + 2)) {
      const size_t after = match_raw(end, "endraw", &sign);
      if (after == std::string::npos) continue;
      emit_text(trimmed_end(std::string_view(source_.data() + at_, end - at_), end));
      advance(after - at_);
      skip_after(sign, true);
      return {};
    }
    return syntax_error(line, "a raw block is not closed");
  }

  Status inside(bool block, int begin_line) {
    int depth = 0;  // of brackets: a "}}" that closes a dict is no end
    while (true) {
      while (at_ < source_.size() && is_blank(source_[at_])) advance(1);
      if (at_ >= source_.size()) return syntax_error(begin_line, block ? "a block tag is not closed" : "an expression is not closed");
      const std::string_view close = block ? "%}" : "}}";
      const char c = source_[at_];
      if (depth == 0) {
        const bool signed_end = (c == '-' || c == '+') && std::string_view(source_).substr(at_ + 1, 2) == close && (block || c == '-');
        if (signed_end || starts(close)) {
          push(block ? TokenKind::block_end : TokenKind::variable_end);
          advance(signed_end ? 3 : 2);
          skip_after(signed_end ? c : '\0', block);
          return {};
        }
      }
      if (c == '(' || c == '[' || c == '{') ++depth;
      if (c == ')' || c == ']' || c == '}') --depth;
      if (depth < 0) return syntax_error(line_, std::string("unexpected '") + c + "'");
      PTERON_TRY(token());
    }
  }

  Status token() {
    const char c = source_[at_];
    if (is_name_start(c)) {
      size_t end = at_;
      while (end < source_.size() && is_name(source_[end])) ++end;
      push(TokenKind::name, source_.substr(at_, end - at_));
      advance(end - at_);
      return {};
    }
    if (is_digit(c)) return number();
    if (c == '"' || c == '\'') return string(c);
    if (c == '}') {
      push(TokenKind::symbol, "}");
      advance(1);
      return {};
    }
    for (std::string_view symbol : kSymbols) {
      if (starts(symbol)) {
        push(TokenKind::symbol, std::string(symbol));
        advance(symbol.size());
        return {};
      }
    }
    return syntax_error(line_, "unexpected character '" + std::string(characters_of(std::string_view(source_).substr(at_, 4))[0]) + "'");
  }

  Status number() {
    std::string digits;
    size_t end = at_;
    int base = 10;
    if (source_[at_] == '0' && at_ + 1 < source_.size()) {
      const char kind = static_cast<char>(source_[at_ + 1] | 0x20);
      base = kind == 'x' ? 16 : kind == 'o' ? 8 : kind == 'b' ? 2 : 10;
      if (base != 10) end += 2;
    }
    const auto take = [&] {
      while (end < source_.size() && (is_digit(source_[end]) || source_[end] == '_' || (base == 16 && std::isxdigit(static_cast<unsigned char>(source_[end]))))) {
        if (source_[end] != '_') digits += source_[end];
        ++end;
      }
    };
    take();
    bool floating = false;
    if (base == 10 && end + 1 < source_.size() && source_[end] == '.' && is_digit(source_[end + 1])) {
      floating = true;
      digits += source_[end++];
      take();
    }
    if (base == 10 && end < source_.size() && (source_[end] | 0x20) == 'e') {
      size_t exponent = end + 1;
      if (exponent < source_.size() && (source_[exponent] == '+' || source_[exponent] == '-')) ++exponent;
      if (exponent < source_.size() && is_digit(source_[exponent])) {
        floating = true;
        digits += source_.substr(end, exponent - end);
        end = exponent;
        take();
      }
    }
    Token& token = push(floating ? TokenKind::number : TokenKind::integer);
    if (floating) {
      token.number = std::strtod(digits.c_str(), nullptr);
    } else if (const auto [last, error] = std::from_chars(digits.data(), digits.data() + digits.size(), token.integer, base); error != std::errc() || last != digits.data() + digits.size()) {
      return syntax_error(line_, "a number that is no 64-bit integer: " + source_.substr(at_, end - at_).substr(0, 40));
    }
    advance(end - at_);
    return {};
  }

  // A number of `count` hexadecimal digits at `at`, or -1.
  int64_t hex(size_t at, size_t count) const {
    uint32_t value = 0;
    if (at + count > source_.size()) return -1;
    const auto [last, error] = std::from_chars(source_.data() + at, source_.data() + at + count, value, 16);
    return error == std::errc() && last == source_.data() + at + count ? static_cast<int64_t>(value) : -1;
  }

  Status string(char quote) {
    std::string text;
    size_t at = at_ + 1;
    for (; at < source_.size() && source_[at] != quote; ++at) {
      if (source_[at] != '\\') {
        text += source_[at];
        continue;
      }
      if (++at == source_.size()) break;
      const char c = source_[at];
      static constexpr std::string_view kFrom = "ntrabfv\\'\"", kTo = "\n\t\r\a\b\f\v\\'\"";
      if (const size_t simple = kFrom.find(c); simple != std::string_view::npos) {
        text += kTo[simple];
      } else if (c == '\n') {
        continue;
      } else if (c == 'x' || c == 'u' || c == 'U') {
        const size_t count = c == 'x' ? 2 : c == 'u' ? 4 : 8;
        int64_t code_point = hex(at + 1, count);
        if (code_point < 0 || code_point > 0x10ffff) return syntax_error(line_, "a broken escape in a string");
        at += count;
        // Two halves of a surrogate pair make one character.
        if (code_point >= 0xd800 && code_point < 0xdc00 && std::string_view(source_).substr(at + 1, 2) == "\\u") {
          if (const int64_t low = hex(at + 3, 4); low >= 0xdc00 && low < 0xe000) {
            code_point = 0x10000 + ((code_point - 0xd800) << 10) + (low - 0xdc00);
            at += 6;
          }
        }
        text += encode_utf8(static_cast<uint32_t>(code_point));
      } else if (c >= '0' && c <= '7') {
        uint32_t value = 0;
        size_t digits = 0;
        while (digits < 3 && at < source_.size() && source_[at] >= '0' && source_[at] <= '7') value = value * 8 + static_cast<uint32_t>(source_[at++] - '0'), ++digits;
        --at;
        text += encode_utf8(value);
      } else {
        text += '\\';
        text += c;
      }
    }
    if (at >= source_.size()) return syntax_error(line_, "a string is not closed");
    push(TokenKind::string, std::move(text));
    advance(at + 1 - at_);
    return {};
  }

  std::string source_;
  size_t at_ = 0;
  int line_ = 1;
  std::vector<Token> tokens_;
};

}  // namespace

Status syntax_error(int line, std::string_view what) {
  return Status::error(Code::invalid_data, "template does not compile: " + std::string(what), {.file = {}, .field = "line " + std::to_string(line), .expected = {}, .found = {}});
}

Result<std::vector<Token>> tokenize(std::string_view source) {
  if (source.size() > kMaxSource) {
    return Status::error(Code::out_of_capacity, "the template is too long", {.file = {}, .field = "line 1", .expected = "at most " + std::to_string(kMaxSource) + " bytes", .found = std::to_string(source.size())});
  }
  return Lexer(normalized(source)).run();
}

}  // namespace pteron::text::jinja
