#include "text/decoder.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "text/byte_level.h"
#include "text/unicode.h"

namespace pteron::text {
namespace {

constexpr size_t kMaxToken = size_t{1} << 24;  // a replacement that makes a token longer than this is not done
constexpr uint64_t kStepsPerToken = 100'000;   // that a pattern may take; what is left of a token by then stays as it is

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// The byte that a token such as "<0x0A>" stands for.
std::optional<char> fallback_byte(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return std::nullopt;
  const int high = hex_digit(token[3]), low = hex_digit(token[4]);
  if (high < 0 || low < 0) return std::nullopt;
  return static_cast<char>(high * 16 + low);
}

std::string replaced(std::string_view text, std::string_view what, std::string_view with) {
  std::string out;
  size_t done = 0;
  for (size_t at = what.empty() ? std::string_view::npos : text.find(what); at != std::string_view::npos; at = text.find(what, done)) {
    out.append(text, done, at - done);
    out += with;
    done = at + what.size();
    if (out.size() > kMaxToken) return std::string(text);
  }
  out.append(text, done, text.size() - done);
  return out;
}

// English without the spaces that word-wise tokens put before punctuation and contractions.
std::string cleaned_up(std::string token) {
  constexpr auto kRules = std::to_array<std::pair<std::string_view, std::string_view>>({
      {" .", "."}, {" ?", "?"}, {" !", "!"}, {" ,", ","}, {" ' ", "'"}, {" n't", "n't"}, {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"},
      {" 've", "'ve"}, {" 're", "'re"}});
  for (const auto& [what, with] : kRules) token = replaced(token, what, with);
  return token;
}

}  // namespace

Result<Decoder> Decoder::from_table(const TokenTable& table) {
  Decoder decoder;
  decoder.join_with_spaces_ = table.has(kJoinWithSpaces);
  for (size_t i = 0; i < table.op_count(Section::decoder); ++i) {
    const Op op = table.op(Section::decoder, i);
    Step step{static_cast<DecoderKind>(op.kind), op.flags, op.number, op.number2, table.op_text(op), table.op_more(op), {}};
    if (step.kind == DecoderKind::replace_pattern) {
      PTERON_ASSIGN(step.pattern, Pattern::compile(step.text));
    }
    decoder.steps_.push_back(std::move(step));
  }
  return decoder;
}

std::string Decoder::token_bytes(std::string_view token) const {
  std::string text(token);
  for (const Step& step : steps_) {
    switch (step.kind) {
      case DecoderKind::byte_level: {
        std::string bytes;
        if (append_character_bytes(bytes, text)) text = std::move(bytes);
        return text;
      }
      case DecoderKind::byte_fallback:
        if (const auto byte = fallback_byte(text)) return std::string(1, *byte);
        break;
      case DecoderKind::metaspace: text = replaced(text, step.text, " "); break;
      case DecoderKind::replace_text: text = replaced(text, step.text, step.more); break;
      default: break;
    }
  }
  return text;
}

DecoderRun::DecoderRun(const Decoder& decoder) : decoder_(decoder), states_(decoder.steps_.size() + 1) {}

void DecoderRun::push(std::string_view token, std::string& out) {
  out_ = &out;
  feed(0, {token});
}

void DecoderRun::flush(std::string& out) {
  out_ = &out;
  finish(0);
  states_.assign(states_.size(), {});
}

bool DecoderRun::inside_character() const {
  for (size_t step = 0; step < decoder_.steps_.size(); ++step) {
    if (decoder_.steps_[step].kind == DecoderKind::byte_level && !states_[step].previous.empty()) return true;
  }
  return false;
}

// A step that makes one token of all passes on a fragment of it.
void DecoderRun::feed_fused(size_t step, std::string_view text, bool end) {
  const bool begin = !std::exchange(states_[step].open, true);
  if (begin || end || !text.empty()) feed(step + 1, {text, begin, end});
}

void DecoderRun::feed(size_t step, Fragment fragment) {
  State& state = states_[step];
  if (fragment.begin) ++state.tokens;
  if (step == decoder_.steps_.size()) {
    if (fragment.begin && decoder_.join_with_spaces_ && state.tokens > 1) *out_ += ' ';
    *out_ += fragment.text;
    return;
  }
  const Decoder::Step& op = decoder_.steps_[step];
  switch (op.kind) {
    case DecoderKind::fuse: return feed_fused(step, fragment.text, false);
    case DecoderKind::metaspace: {
      const bool dropped = state.tokens == 1 && (op.flags & (kPrependAlways | kPrependFirst)) != 0;
      const std::string text = replaced(fragment.text, op.text, dropped ? "" : " ");
      return feed(step + 1, {text, fragment.begin, fragment.end});
    }
    case DecoderKind::strip: return strip(step, fragment);
    case DecoderKind::replace_text: return replace_text(step, fragment);
    default: break;
  }
  // The other kinds need whole tokens.
  if (fragment.begin && fragment.end) return whole_token(step, fragment.text);
  state.held += fragment.text;
  if (!fragment.end) return;
  const std::string token = std::exchange(state.held, {});
  whole_token(step, token);
}

void DecoderRun::whole_token(size_t step, std::string_view token) {
  const Decoder::Step& op = decoder_.steps_[step];
  State& state = states_[step];
  switch (op.kind) {
    case DecoderKind::byte_level: {
      // `previous` holds the bytes of a character that is not complete yet.
      std::string bytes = std::exchange(state.previous, {});
      if (!append_character_bytes(bytes, token)) bytes += token;
      const size_t open = open_utf8_tail(bytes);
      state.previous = bytes.substr(bytes.size() - open);
      std::string text;
      append_lossy_utf8(text, std::string_view(bytes).substr(0, bytes.size() - open));
      return feed_fused(step, text, false);
    }
    case DecoderKind::byte_fallback:
      // A run of byte tokens is text as a whole or not at all, so it waits in `previous` for its end.
      if (const auto byte = fallback_byte(token)) {
        state.previous += *byte;
        return;
      }
      end_bytes(step);
      return feed(step + 1, {token});
    case DecoderKind::replace_pattern: return feed(step + 1, {replaced_by_pattern(step, token)});
    case DecoderKind::word_piece: {
      std::string text;
      if (state.tokens > 1 && token.starts_with(op.text)) {
        text = token.substr(op.text.size());
      } else {
        text = std::string(state.tokens > 1 ? " " : "") + std::string(token);
      }
      if ((op.flags & kCleanup) != 0) text = cleaned_up(std::move(text));
      return feed(step + 1, {text});
    }
    case DecoderKind::bpe_suffix: {
      // The last token's suffix becomes nothing, all others' a space: a token waits for the next one.
      const std::string before = std::exchange(state.previous, std::string(token));
      if (state.tokens > 1) feed(step + 1, {replaced(before, op.text, " ")});
      return;
    }
    case DecoderKind::ctc: {
      if (state.tokens > 1 && state.previous == token) return;
      state.previous = token;
      std::string text = replaced(token, op.text, "");
      if ((op.flags & kCleanup) != 0) text = replaced(cleaned_up(std::move(text)), op.more, " ");
      if (!text.empty()) feed(step + 1, {text});
      return;
    }
    default: return;
  }
}

void DecoderRun::end_bytes(size_t step) {
  const std::string bytes = std::exchange(states_[step].previous, {});
  if (bytes.empty()) return;
  if (!find_invalid_utf8(bytes)) return feed(step + 1, {bytes});
  for (size_t i = 0; i < bytes.size(); ++i) feed(step + 1, {kReplacementUtf8});
}

std::string DecoderRun::replaced_by_pattern(size_t step, std::string_view token) const {
  const Decoder::Step& op = decoder_.steps_[step];
  StepBudget budget(token.size(), kStepsPerToken);
  PatternSearch search(op.pattern, budget);
  search.start(token);
  std::string out;
  size_t done = 0, begin = 0, end = 0;
  while (search.next(begin, end)) {
    out.append(token, done, begin - done);
    out += op.more;
    done = end;
    if (out.size() > kMaxToken) return std::string(token);
  }
  out.append(token, done, token.size() - done);
  return out;
}

// Takes up to `number` characters off a token's beginning and up to `number2` off its end.
void DecoderRun::strip(size_t step, Fragment fragment) {
  const Decoder::Step& op = decoder_.steps_[step];
  State& state = states_[step];
  if (fragment.begin) {
    state.stripped = 0;
    state.inside = false;
    state.held.clear();
  }
  std::string_view text = fragment.text;
  while (!state.inside && !text.empty()) {
    state.inside = state.stripped >= op.number || op.text.empty() || !text.starts_with(op.text);
    if (state.inside) break;
    text.remove_prefix(op.text.size());
    ++state.stripped;
  }
  std::string all = std::exchange(state.held, {}) + std::string(text);
  size_t cut = all.size();
  for (uint32_t i = 0; i < op.number2 && !op.text.empty() && std::string_view(all).substr(0, cut).ends_with(op.text); ++i) cut -= op.text.size();
  if (!fragment.end) state.held = all.substr(cut);
  all.resize(cut);
  feed(step + 1, {all, fragment.begin, fragment.end});
}

void DecoderRun::replace_text(size_t step, Fragment fragment) {
  const Decoder::Step& op = decoder_.steps_[step];
  State& state = states_[step];
  const std::string all = std::exchange(state.held, {}) + std::string(fragment.text);
  std::string_view ready = all;
  if (!fragment.end && op.text.size() > 1) {
    // What is left behind the last match may be the beginning of one.
    size_t done = 0;
    for (size_t at = all.find(op.text); at != std::string::npos; at = all.find(op.text, done)) done = at + op.text.size();
    size_t keep = std::min(all.size() - done, op.text.size() - 1);
    while (keep > 0 && !op.text.starts_with(std::string_view(all).substr(all.size() - keep))) --keep;
    state.held = all.substr(all.size() - keep);
    ready.remove_suffix(keep);
  }
  feed(step + 1, {replaced(ready, op.text, op.more), fragment.begin, fragment.end});
}

void DecoderRun::finish(size_t step) {
  if (step == decoder_.steps_.size()) return;
  const Decoder::Step& op = decoder_.steps_[step];
  State& state = states_[step];
  switch (op.kind) {
    case DecoderKind::byte_level: {
      std::string text;
      append_lossy_utf8(text, std::exchange(state.previous, {}));
      feed_fused(step, text, true);
      break;
    }
    case DecoderKind::fuse: feed_fused(step, {}, true); break;
    case DecoderKind::byte_fallback: end_bytes(step); break;
    case DecoderKind::bpe_suffix:
      if (state.tokens > 0) feed(step + 1, {replaced(std::exchange(state.previous, {}), op.text, "")});
      break;
    default: break;
  }
  finish(step + 1);
}

}  // namespace pteron::text
