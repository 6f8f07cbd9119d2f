// Regular expressions of tokenizers: PCRE2 with Unicode, bounded in steps and memory whatever the expression is, because it comes with the file.
//
// Each search is tried fast first: compiled code that sees a short window of the text only and may take few steps. What that does not settle (a long word, much
// backtracking) is done again by an interpreter that reports each item of the expression that it tries, so that every step and every character read over is
// taken from a budget. The limits that PCRE2 has of its own cannot do that: they do not count what a repeated class reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

struct pcre2_real_code_8;
struct pcre2_real_match_data_8;
struct pcre2_real_match_context_8;

namespace pteron::text {

// The steps that one call may spend on hard searches, over all patterns and matches: tries of an item, and characters read. Easy searches are free: there can
// be no more of them than characters, and what each may cost is bounded.
class StepBudget {
 public:
  static constexpr uint64_t kSteps = 20'000'000, kStepsPerByte = 64;
  explicit StepBudget(size_t text_size, uint64_t steps = kSteps) : left_(steps + kStepsPerByte * text_size) {}
  // False, and nothing is left, if the budget does not have that many.
  bool take(uint64_t steps) {
    const bool enough = steps <= left_;
    left_ -= enough ? steps : left_;
    return enough;
  }

 private:
  uint64_t left_;
};

// A compiled pattern in PCRE2's syntax; shared by threads freely.
class Pattern {
 public:
  static Result<Pattern> compile(std::string_view expression);

 private:
  friend class PatternSearch;
  std::string expression_;
  std::shared_ptr<pcre2_real_code_8> fast_, metered_;
};

// Finds the matches of a pattern in texts, one after the other. One thread at a time.
class PatternSearch {
 public:
  // `pattern` and `budget` must outlive the search.
  PatternSearch(const Pattern& pattern, StepBudget& budget);
  ~PatternSearch();
  PatternSearch(PatternSearch&& other) noexcept;
  PatternSearch& operator=(PatternSearch&&) = delete;

  // Begins with a text, which must be well-formed UTF-8 and stay alive.
  void start(std::string_view text);
  // The next match as [begin, end). False at the end of the text, and after an error. An empty match directly behind a match is passed over.
  bool next(size_t& begin, size_t& end);
  // Why the search stopped early, with the pattern: out_of_capacity where it needed too many steps or too much memory.
  Status status() const;

 private:
  int match(size_t from);
  int match_metered(size_t from);
  const Pattern* pattern_;
  StepBudget* budget_;
  pcre2_real_match_data_8* data_ = nullptr;
  pcre2_real_match_context_8* context_ = nullptr;          // of the fast way
  pcre2_real_match_context_8* metered_context_ = nullptr;  // made when it is needed
  std::string_view text_;
  size_t at_ = 0;
  size_t last_end_ = 0;
  bool any_match_ = false;
  int error_ = 0;
};

}  // namespace pteron::text
