#include "text/normalizer.h"

#include <algorithm>
#include <utility>

#include "text/byte_level.h"
#include "text/charsmap.h"
#include "text/token_table_writer.h"
#include "text/unicode.h"

namespace pteron::text {
namespace {

// No step may make a text longer than this.
size_t max_normal_size(size_t given) { return (size_t{16} << 20) + 64 * given; }

template <class F>
void each_character(std::string_view text, const F& f) {
  for (size_t i = 0; i < text.size();) {
    if (const auto byte = static_cast<unsigned char>(text[i]); byte < 0x80) {
      f(char32_t{byte});
      ++i;
      continue;
    }
    const Utf8Char c = utf8_at(text, i);
    f(c.code);
    i += c.size;
  }
}

void strip(NormalText& text, uint16_t flags) {
  std::string& s = text.text;
  if ((flags & kStripRight) != 0) {
    size_t end = s.size();
    while (end > 0) {
      const Utf8Char c = utf8_before(s, end);
      if (!is_white_space(c.code)) break;
      end -= c.size;
    }
    s.resize(end);
  }
  if ((flags & kStripLeft) != 0) {
    size_t begin = 0;
    while (begin < s.size()) {
      const Utf8Char c = utf8_at(s, begin);
      if (!is_white_space(c.code)) break;
      begin += c.size;
    }
    if (begin > 0) text.from_start = false;
    s.erase(0, begin);
  }
}

// Characters that go, and characters that become spaces.
bool bert_drops(char32_t c) { return c == 0 || c == kReplacementCharacter || (c != '\t' && c != '\n' && c != '\r' && is_control(c)); }
bool nmt_drops(char32_t c) { return (c >= 0x01 && c <= 0x08) || c == 0x0b || (c >= 0x0e && c <= 0x1f) || c == 0x7f || c == 0x8f || c == 0x9f; }
bool nmt_spaces(char32_t c) {
  return c == 0x09 || c == 0x0a || c == 0x0c || c == 0x0d || c == 0x1680 || (c >= 0x200b && c <= 0x200f) || c == 0x2028 || c == 0x2029 ||
         c == 0x2581 || c == 0xfeff || c == 0xfffd;
}
bool nothing(char32_t) { return false; }

using CharacterTest = bool (*)(char32_t);
void filter(NormalText& normal, CharacterTest drops, CharacterTest spaces = nothing) {
  std::string out;
  out.reserve(normal.text.size());
  bool first = true;
  each_character(normal.text, [&](char32_t c) {
    if (drops(c)) {
      if (first) normal.from_start = false;
    } else {
      append_utf8(out, spaces(c) ? U' ' : c);
    }
    first = false;
  });
  normal.text = std::move(out);
}

std::string lowercase(std::string_view text) {
  std::string out;
  each_character(text, [&](char32_t c) { append_lowercase(out, c); });
  return out;
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

Status normal_form(std::string& text, NormalForm form) {
  if (is_ascii(text)) return {};  // which is in every normal form
  std::string out;
  out.reserve(text.size());
  if (!append_normalized(out, text, form)) return Status::error(Code::out_of_memory, "Unicode normal form");
  text = std::move(out);
  return {};
}

// The same in one pass for text without anything but ASCII.
void bert_ascii(NormalText& normal, uint16_t flags) {
  const bool clean = (flags & kCleanText) != 0, lower = (flags & kLowercase) != 0;
  std::string& text = normal.text;
  if (clean && !text.empty() && bert_drops(static_cast<unsigned char>(text.front()))) normal.from_start = false;
  size_t size = 0;
  for (const char c : text) {
    const bool control = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    if (clean && control && bert_drops(static_cast<unsigned char>(c))) continue;
    text[size++] = clean && control ? ' ' : lower && c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  }
  text.resize(size);
}

Status bert(NormalText& normal, uint16_t flags) {
  std::string& text = normal.text;
  if (is_ascii(text)) {
    bert_ascii(normal, flags);
    return {};
  }
  if ((flags & kCleanText) != 0) filter(normal, bert_drops, is_white_space);
  if ((flags & kChineseChars) != 0) {
    std::string out;
    each_character(text, [&](char32_t c) {
      const bool apart = is_cjk_ideograph(c);
      if (apart) out += ' ';
      append_utf8(out, c);
      if (apart) out += ' ';
    });
    text = std::move(out);
  }
  if ((flags & kStripAccents) != 0) {
    PTERON_TRY(normal_form(text, NormalForm::nfd));
    filter(normal, is_nonspacing_mark);
  }
  if ((flags & kLowercase) != 0) text = lowercase(text);
  return {};
}

std::string collapse_spaces(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c != ' ' || (!out.empty() && out.back() != ' ')) out += c;
  }
  if (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

// What replaces the beginning of a text counts as standing where the last character did that it replaces, and what replaces nothing nowhere.
bool moves_start(std::string_view what, std::string_view with) { return with.empty() ? !what.empty() : count_characters(what) > 1; }

Status replace(NormalText& normal, std::string_view with, const Pattern& pattern, StepBudget& budget, size_t limit) {
  std::string& text = normal.text;
  PatternSearch search(pattern, budget);
  search.start(text);
  std::string out;
  size_t done = 0, begin = 0, end = 0;
  while (search.next(begin, end)) {
    out.append(text, done, begin - done);
    out += with;
    done = end;
    if (begin == 0 && moves_start(std::string_view(text).substr(0, end), with)) normal.from_start = false;
    if (out.size() > limit) return Status::error(Code::out_of_capacity, "normalized text too long");
  }
  PTERON_TRY(search.status());
  if (done == 0 && out.empty()) return {};
  out.append(text, done, text.size() - done);
  text = std::move(out);
  return {};
}

Status replace_text(NormalText& normal, std::string_view what, std::string_view with, size_t limit) {
  std::string& text = normal.text;
  if (what.empty() || text.find(what) == std::string::npos) return {};
  if (text.starts_with(what) && moves_start(what, with)) normal.from_start = false;
  std::string out;
  out.reserve(text.size() + text.size() / 4);
  size_t done = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, done)) {
    out.append(text, done, at - done);
    out += with;
    done = at + what.size();
    if (out.size() > limit) return Status::error(Code::out_of_capacity, "normalized text too long");
  }
  out.append(text, done, text.size() - done);
  text = std::move(out);
  return {};
}

}  // namespace

