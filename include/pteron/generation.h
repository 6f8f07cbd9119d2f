// Sampling and generation: parameters, stop rules, and what comes of them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pteron {

using TokenId = int32_t;

/// Logits of one row, float32 [V]; valid until the next call on what gave them.
using LogitsView = std::span<const float>;

/// The sampling chain in the order in which Hugging Face applies it: the order of the fields. Every step is off at its default.
struct SamplerParams {
  std::vector<std::pair<TokenId, double>> logit_bias = {};  ///< added to the logits; minus infinity bans an id
  double repetition_penalty = 1.0;  ///< > 0; ids of prompt and generated text, each once: positive scores divided, others multiplied
  double frequency_penalty = 0.0;   ///< subtracted once for each time an id was generated
  double presence_penalty = 0.0;    ///< subtracted if an id was generated
  double temperature = 1.0;         ///< >= 0; 0 takes the best score, the lowest id on ties
  int64_t top_k = 0;                ///< >= 0; 0 is off; ids that tie with the k-th stay
  double top_p = 1.0;               ///< [0, 1]; at least one id stays
  double min_p = 0.0;               ///< [0, 1]
  double typical_p = 1.0;           ///< (0, 1]
  uint64_t seed = 0;                ///< equal seeds draw equal tokens on every machine
};

struct TokenLogprob {
  TokenId token = 0;
  double logprob = 0;  ///< natural logarithm, of the model's own distribution (before the chain)
};

/// Why a generation ended: a stop token or string; a limit of tokens or time; a full context; on request.
enum class FinishReason : uint8_t { stop, length, context, cancelled };
std::string_view finish_reason_name(FinishReason reason);

struct GenerateOptions {
  SamplerParams sampler = {};
  size_t max_tokens = 256;
  size_t min_tokens = 0;                    ///< end-of-text and stop tokens are not chosen before
  std::vector<TokenId> eos_tokens = {};     ///< end the generation; no part of the text
  std::vector<TokenId> stop_tokens = {};    ///< likewise
  std::vector<std::string> stop_strings = {};  ///< end the generation; neither they nor what follows is part of the text
  std::chrono::milliseconds time_limit{0};  ///< 0: none; reported as `length`
  size_t logprobs = 0;                      ///< how many best ids to report with each token; see `want_logprobs`
  bool want_logprobs = false;
  size_t lookup = 0;                        ///< most tokens to guess by prompt lookup; 0: off
  size_t lookup_ngram = 3;                  ///< longest run of last tokens that is looked for
  bool skip_special = true;                 ///< special tokens leave no text
};

/// One step of the stream. The texts of all steps together are the text of the generation.
struct TokenEvent {
  std::optional<TokenId> token;  ///< absent in the last event, which only brings text that was held back
  std::string_view text;         ///< complete characters that no stop string can still take back; may be empty
  double logprob = 0;
  std::span<const TokenLogprob> top;
};
enum class Flow : uint8_t { go_on, stop };
using OnToken = std::function<Flow(const TokenEvent&)>;

struct Generation {
  std::vector<TokenId> tokens;          ///< all that were sampled, the one that ended it included
  std::string text;
  FinishReason finish_reason = FinishReason::length;
  std::string stop_sequence;            ///< the stop string that was met
  std::optional<TokenId> stop_token;    ///< the end-of-text or stop token that was met
  std::vector<double> logprobs;         ///< one a token, if wanted
  std::vector<std::vector<TokenLogprob>> top_logprobs;
  std::chrono::nanoseconds first_token{0}, decode{0};  ///< from the call to the first token; of all steps after it
  size_t drafted = 0, accepted = 0;     ///< tokens guessed by lookup, and how many of them were right
};

}  // namespace pteron
