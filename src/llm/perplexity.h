// Perplexity of a token sequence in windows, each on a reset session.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>

#include "base/status.h"
#include "llm/session.h"

namespace pteron::llm {

struct PerplexityOptions {
  size_t ctx = 512;                 // tokens of the text in a window
  size_t stride = 512;              // a new window begins every `stride` tokens; 1 <= stride <= ctx
  std::optional<TokenId> bos;       // precedes each window and is not counted in ctx; then every token of a window is scored
};

struct Perplexity {
  size_t tokens = 0;                // scored
  double nll_sum = 0;               // nats
  double nll_mean() const { return tokens == 0 ? 0 : nll_sum / static_cast<double>(tokens); }
  double value() const;             // exp(nll_mean)
};

// Scores the tokens; with stride < ctx only the last `stride` tokens of a window count (all of the first window's).
// `progress` sees the figures after each window, and within one now and then. Errors: out_of_capacity where a window does not fit the context.
Result<Perplexity> perplexity(Session& session, std::span<const TokenId> tokens, const PerplexityOptions& options,
                              const std::function<void(const Perplexity&, size_t tokens_done)>& progress = {});

// Minus the log-probability of `token` under the softmax of a row of logits, in nats.
double negative_log_likelihood(LogitsView logits, TokenId token);

}  // namespace pteron::llm
