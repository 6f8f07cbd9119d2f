// The generation loop: sampling, stop rules, limits and streaming over a session.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "llm/sampler.h"
#include "llm/session.h"

namespace pteron::text {
class Tokenizer;
}

namespace pteron::llm {

enum class FinishReason : uint8_t { stop, length, context, cancelled };
std::string_view finish_reason_name(FinishReason reason);

struct GenerateOptions {
  SamplerParams sampler;
  size_t max_tokens = 256;
  size_t min_tokens = 0;                    // end-of-text and stop tokens are not chosen before
  std::vector<TokenId> eos_tokens;          // end generation; not part of the text
  std::vector<TokenId> stop_tokens;         // likewise
  std::vector<std::string> stop_strings;    // end generation; neither they nor what follows is part of the text
  std::chrono::milliseconds time_limit{0};  // 0: none; reported as `length`
  size_t logprobs = 0;                      // how many best ids to report with each token; see `want_logprobs`
  bool want_logprobs = false;
  size_t lookup = 0;                        // most tokens to guess by prompt lookup; 0: off
  size_t lookup_ngram = 3;                  // longest run of last tokens that is looked for
  bool skip_special = true;                 // special tokens leave no text
};

// One step of the stream. Concatenated texts are the generation's text.
struct TokenEvent {
  std::optional<TokenId> token;             // absent in the last event, which only brings text that was held back
  std::string_view text;                    // complete characters that no stop string can still take back; may be empty
  double logprob = 0;
  std::span<const TokenLogprob> top;
};
enum class Flow : uint8_t { go_on, stop };
using OnToken = std::function<Flow(const TokenEvent&)>;

struct Generation {
  std::vector<TokenId> tokens;              // all that were sampled, the one that ended it included
  std::string text;
  FinishReason finish_reason = FinishReason::length;
  std::string stop_sequence;                // the stop string that was met
  std::optional<TokenId> stop_token;        // the end-of-text or stop token that was met
  std::vector<double> logprobs;             // one a token, if wanted
  std::vector<std::vector<TokenLogprob>> top_logprobs;
  std::chrono::nanoseconds first_token{0}, decode{0};  // from the call to the first token; of all steps after it
  size_t drafted = 0, accepted = 0;         // tokens guessed by lookup, and how many of them were right
};

// Continues the session: from its logits, or by feeding its pending token first. The last token stays pending. The session's tokens
// are the prompt that penalties and lookup see. `tokenizer` may be null: then there is no text, and stop strings are an error.
Result<Generation> generate(Session& session, const text::Tokenizer* tokenizer, const GenerateOptions& options, const OnToken& on_token = {});

}  // namespace pteron::llm
