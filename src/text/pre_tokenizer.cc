#include "text/pre_tokenizer.h"

#include <utility>

#include "text/byte_level.h"
#include "text/unicode.h"

namespace pteron::text {

Result<PreTokenizer> PreTokenizer::from_table(const TokenTable& table) {
  PreTokenizer out;
  size_t count = table.op_count(Section::pre_tokenizer);
  // A model that begins with bytes needs no mapping to characters at the end.
  if (table.has(kRawBytes) && count > 0 && table.op(Section::pre_tokenizer, count - 1).kind == static_cast<uint16_t>(PreTokenizerKind::byte_level)) --count;
  for (size_t i = 0; i < count; ++i) {
    const Op op = table.op(Section::pre_tokenizer, i);
    Step step{static_cast<PreTokenizerKind>(op.kind), op.flags, op.number, table.op_text(op), {}};
    if (step.kind == PreTokenizerKind::split_pattern) {
      PTERON_ASSIGN(step.pattern, Pattern::compile(step.text));
    }
    if (step.kind == PreTokenizerKind::fixed_length && step.number == 0) {
      return Status::error(Code::invalid_data, "broken tokenizer table", {.field = "pre_tokenizer", .expected = "a length of at least 1", .found = "0"});
    }
    out.steps_.push_back(std::move(step));
  }
  return out;
}

PreTokenizerRun::PreTokenizerRun(const PreTokenizer& pre_tokenizer, StepBudget& budget, PieceSink& sink)
    : steps_(pre_tokenizer.steps_), sink_(sink), search_of_(steps_.size()), scratch_(steps_.size()) {
  for (size_t i = 0; i < steps_.size(); ++i) {
    search_of_[i] = searches_.size();
    if (steps_[i].kind == PreTokenizerKind::split_pattern) searches_.emplace_back(steps_[i].pattern, budget);
  }
}

// Turns a row of matches and the stretches between them into pieces, as the behaviour says, and hands them to the next step.
class PreTokenizerRun::Emitter {
 public:
  Emitter(PreTokenizerRun& run, size_t step, std::string_view text, bool from_start, SplitBehavior behavior, bool invert)
      : run_(run), step_(step), text_(text), from_start_(from_start), behavior_(behavior), invert_(invert) {}

  Status add(size_t begin, size_t end, bool match) {
    match = match != invert_;
    const bool was_match = std::exchange(was_match_, match);
    switch (behavior_) {
      case SplitBehavior::removed: return match ? Status() : emit(begin, end);
      case SplitBehavior::isolated: return emit(begin, end);
      case SplitBehavior::merged_with_previous:
        if (open_ && match && !was_match) return extend(end);
        break;
      case SplitBehavior::merged_with_next:
        if (open_ && !match && was_match) return extend(end);
        break;
      case SplitBehavior::contiguous:
        if (open_ && match == was_match) return extend(end);
        break;
    }
    PTERON_TRY(finish());
    open_ = true;
    begin_ = begin;
    end_ = end;
    return {};
  }

  Status finish() { return std::exchange(open_, false) ? emit(begin_, end_) : Status(); }

 private:
  Status extend(size_t end) {
    end_ = end;
    return {};
  }
  Status emit(size_t begin, size_t end) {
    return begin == end ? Status() : run_.run(step_ + 1, text_.substr(begin, end - begin), from_start_ && begin == 0);
  }