Result<Normalizer::Step> Normalizer::make_step(uint16_t kind, uint16_t flags, std::string_view text, std::string_view more) {
  Step step{static_cast<NormalizerKind>(kind), flags, text, more, {}};
  if (step.kind == NormalizerKind::replace_pattern) {
    PTERON_ASSIGN(step.pattern, Pattern::compile(text));
  } else if (step.kind == NormalizerKind::charsmap) {
    PTERON_TRY(Charsmap::parse(text).status());
  }
  return step;
}

Result<Normalizer> Normalizer::from_table(const TokenTable& table) {
  Normalizer normalizer;
  for (size_t i = 0; i < table.op_count(Section::normalizer); ++i) {
    const Op op = table.op(Section::normalizer, i);
    PTERON_ASSIGN(Step step, make_step(op.kind, op.flags, table.op_text(op), table.op_more(op)));
    normalizer.steps_.push_back(std::move(step));
  }
  return normalizer;
}

Status normalize_with(const std::vector<ContentOp>& ops, std::string& text) {
  Normalizer normalizer;
  for (const ContentOp& op : ops) {
    PTERON_ASSIGN(Normalizer::Step step, Normalizer::make_step(op.kind, op.flags, op.text, op.more));
    normalizer.steps_.push_back(std::move(step));
  }
  NormalText normal{std::move(text), true};
  StepBudget budget(normal.text.size());
  PTERON_TRY(normalizer.apply(normal, budget));
  text = std::move(normal.text);
  return {};
}

Status Normalizer::apply(NormalText& normal, StepBudget& budget) const {
  std::string& text = normal.text;
  const size_t limit = max_normal_size(text.size());
  for (const Step& step : steps_) {
    switch (step.kind) {
      case NormalizerKind::nfc: PTERON_TRY(normal_form(text, NormalForm::nfc)); break;
      case NormalizerKind::nfd: PTERON_TRY(normal_form(text, NormalForm::nfd)); break;
      case NormalizerKind::nfkc: PTERON_TRY(normal_form(text, NormalForm::nfkc)); break;
      case NormalizerKind::nfkd: PTERON_TRY(normal_form(text, NormalForm::nfkd)); break;
      case NormalizerKind::lowercase: text = lowercase(text); break;
      case NormalizerKind::strip: strip(normal, step.flags); break;
      case NormalizerKind::strip_accents: filter(normal, is_mark); break;
      case NormalizerKind::replace_text: PTERON_TRY(replace_text(normal, step.text, step.more, limit)); break;
      case NormalizerKind::replace_pattern: PTERON_TRY(replace(normal, step.more, step.pattern, budget, limit)); break;
      case NormalizerKind::prepend:
        if (!text.empty()) text.insert(0, step.text);
        break;
      case NormalizerKind::charsmap: {
        PTERON_ASSIGN(const Charsmap map, Charsmap::parse(step.text));
        std::string out;
        if ((step.flags & kLongestMatch) != 0) {
          map.append_longest_mapped(out, text);
        } else {
          map.append_mapped(out, text);
        }
        if (find_invalid_utf8(out)) return Status::error(Code::invalid_data, "broken tokenizer table", {.field = "precompiled_charsmap", .expected = "UTF-8"});
        text = std::move(out);
        break;
      }
      case NormalizerKind::bert: PTERON_TRY(bert(normal, step.flags)); break;
      case NormalizerKind::nmt: filter(normal, nmt_drops, nmt_spaces); break;
      case NormalizerKind::byte_level: {
        std::string out;
        append_byte_characters(out, text);
        text = std::move(out);
        break;
      }
      case NormalizerKind::collapse_spaces: text = collapse_spaces(text); break;
    }
    if (text.size() > limit) return Status::error(Code::out_of_capacity, "normalized text too long");
  }
  return {};
}

}  // namespace pteron::text
