#include "llm/lookup.h"

#include <algorithm>

namespace pteron::llm {

constexpr size_t kShortest = 2;

std::span<const TokenId> lookup_draft(std::span<const TokenId> text, size_t longest, size_t most) {
  if (most == 0) return {};
  for (size_t n = std::min(longest, text.size() / 2); n >= kShortest; --n) {
    const auto last = text.last(n);
    for (size_t end = text.size() - 1; end >= n; --end) {
      if (!std::equal(last.begin(), last.end(), text.begin() + static_cast<std::ptrdiff_t>(end - n))) continue;
      return text.subspan(end, std::min(most, text.size() - end));
    }
  }
  return {};
}

}  // namespace pteron::llm