  PreTokenizerRun& run_;
  const size_t step_;
  const std::string_view text_;
  const bool from_start_;
  const SplitBehavior behavior_;
  const bool invert_;
  bool was_match_ = false, open_ = false;
  size_t begin_ = 0, end_ = 0;
};

Status PreTokenizerRun::split_pattern(size_t step, std::string_view text, bool from_start) {
  PatternSearch& search = searches_[search_of_[step]];
  Emitter emitter(*this, step, text, from_start, static_cast<SplitBehavior>(steps_[step].number), (steps_[step].flags & kInvert) != 0);
  search.start(text);
  size_t done = 0, begin = 0, end = 0;
  while (search.next(begin, end)) {
    if (done != begin) PTERON_TRY(emitter.add(done, begin, false));
    PTERON_TRY(emitter.add(begin, end, true));
    done = end;
  }
  PTERON_TRY(search.status());
  if (done != text.size()) PTERON_TRY(emitter.add(done, text.size(), false));
  return emitter.finish();
}

// Every character that `matches` is a match of its own.
template <class F>
Status PreTokenizerRun::split_characters(size_t step, std::string_view text, bool from_start, SplitBehavior behavior, bool invert, const F& matches) {
  Emitter emitter(*this, step, text, from_start, behavior, invert);
  size_t done = 0;
  for (size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const Utf8Char c = byte < 0x80 ? Utf8Char{byte, 1, true} : utf8_at(text, i);
    if (matches(c.code)) {
      if (done != i) PTERON_TRY(emitter.add(done, i, false));
      PTERON_TRY(emitter.add(i, i + c.size, true));
      done = i + c.size;
    }
    i += c.size;
  }
  if (done != text.size()) PTERON_TRY(emitter.add(done, text.size(), false));
  return emitter.finish();
}

Status PreTokenizerRun::metaspace(size_t step, std::string_view text, bool from_start) {
  const PreTokenizer::Step& op = steps_[step];
  std::string& out = scratch_[step];
  out.clear();
  const bool prepend = (op.flags & kPrependAlways) != 0 || ((op.flags & kPrependFirst) != 0 && from_start);
  if (prepend && !text.starts_with(op.text) && !text.starts_with(' ')) out += op.text;
  for (const char c : text) {
    if (c == ' ') {
      out += op.text;
    } else {
      out += c;
    }
  }
  if ((op.flags & kSplitMetaspace) == 0) return run(step + 1, out, from_start);
  if (op.text.empty()) return run(step + 1, out, from_start);
  const char32_t replacement = utf8_at(op.text, 0).code;
  return split_characters(step, out, from_start, SplitBehavior::merged_with_next, false, [=](char32_t c) { return c == replacement; });
}

Status PreTokenizerRun::fixed_length(size_t step, std::string_view text, bool from_start) {
  size_t begin = 0, characters = 0;
  for (size_t i = 0; i < text.size();) {
    i += utf8_at(text, i).size;
    if (++characters < steps_[step].number && i < text.size()) continue;
    PTERON_TRY(run(step + 1, text.substr(begin, i - begin), from_start && begin == 0));
    begin = i;
    characters = 0;
  }
  return {};
}

Status PreTokenizerRun::run(size_t step, std::string_view text, bool from_start) {
  if (text.empty()) return {};
  if (step == steps_.size()) return sink_.piece(text);
  const PreTokenizer::Step& op = steps_[step];
  switch (op.kind) {
    case PreTokenizerKind::byte_level:
      scratch_[step].clear();
      append_byte_characters(scratch_[step], text);
      return run(step + 1, scratch_[step], from_start);
    case PreTokenizerKind::prefix_space:
      if (text.front() == ' ') return run(step + 1, text, from_start);
      scratch_[step].assign(1, ' ').append(text);
      return run(step + 1, scratch_[step], from_start);
    case PreTokenizerKind::split_pattern: return split_pattern(step, text, from_start);
    case PreTokenizerKind::split_text: {
      Emitter emitter(*this, step, text, from_start, static_cast<SplitBehavior>(op.number), (op.flags & kInvert) != 0);
      size_t done = 0;
      for (size_t at = op.text.empty() ? std::string_view::npos : text.find(op.text); at != std::string_view::npos; at = text.find(op.text, done)) {
        if (done != at) PTERON_TRY(emitter.add(done, at, false));
        done = at + op.text.size();
        PTERON_TRY(emitter.add(at, done, true));
      }
      if (done != text.size()) PTERON_TRY(emitter.add(done, text.size(), false));
      return emitter.finish();
    }
    case PreTokenizerKind::white_space_split:
      return split_characters(step, text, from_start, SplitBehavior::removed, false, is_white_space);
    case PreTokenizerKind::digits:
      return split_characters(step, text, from_start, (op.flags & kIndividualDigits) != 0 ? SplitBehavior::isolated : SplitBehavior::contiguous, false,
                              is_number);
    case PreTokenizerKind::punctuation:
      return split_characters(step, text, from_start, static_cast<SplitBehavior>(op.number), false, is_punctuation);
    case PreTokenizerKind::metaspace: return metaspace(step, text, from_start);
    case PreTokenizerKind::char_delimiter: {
      const char32_t delimiter = op.text.empty() ? 0 : utf8_at(op.text, 0).code;
      return split_characters(step, text, from_start, SplitBehavior::removed, false, [=](char32_t c) { return c == delimiter; });
    }
    case PreTokenizerKind::fixed_length: return fixed_length(step, text, from_start);
  }
  return {};
}

}  // namespace pteron::text
