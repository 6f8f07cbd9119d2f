// The steps that cut a text into the pieces that the model sees.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "text/pattern.h"
#include "text/token_table.h"

namespace pteron::text {

// Takes pieces one by one; each is valid during the call only.
class PieceSink {
 public:
  virtual ~PieceSink() = default;
  virtual Status piece(std::string_view text) = 0;
};

// The pre-tokenizer of a table, patterns compiled. Immutable.
class PreTokenizer {
 public:
  static Result<PreTokenizer> from_table(const TokenTable& table);

 private:
  friend class PreTokenizerRun;
  struct Step {
    PreTokenizerKind kind;
    uint16_t flags;
    uint32_t number;
    std::string_view text;
    Pattern pattern;
  };
  std::vector<Step> steps_;
};

// One thread's use of a pre-tokenizer: searches and scratch memory.
class PreTokenizerRun {
 public:
  // All three must outlive the run.
  PreTokenizerRun(const PreTokenizer& pre_tokenizer, StepBudget& budget, PieceSink& sink);

  // Cuts well-formed text. `from_start`: it stands at the very beginning of what was given to be encoded.
  Status cut(std::string_view text, bool from_start) { return run(0, text, from_start); }

 private:
  class Emitter;
  Status run(size_t step, std::string_view text, bool from_start);
  Status split_pattern(size_t step, std::string_view text, bool from_start);
  template <class F>
  Status split_characters(size_t step, std::string_view text, bool from_start, SplitBehavior behavior, bool invert, const F& matches);
  Status metaspace(size_t step, std::string_view text, bool from_start);
  Status fixed_length(size_t step, std::string_view text, bool from_start);

  const std::vector<PreTokenizer::Step>& steps_;
  PieceSink& sink_;
  std::vector<PatternSearch> searches_;  // by step; unused where the step has no pattern
  std::vector<size_t> search_of_;
  std::vector<std::string> scratch_;     // by step: a text that the step changed
};

}  // namespace pteron::text
