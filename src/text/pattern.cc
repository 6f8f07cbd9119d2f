#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/pattern.h"

#include <pcre2.h>

#include <string>
#include <utility>

#include "text/unicode.h"

namespace pteron::text {
namespace {

constexpr size_t kMaxPatternBytes = size_t{64} << 10;
constexpr uint32_t kFreeSteps = 256;            // what each search may use without asking the budget
constexpr uint32_t kMaxHeapKibibytes = 64 << 10;  // of one search

std::string error_text(int code) {
  PCRE2_UCHAR text[256];
  const int size = pcre2_get_error_message(code, text, sizeof text);
  return size < 0 ? "error " + std::to_string(code) : std::string(reinterpret_cast<char*>(text), static_cast<size_t>(size));
}

}  // namespace

Result<Pattern> Pattern::compile(std::string_view expression) {
  if (expression.size() > kMaxPatternBytes) {
    return Status::error(Code::unsupported, "pattern too long",
                         {.expected = "at most " + std::to_string(kMaxPatternBytes) + " bytes", .found = std::to_string(expression.size())});
  }
  pcre2_compile_context* context = pcre2_compile_context_create(nullptr);
  if (context == nullptr) return Status::error(Code::out_of_memory, "pattern");
  pcre2_set_newline(context, PCRE2_NEWLINE_LF);
  int error = 0;
  PCRE2_SIZE at = 0;
  pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(expression.data()), expression.size(),
                                   PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error, &at, context);
  pcre2_compile_context_free(context);
  if (code == nullptr) {
    return Status::error(Code::unsupported, "pattern", {.expected = "a regular expression", .found = error_text(error) + " at offset " + std::to_string(at) +
                                                                                                   " of " + std::string(expression.substr(0, 200))});
  }
  // Without executable memory this fails, and matching is interpreted.
  (void)pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
  Pattern pattern;
  pattern.code_ = std::shared_ptr<pcre2_code>(code, [](pcre2_code* c) { pcre2_code_free(c); });
  return pattern;
}

PatternSearch::PatternSearch(const Pattern& pattern, StepBudget& budget) : pattern_(&pattern), budget_(&budget) {
  data_ = pcre2_match_data_create(1, nullptr);
  context_ = pcre2_match_context_create(nullptr);
  if (data_ == nullptr || context_ == nullptr) {
    error_ = PCRE2_ERROR_NOMEMORY;
    return;
  }
  pcre2_set_heap_limit(context_, kMaxHeapKibibytes);
}

PatternSearch::PatternSearch(PatternSearch&& other) noexcept
    : pattern_(other.pattern_), budget_(other.budget_), data_(std::exchange(other.data_, nullptr)), context_(std::exchange(other.context_, nullptr)),
      text_(other.text_), at_(other.at_), last_end_(other.last_end_), any_match_(other.any_match_), error_(other.error_) {}

PatternSearch::~PatternSearch() {
  pcre2_match_data_free(data_);
  pcre2_match_context_free(context_);
}

void PatternSearch::start(std::string_view text) {
  text_ = text;
  at_ = last_end_ = 0;
  any_match_ = false;
}

// Runs one search with few steps first, then with more and more: what it may cost in the end is taken from the budget.
int PatternSearch::match(size_t from) {
  uint32_t limit = kFreeSteps;
  uint32_t options = PCRE2_NO_UTF_CHECK;
  for (;;) {
    pcre2_set_match_limit(context_, limit);
    const int result = pcre2_match(pattern_->code_.get(), reinterpret_cast<PCRE2_SPTR>(text_.data()), text_.size(), from, options, data_, context_);
    if (result == PCRE2_ERROR_JIT_STACKLIMIT) {
      options |= PCRE2_NO_JIT;
    } else if (result != PCRE2_ERROR_MATCHLIMIT || limit > (1u << 30) || !budget_->take(uint64_t{limit} * 8)) {
      return result;
    } else {
      limit *= 8;
    }
  }
}

bool PatternSearch::next(size_t& begin, size_t& end) {
  while (error_ == 0 && at_ <= text_.size()) {
    const int result = match(at_);
    if (result < 0) {
      if (result != PCRE2_ERROR_NOMATCH) error_ = result;
      at_ = text_.size() + 1;
      return false;
    }
    const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(data_);
    begin = bounds[0];
    end = bounds[1];
    // A look-around with \K can report a match that ends before it begins or that goes back; such a pattern finds nothing more.
    if (begin > end || begin < last_end_) {
      at_ = text_.size() + 1;
      return false;
    }
    if (begin == end && any_match_ && last_end_ == end) {
      at_ = end < text_.size() ? end + utf8_at(text_, end).size : end + 1;
      continue;
    }
    at_ = last_end_ = end;
    any_match_ = true;
    return true;
  }
  return false;
}

Status PatternSearch::status() const {
  if (error_ == 0) return {};
  return Status::error(Code::out_of_capacity, "text too hard for the tokenizer's pattern", {.found = error_text(error_)});
}

}  // namespace pteron::text
