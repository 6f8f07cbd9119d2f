// Regular expressions of tokenizers: PCRE2 with Unicode, bounded in steps and memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/status.h"

struct pcre2_real_code_8;
struct pcre2_real_match_data_8;
struct pcre2_real_match_context_8;

namespace pteron::text {

// The steps that one call may spend on long searches, over all patterns and matches. Short searches are free: there can be no more of them than characters.
class StepBudget {
 public:
  explicit StepBudget(size_t text_size) : left_(100'000'000 + 64 * uint64_t{text_size}) {}
  // False if the budget does not have that many.
  bool take(uint64_t steps) {
    if (steps > left_) return false;
    left_ -= steps;
    return true;
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
  std::shared_ptr<pcre2_real_code_8> code_;
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
  // Why the search stopped early: out_of_capacity where it needed too many steps or too much memory.
  Status status() const;

 private:
  int match(size_t from);
  const Pattern* pattern_;
  StepBudget* budget_;
  pcre2_real_match_data_8* data_ = nullptr;
  pcre2_real_match_context_8* context_ = nullptr;
  std::string_view text_;
  size_t at_ = 0;
  size_t last_end_ = 0;
  bool any_match_ = false;
  int error_ = 0;
};

}  // namespace pteron::text
