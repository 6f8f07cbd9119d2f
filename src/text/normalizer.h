// The steps that change a text before it is cut.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "text/pattern.h"
#include "text/token_table.h"

namespace pteron::text {

struct ContentOp;

// A run of one normalizer: the text, and whether its first character stands at the very beginning of what was given.
struct NormalText {
  std::string text;
  bool from_start = true;
};

// The normalizer of a table, patterns compiled. Immutable.
class Normalizer {
 public:
  static Result<Normalizer> from_table(const TokenTable& table);

  bool empty() const { return steps_.empty(); }
  Status apply(NormalText& text, StepBudget& budget) const;

 private:
  friend Status normalize_with(const std::vector<ContentOp>& ops, std::string& text);
  struct Step {
    NormalizerKind kind;
    uint16_t flags;
    std::string_view text, more;  // into the table, or what `normalize_with` was given
    Pattern pattern;
  };
  static Result<Step> make_step(uint16_t kind, uint16_t flags, std::string_view text, std::string_view more);
  std::vector<Step> steps_;
};

// The same for steps that are not in a table yet.
Status normalize_with(const std::vector<ContentOp>& ops, std::string& text);

}  // namespace pteron::text
