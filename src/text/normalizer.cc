#include "text/normalizer.h"

#include <algorithm>
#include <utility>

#include "text/byte_level.h"
#include "text/charsmap.h"
#include "text/token_table_writer.h"
#include "text/unicode.h"

namespace pteron::text {
namespace {

constexpr size_t kMaxGrowth = size_t{1} << 30;  // no step may make a text longer than this

template <class F>
void each_character(std::string_view text, const F& f) {
  for (size_t i = 0; i < text.size();) {
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

std::string bert_clean(std::string_view text) {
  std::string out;
  each_character(text, [&](char32_t c) {
    if (c == '\t' || c == '\n' || c == '\r' || is_white_space(c)) {
      if (c == '\t' || c == '\n' || c == '\r' || !is_control_or_unassigned(c)) out += ' ';
    } else if (c != 0 && c != kReplacementCharacter && !is_control_or_unassigned(c)) {
      append_utf8(out, c);
    }
  });
  return out;
}

std::string without(std::string_view text, bool (*unwanted)(char32_t)) {
  std::string out;
  each_character(text, [&](char32_t c) {
    if (!unwanted(c)) append_utf8(out, c);
  });
  return out;
}

std::string lowercase(std::string_view text) {
  std::string out;
  each_character(text, [&](char32_t c) { append_lowercase(out, c); });
  return out;
}

Status normal_form(std::string& text, NormalForm form) {
  // ASCII is in every normal form.
  if (std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; })) return {};
  std::string out;
  out.reserve(text.size());
  if (!append_normalized(out, text, form)) return Status::error(Code::out_of_memory, "Unicode normal form");
  text = std::move(out);
  return {};
}

Status bert(std::string& text, uint16_t flags) {
  if ((flags & kCleanText) != 0) text = bert_clean(text);
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
    text = without(text, is_nonspacing_mark);
  }
  if ((flags & kLowercase) != 0) text = lowercase(text);
  return {};
}

std::string nmt(std::string_view text) {
  std::string out;
  each_character(text, [&](char32_t c) {
    if ((c >= 0x01 && c <= 0x08) || c == 0x0b || (c >= 0x0e && c <= 0x1f) || c == 0x7f || c == 0x8f || c == 0x9f) return;
    const bool space = c == 0x09 || c == 0x0a || c == 0x0c || c == 0x0d || c == 0x1680 || (c >= 0x200b && c <= 0x200f) || c == 0x2028 || c == 0x2029 ||
                       c == 0x2581 || c == 0xfeff || c == 0xfffd;
    append_utf8(out, space ? U' ' : c);
  });
  return out;
}

std::string collapse_spaces(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c != ' ' || (!out.empty() && out.back() != ' ')) out += c;
  }
  if (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

Status replace(std::string& text, std::string_view with, const Pattern& pattern, StepBudget& budget) {
  PatternSearch search(pattern, budget);
  search.start(text);
  std::string out;
  size_t done = 0, begin = 0, end = 0;
  while (search.next(begin, end)) {
    out.append(text, done, begin - done);
    out += with;
    done = end;
    if (out.size() > kMaxGrowth) return Status::error(Code::out_of_capacity, "normalized text too long");
  }
  PTERON_TRY(search.status());
  if (done == 0 && out.empty()) return {};
  out.append(text, done, text.size() - done);
  text = std::move(out);
  return {};
}

Status replace_text(std::string& text, std::string_view what, std::string_view with) {
  if (what.empty() || text.find(what) == std::string::npos) return {};
  std::string out;
  out.reserve(text.size() + text.size() / 4);
  size_t done = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, done)) {
    out.append(text, done, at - done);
    out += with;
    done = at + what.size();
    if (out.size() > kMaxGrowth) return Status::error(Code::out_of_capacity, "normalized text too long");
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
  for (const Step& step : steps_) {
    switch (step.kind) {
      case NormalizerKind::nfc: PTERON_TRY(normal_form(text, NormalForm::nfc)); break;
      case NormalizerKind::nfd: PTERON_TRY(normal_form(text, NormalForm::nfd)); break;
      case NormalizerKind::nfkc: PTERON_TRY(normal_form(text, NormalForm::nfkc)); break;
      case NormalizerKind::nfkd: PTERON_TRY(normal_form(text, NormalForm::nfkd)); break;
      case NormalizerKind::lowercase: text = lowercase(text); break;
      case NormalizerKind::strip: strip(normal, step.flags); break;
      case NormalizerKind::strip_accents: text = without(text, is_mark); break;
      case NormalizerKind::replace_text: PTERON_TRY(replace_text(text, step.text, step.more)); break;
      case NormalizerKind::replace_pattern: PTERON_TRY(replace(text, step.more, step.pattern, budget)); break;
      case NormalizerKind::prepend:
        if (!text.empty()) text.insert(0, step.text);
        break;
      case NormalizerKind::charsmap: {
        PTERON_ASSIGN(const Charsmap map, Charsmap::parse(step.text));
        std::string out;
        map.append_mapped(out, text);
        if (find_invalid_utf8(out)) return Status::error(Code::invalid_data, "broken tokenizer table", {.field = "precompiled_charsmap", .expected = "UTF-8"});
        text = std::move(out);
        break;
      }
      case NormalizerKind::bert: PTERON_TRY(bert(text, step.flags)); break;
      case NormalizerKind::nmt: text = nmt(text); break;
      case NormalizerKind::byte_level: {
        std::string out;
        append_byte_characters(out, text);
        text = std::move(out);
        break;
      }
      case NormalizerKind::collapse_spaces: text = collapse_spaces(text); break;
    }
    if (text.size() > kMaxGrowth) return Status::error(Code::out_of_capacity, "normalized text too long");
  }
  return {};
}

}  // namespace pteron::text
