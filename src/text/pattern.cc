#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/pattern.h"

#include <pcre2.h>

#include <algorithm>
#include <string>
#include <utility>

#include "text/unicode.h"

namespace pteron::text {
namespace {

constexpr size_t kMaxPatternBytes = size_t{64} << 10;
constexpr size_t kWindow = 128;                   // bytes that a fast search sees
constexpr uint32_t kFastSteps = 128;              // and the steps that it may take
constexpr uint32_t kMaxHeapKibibytes = 64 << 10;  // of one metered search

struct FreeCode {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
};

// The beginning of an expression, whole characters.
std::string shown(std::string_view expression) {
  size_t size = std::min<size_t>(expression.size(), 200);
  while (size > 0 && size < expression.size() && (static_cast<unsigned char>(expression[size]) & 0xc0) == 0x80) --size;
  return std::string(expression.substr(0, size));
}

std::string error_text(int code) {
  PCRE2_UCHAR text[256];
  const int size = pcre2_get_error_message(code, text, sizeof text);
  return size < 0 ? "error " + std::to_string(code) : std::string(reinterpret_cast<char*>(text), static_cast<size_t>(size));
}

// What one metered search has used.
struct Meter {
  StepBudget* budget;
  size_t at;  // in the text, at the report before
};

// Called before each item of the expression that is tried.
int report(pcre2_callout_block* block, void* data) {
  auto& meter = *static_cast<Meter*>(data);
  const size_t before = std::exchange(meter.at, block->current_position);
  return meter.budget->take(1 + (meter.at > before ? meter.at - before : 0)) ? 0 : PCRE2_ERROR_MATCHLIMIT;
}

Result<std::shared_ptr<pcre2_code>> compile_code(std::string_view expression, uint32_t options) {
  pcre2_compile_context* context = pcre2_compile_context_create(nullptr);
  if (context == nullptr) return Status::error(Code::out_of_memory, "pattern");
  pcre2_set_newline(context, PCRE2_NEWLINE_LF);
  int error = 0;
  PCRE2_SIZE at = 0;
  pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(expression.data()), expression.size(),
                                   PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C | options, &error, &at, context);
  pcre2_compile_context_free(context);
  if (code == nullptr) {
    return Status::error(Code::unsupported, "pattern", {.expected = "a regular expression", .found = error_text(error) + " at offset " + std::to_string(at) +
                                                                                                   " of " + shown(expression)});
  }
  return std::shared_ptr<pcre2_code>(code, FreeCode());
}

}  // namespace

Result<Pattern> Pattern::compile(std::string_view expression) {
  if (expression.size() > kMaxPatternBytes) {
    return Status::error(Code::unsupported, "pattern too long",
                         {.expected = "at most " + std::to_string(kMaxPatternBytes) + " bytes", .found = std::to_string(expression.size())});
  }
  Pattern pattern;
  pattern.expression_ = expression;
  PTERON_ASSIGN(pattern.fast_, compile_code(expression, 0));
  PTERON_ASSIGN(pattern.metered_, compile_code(expression, PCRE2_AUTO_CALLOUT));
  // Without executable memory this fails, and matching is interpreted.
  (void)pcre2_jit_compile(pattern.fast_.get(), PCRE2_JIT_COMPLETE | PCRE2_JIT_PARTIAL_HARD);
  return pattern;
}

PatternSearch::PatternSearch(const Pattern& pattern, StepBudget& budget) : pattern_(&pattern), budget_(&budget) {
  data_ = pcre2_match_data_create(1, nullptr);
  context_ = pcre2_match_context_create(nullptr);
  if (data_ == nullptr || context_ == nullptr) {
    error_ = PCRE2_ERROR_NOMEMORY;
    return;
  }
  pcre2_set_match_limit(context_, kFastSteps);
}

PatternSearch::PatternSearch(PatternSearch&& other) noexcept
    : pattern_(other.pattern_), budget_(other.budget_), data_(std::exchange(other.data_, nullptr)), context_(std::exchange(other.context_, nullptr)),
      metered_context_(std::exchange(other.metered_context_, nullptr)), text_(other.text_), at_(other.at_), last_end_(other.last_end_),
      any_match_(other.any_match_), error_(other.error_) {}

PatternSearch::~PatternSearch() {
  pcre2_match_data_free(data_);
  pcre2_match_context_free(context_);
  pcre2_match_context_free(metered_context_);
}

void PatternSearch::start(std::string_view text) {
  text_ = text;
  at_ = last_end_ = 0;
  any_match_ = false;
}

int PatternSearch::match(size_t from) {
  for (;;) {
    size_t end = std::min(text_.size(), from + kWindow);
    while (end < text_.size() && (static_cast<unsigned char>(text_[end]) & 0xc0) == 0x80) --end;
    const bool all = end == text_.size();
    const int result = pcre2_match(pattern_->fast_.get(), reinterpret_cast<PCRE2_SPTR>(text_.data()), end, from,
                                   PCRE2_NO_UTF_CHECK | (all ? 0 : PCRE2_PARTIAL_HARD), data_, context_);
    if (result >= 0 || (all && result == PCRE2_ERROR_NOMATCH)) return result;
    if (result != PCRE2_ERROR_NOMATCH) return match_metered(from);
    from = end;  // nothing begins in the window
  }
}

int PatternSearch::match_metered(size_t from) {
  if (metered_context_ == nullptr && (metered_context_ = pcre2_match_context_create(nullptr)) == nullptr) return PCRE2_ERROR_NOMEMORY;
  Meter meter{budget_, from};
  pcre2_set_callout(metered_context_, report, &meter);
  pcre2_set_heap_limit(metered_context_, kMaxHeapKibibytes);
  pcre2_set_match_limit(metered_context_, UINT32_MAX);
  return pcre2_match(pattern_->metered_.get(), reinterpret_cast<PCRE2_SPTR>(text_.data()), text_.size(), from, PCRE2_NO_UTF_CHECK, data_, metered_context_);
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
  return Status::error(Code::out_of_capacity, "text too hard for a pattern of the tokenizer",
                       {.expected = "a search within the limits of steps and memory", .found = error_text(error_) + " with " + shown(pattern_->expression_)});
}

}  // namespace pteron::text
