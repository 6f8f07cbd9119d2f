// From logits to a token: the sampling chain in the order Hugging Face applies it, in double precision.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/status.h"
#include "llm/token.h"

namespace pteron::llm {

using pteron::SamplerParams;
using pteron::TokenLogprob;

// What penalties look at.
struct SampleContext {
  std::span<const TokenId> prompt, generated;
  std::span<const TokenId> banned;  // never chosen at this step (end-of-text ids below the minimum length)
};

// SplitMix64 (Steele, Lea, Flood 2014) counted from the seed: equal seeds give equal numbers on every machine.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next();
  double uniform();  // [0, 1), 53 bits

 private:
  uint64_t state_;
};

// Allocates only in `create`. One thread at a time. Logits with NaN or plus infinity, or with nothing left to choose, are an error
// (invalid_data, field "logits"); a parameter out of range is invalid_argument with its name as the field.
class Sampler {
 public:
  static Result<Sampler> create(SamplerParams params, size_t vocab_size);

  Result<TokenId> sample(LogitsView logits, const SampleContext& context = {});
  // The best score after bias and penalties, whatever the temperature.
  Result<TokenId> greedy(LogitsView logits, const SampleContext& context = {});
  // The distribution that `sample` draws from, dense [V]. Allocates its result.
  Result<std::vector<double>> probabilities(LogitsView logits, const SampleContext& context = {});

  const SamplerParams& params() const { return params_; }
  size_t vocab_size() const { return vocab_size_; }
  void reseed(uint64_t seed) { random_ = Random(seed); }

 private:
  struct Candidate {
    double score;   // after temperature
    double weight;  // exp(score - the best score): not normalised
    TokenId id;
  };
  Sampler(SamplerParams params, size_t vocab_size);
  Status score(LogitsView logits, const SampleContext& context);
  void penalise(const SampleContext& context);
  bool truncates() const { return params_.top_k > 0 || params_.top_p < 1 || params_.min_p > 0 || params_.typical_p < 1; }
  Status choose_weights(LogitsView logits, const SampleContext& context);
  Status choose_candidates();
  double top_k_threshold();
  void weigh();
  double total_weight() const;
  void keep_top_p();
  void keep_min_p();
  void keep_typical_p();
  Result<TokenId> best_score() const;

  SamplerParams params_;
  size_t vocab_size_;
  Random random_;
  std::vector<double> scores_;             // [V]; after temperature
  std::vector<double> weights_;            // [V]; exp(score - the best score), where nothing is truncated
  std::vector<uint32_t> counts_;           // times an id was generated; zero between calls
  std::vector<bool> seen_;                 // ids of prompt and generated text; false between calls
  std::vector<double> heap_;               // the k best scores
  std::vector<Candidate> candidates_;      // ids ascending
  std::vector<Candidate> order_;           // the same in another order, to find a threshold
};

// Log-probabilities of the model itself (softmax of the raw logits): of `token`, and the `top.size()` best ids, best first.
// Returns how many of `top` were filled.
size_t token_logprobs(LogitsView logits, TokenId token, double* logprob, std::span<TokenLogprob> top);

}  // namespace pteron::llm
