// From tokens back to text, one token at a time: each decoder step passes on what can no longer change.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "text/pattern.h"
#include "text/token_table.h"

namespace pteron::text {

// The decoder of a table, patterns compiled. Immutable.
class Decoder {
 public:
  static Result<Decoder> from_table(const TokenTable& table);

  // The bytes that a token stands for in the middle of a text.
  std::string token_bytes(std::string_view token) const;

 private:
  friend class DecoderRun;
  struct Step {
    DecoderKind kind;
    uint16_t flags;
    uint32_t number, number2;
    std::string_view text, more;
    Pattern pattern;
  };
  std::vector<Step> steps_;
  bool join_with_spaces_ = false;
};

// One text on its way. A step sees tokens as fragments: most tokens come whole, but what a step has fused comes in pieces as it becomes certain.
class DecoderRun {
 public:
  // `decoder` must outlive the run.
  explicit DecoderRun(const Decoder& decoder);

  // Appends the text that is certain after one more token.
  void push(std::string_view token, std::string& out);
  // Appends the rest and begins anew.
  void flush(std::string& out);
  // Whether the last token ended within a character of a byte-level vocabulary.
  bool inside_character() const;

 private:
  struct State {
    std::string held;       // what a later fragment may still change
    std::string previous;   // the token before (bpe_suffix, ctc)
    size_t tokens = 0;      // that have begun
    size_t stripped = 0;    // strip: characters taken off this token's beginning
    bool inside = false;    // strip: past the beginning of this token
    bool open = false;      // the one token that a fusing step gives has begun
  };
  struct Fragment {
    std::string_view text;
    bool begin = true, end = true;  // of its token
  };

  void feed(size_t step, Fragment fragment);
  void finish(size_t step);
  void feed_fused(size_t step, std::string_view text, bool end);
  void strip(size_t step, Fragment fragment);
  void replace_text(size_t step, Fragment fragment);
  void whole_token(size_t step, std::string_view token);
  void end_bytes(size_t step);
  std::string replaced_by_pattern(size_t step, std::string_view token) const;

  const Decoder& decoder_;
  std::vector<State> states_;  // one a step, and one for the output
  std::string* out_ = nullptr;
};

}  // namespace pteron::text
