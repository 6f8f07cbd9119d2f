#include "llm/perplexity.h"

#include <algorithm>
#include <cmath>

#include "llm/exponential.h"

namespace pteron::llm {

constexpr size_t kProgressRows = 32;

double Perplexity::value() const { return std::exp(nll_mean()); }

double negative_log_likelihood(LogitsView logits, TokenId token) {
  const double best = *std::max_element(logits.begin(), logits.end());
  double total = 0;
  for (const float value : logits) total += exp_nonpositive(value - best);
  return best + std::log(total) - logits[static_cast<size_t>(token)];
}

Result<Perplexity> perplexity(Session& session, std::span<const TokenId> tokens, const PerplexityOptions& options,
                              const std::function<void(const Perplexity&, size_t)>& progress) {
  if (options.stride == 0 || options.stride > options.ctx) {
    return Status::error(Code::invalid_argument, "windows leave gaps", {"", "stride", "1 to " + std::to_string(options.ctx), std::to_string(options.stride)});
  }
  Perplexity out;
  std::vector<TokenId> fed;
  for (size_t begin = 0; begin < tokens.size(); begin += options.stride) {
    const auto window = tokens.subspan(begin, std::min(options.ctx, tokens.size() - begin));
    // Of the windows after the first, only what the one before did not hold counts.
    const size_t known = begin == 0 ? 0 : options.ctx - options.stride;
    if (window.size() <= known) break;
    fed.clear();
    if (options.bos) fed.push_back(*options.bos);
    fed.insert(fed.end(), window.begin(), window.end());
    fed.pop_back();  // nothing is asked after the last token
    PTERON_TRY(session.reset());
    const size_t offset = options.bos ? 0 : 1;  // row i predicts the window's token i + offset
    const auto score = [&](size_t row, LogitsView logits) -> Status {
      const size_t index = row + offset;
      if (progress && row % kProgressRows == kProgressRows - 1) progress(out, begin + index);
      if (index < known) return {};
      out.nll_sum += negative_log_likelihood(logits, window[index]);
      ++out.tokens;
      return {};
    };
    if (!fed.empty()) PTERON_TRY(session.append_rows(fed, score));
    if (progress) progress(out, begin + window.size());
  }
  return out;
}

}  // namespace pteron::llm
