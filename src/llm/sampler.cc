#include "llm/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "llm/exponential.h"

namespace pteron::llm {
namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

Status bad_parameter(std::string_view name, std::string expected, double found) {
  return Status::error(Code::invalid_argument, "sampling parameter out of range", {"", std::string(name), std::move(expected), std::to_string(found)});
}

Status bad_logits(std::string found) {
  return Status::error(Code::invalid_data, "logits cannot be sampled from", {"", "logits", "finite numbers, or minus infinity for some", std::move(found)});
}

Status check_bias(const SamplerParams& params, size_t vocab_size) {
  for (const auto& [id, bias] : params.logit_bias) {
    if (id < 0 || static_cast<size_t>(id) >= vocab_size) return bad_parameter("logit_bias", "ids below " + std::to_string(vocab_size), id);
    if (std::isnan(bias) || bias == -kMinusInfinity) return bad_parameter("logit_bias", "a number or minus infinity", bias);
  }
  return {};
}

Status check_params(const SamplerParams& params, size_t vocab_size) {
  PTERON_TRY(check_bias(params, vocab_size));
  const auto inside = [](double value, double low, double high) { return value >= low && value <= high; };  // false for NaN
  if (!std::isfinite(params.repetition_penalty) || params.repetition_penalty <= 0) {
    return bad_parameter("repetition_penalty", "a finite number above 0", params.repetition_penalty);
  }
  if (!std::isfinite(params.frequency_penalty)) return bad_parameter("frequency_penalty", "a finite number", params.frequency_penalty);
  if (!std::isfinite(params.presence_penalty)) return bad_parameter("presence_penalty", "a finite number", params.presence_penalty);
  if (!std::isfinite(params.temperature) || params.temperature < 0) return bad_parameter("temperature", "a finite number of at least 0", params.temperature);
  if (params.top_k < 0) return bad_parameter("top_k", "at least 0", static_cast<double>(params.top_k));
  if (!inside(params.top_p, 0, 1)) return bad_parameter("top_p", "0 to 1", params.top_p);
  if (!inside(params.min_p, 0, 1)) return bad_parameter("min_p", "0 to 1", params.min_p);
  if (!inside(params.typical_p, 0, 1) || params.typical_p == 0) return bad_parameter("typical_p", "above 0, at most 1", params.typical_p);
  return {};
}

// How many elements, counted in the order of `less`, have a running sum of weights that satisfies `holds` (true up to some sum, false
// beyond); `before` is what the sum starts with. Leaves that many of the first in order at the front. Halves the range by its median, so that nothing is sorted but a rest.
template <class T, class Less, class Holds>
size_t count_prefix(std::vector<T>& items, double before, const Less& less, const Holds& holds) {
  constexpr size_t kSorted = 64;
  size_t low = 0, high = items.size();
  const auto at = [&](size_t i) { return items.begin() + static_cast<std::ptrdiff_t>(i); };
  while (high - low > kSorted) {
    const size_t middle = low + (high - low) / 2;
    std::nth_element(at(low), at(middle), at(high), less);
    double sum = 0;
    for (size_t i = low; i < middle; ++i) sum += items[i].weight;
    if (holds(before + sum)) {
      before += sum;
      low = middle;
    } else {
      high = middle;
    }
  }
  std::sort(at(low), at(high), less);
  while (low < high && holds(before + items[low].weight)) before += items[low++].weight;
  return low;
}

// The first item whose running sum passes `target`; of those that weigh nothing none.
template <class T, class Weight>
size_t pick(const std::vector<T>& items, double target, const Weight& weight) {
  double sum = 0;
  size_t chosen = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    if (!(weight(items[i]) > 0)) continue;
    chosen = i;
    sum += weight(items[i]);
    if (sum > target) break;
  }
  return chosen;
}

}  // namespace

uint64_t Random::next() {
  state_ += 0x9E3779B97F4A7C15;
  uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

double Random::uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

Sampler::Sampler(SamplerParams params, size_t vocab_size) : params_(std::move(params)), vocab_size_(vocab_size), random_(params_.seed) {
  scores_.resize(vocab_size);
  counts_.resize(vocab_size);
  seen_.resize(vocab_size);
  if (!truncates()) {
    weights_.resize(vocab_size);
    return;
  }
  candidates_.reserve(vocab_size);
  if (params_.top_k > 0) heap_.reserve(std::min(vocab_size, static_cast<size_t>(params_.top_k)));
  if (params_.top_p < 1 || params_.typical_p < 1) order_.reserve(vocab_size);
}

Result<Sampler> Sampler::create(SamplerParams params, size_t vocab_size) {
  if (vocab_size == 0) return bad_parameter("vocab_size", "at least 1", 0);
  PTERON_TRY(check_params(params, vocab_size));
  return Sampler(std::move(params), vocab_size);
}

// Bias and penalties; what is left are the scores that greedy choice looks at.
Status Sampler::score(LogitsView logits, const SampleContext& context) {
  if (logits.size() != vocab_size_) {
    return Status::error(Code::invalid_argument, "logits of another vocabulary", {"", "logits", std::to_string(vocab_size_), std::to_string(logits.size())});
  }
  bool usable = true;
  for (size_t i = 0; i < vocab_size_; ++i) {
    usable = usable && logits[i] < std::numeric_limits<float>::infinity();  // false for NaN too
    scores_[i] = logits[i];
  }
  if (!usable) return bad_logits("NaN or infinity");
  for (const auto& [id, bias] : params_.logit_bias) scores_[static_cast<size_t>(id)] += bias;
  penalise(context);
  for (const TokenId id : context.banned) {
    if (id >= 0 && static_cast<size_t>(id) < vocab_size_) scores_[static_cast<size_t>(id)] = kMinusInfinity;
  }
  return {};
}

void Sampler::penalise(const SampleContext& context) {
  const auto valid = [&](TokenId id) { return id >= 0 && static_cast<size_t>(id) < vocab_size_; };
  if (params_.repetition_penalty != 1) {
    for (const auto& ids : {context.prompt, context.generated}) {
      for (const TokenId id : ids) {
        if (!valid(id) || seen_[static_cast<size_t>(id)]) continue;
        seen_[static_cast<size_t>(id)] = true;
        double& score = scores_[static_cast<size_t>(id)];
        score = score > 0 ? score / params_.repetition_penalty : score * params_.repetition_penalty;
      }
    }
    for (const auto& ids : {context.prompt, context.generated}) {
      for (const TokenId id : ids) {
        if (valid(id)) seen_[static_cast<size_t>(id)] = false;
      }
    }
  }
  if (params_.frequency_penalty == 0 && params_.presence_penalty == 0) return;
  for (const TokenId id : context.generated) {
    if (valid(id)) ++counts_[static_cast<size_t>(id)];
  }
  for (const TokenId id : context.generated) {
    if (!valid(id) || counts_[static_cast<size_t>(id)] == 0) continue;
    scores_[static_cast<size_t>(id)] -= params_.frequency_penalty * counts_[static_cast<size_t>(id)] + params_.presence_penalty;
    counts_[static_cast<size_t>(id)] = 0;
  }
}

Result<TokenId> Sampler::best_score() const {
  const auto best = std::max_element(scores_.begin(), scores_.end());  // the first of equals
  if (*best == kMinusInfinity) return bad_logits("nothing left to choose from");
  return static_cast<TokenId>(best - scores_.begin());
}

Result<TokenId> Sampler::greedy(LogitsView logits, const SampleContext& context) {
  PTERON_TRY(score(logits, context));
  return best_score();
}

// The k-th best score, from a heap of the k best so far with the worst of them on top.
double Sampler::top_k_threshold() {
  const size_t k = static_cast<size_t>(params_.top_k);
  if (params_.top_k == 0 || k >= vocab_size_) return kMinusInfinity;
  heap_.assign(scores_.begin(), scores_.begin() + static_cast<std::ptrdiff_t>(k));
  std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
  for (size_t i = k; i < vocab_size_; ++i) {
    if (!(scores_[i] > heap_.front())) continue;
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    heap_.back() = scores_[i];
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  }
  return heap_.front();
}

void Sampler::weigh() {
  double best = kMinusInfinity;
  for (const Candidate& candidate : candidates_) best = std::max(best, candidate.score);
  for (Candidate& candidate : candidates_) candidate.weight = exp_nonpositive(candidate.score - best);
}

double Sampler::total_weight() const {
  double total = 0;
  for (const Candidate& candidate : candidates_) total += candidate.weight;
  return total;
}

// The bottom goes as long as its cumulative probability is at most 1 - p; of equal scores the lower ids go first.
void Sampler::keep_top_p() {
  const double total = total_weight(), limit = 1 - params_.top_p;
  // So light that all of them together are below the limit: they go without being put in order.
  const double light = limit * total / static_cast<double>(candidates_.size());
  double before = 0;
  order_.clear();
  for (const Candidate& candidate : candidates_) {
    if (candidate.weight < light) {
      before += candidate.weight / total;
    } else {
      order_.push_back({candidate.score, candidate.weight / total, candidate.id});
    }
  }
  const auto below = [](const Candidate& a, const Candidate& b) { return a.score != b.score ? a.score < b.score : a.id < b.id; };
  const size_t removed = std::min(count_prefix(order_, before, below, [&](double sum) { return sum <= limit; }), order_.size() - 1);
  std::nth_element(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(removed), order_.end(), below);
  const Candidate lowest = order_[removed];
  std::erase_if(candidates_, [&](const Candidate& candidate) { return below(candidate, lowest); });
}

void Sampler::keep_min_p() {
  const double total = total_weight();
  const double threshold = params_.min_p * (1.0 / total);  // the best candidate has weight 1
  std::erase_if(candidates_, [&](const Candidate& candidate) { return candidate.weight / total < threshold; });
}

// Keeps the ids whose information is nearest to the entropy, until they hold `typical_p` of the probability; ties with the last one stay.
void Sampler::keep_typical_p() {
  const double total = total_weight(), log_total = std::log(total);
  double best = kMinusInfinity;
  for (const Candidate& candidate : candidates_) best = std::max(best, candidate.score);
  double entropy = 0;
  for (const Candidate& candidate : candidates_) entropy -= candidate.weight / total * (candidate.score - best - log_total);
  const auto distance = [&](const Candidate& candidate) { return std::abs(-(candidate.score - best - log_total) - entropy); };
  order_ = candidates_;
  for (Candidate& candidate : order_) {
    candidate.weight /= total;
    candidate.score = distance(candidate);
  }
  const auto nearer = [](const Candidate& a, const Candidate& b) { return a.score != b.score ? a.score < b.score : a.id < b.id; };
  const size_t last = std::min(count_prefix(order_, 0, nearer, [&](double sum) { return sum < params_.typical_p; }), order_.size() - 1);
  std::nth_element(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(last), order_.end(), nearer);
  const double threshold = order_[last].score;
  std::erase_if(candidates_, [&](const Candidate& candidate) { return distance(candidate) > threshold; });
  weigh();  // the best score may be gone
}

// The chain up to the weights that are drawn from: in `weights_` where nothing is truncated, else in `candidates_`.
Status Sampler::choose_weights(LogitsView logits, const SampleContext& context) {
  PTERON_TRY(score(logits, context));
  if (params_.temperature != 1) {
    for (double& score : scores_) score /= params_.temperature;
  }
  if (truncates()) return choose_candidates();
  const double best = *std::max_element(scores_.begin(), scores_.end());
  if (best == kMinusInfinity) return bad_logits("nothing left to choose from");
  for (size_t i = 0; i < vocab_size_; ++i) weights_[i] = exp_nonpositive(scores_[i] - best);
  return {};
}

Status Sampler::choose_candidates() {
  const double threshold = top_k_threshold();
  candidates_.clear();
  for (size_t i = 0; i < vocab_size_; ++i) {
    if (scores_[i] >= threshold && scores_[i] != kMinusInfinity) candidates_.push_back({scores_[i], 0, static_cast<TokenId>(i)});
  }
  if (candidates_.empty()) return bad_logits("nothing left to choose from");
  weigh();
  if (params_.top_p < 1) keep_top_p();
  if (params_.min_p > 0) keep_min_p();
  if (params_.typical_p < 1) keep_typical_p();
  return {};
}

Result<TokenId> Sampler::sample(LogitsView logits, const SampleContext& context) {
  if (params_.temperature == 0) return greedy(logits, context);
  PTERON_TRY(choose_weights(logits, context));
  const double uniform = random_.uniform();
  if (!truncates()) {
    double total = 0;
    for (const double weight : weights_) total += weight;
    return static_cast<TokenId>(pick(weights_, uniform * total, [](double weight) { return weight; }));
  }
  const size_t chosen = pick(candidates_, uniform * total_weight(), [](const Candidate& candidate) { return candidate.weight; });
  return candidates_[chosen].id;
}

Result<std::vector<double>> Sampler::probabilities(LogitsView logits, const SampleContext& context) {
  std::vector<double> dense(vocab_size_);
  if (params_.temperature == 0) {
    PTERON_ASSIGN(const TokenId best, greedy(logits, context));
    dense[static_cast<size_t>(best)] = 1;
    return dense;
  }
  PTERON_TRY(choose_weights(logits, context));
  if (truncates()) {
    for (const Candidate& candidate : candidates_) dense[static_cast<size_t>(candidate.id)] = candidate.weight;
  } else {
    dense = weights_;
  }
  double total = 0;
  for (const double weight : dense) total += weight;
  for (double& weight : dense) weight /= total;
  return dense;
}

size_t token_logprobs(LogitsView logits, TokenId token, double* logprob, std::span<TokenLogprob> top) {
  const float best = *std::max_element(logits.begin(), logits.end());
  double total = 0;
  for (const float value : logits) total += exp_nonpositive(static_cast<double>(value) - best);
  const double log_total = std::log(total) + best;
  *logprob = logits[static_cast<size_t>(token)] - log_total;
  // The best so far, best first; equal ones keep the order of their ids.
  size_t filled = 0;
  for (size_t i = 0; i < logits.size() && !top.empty(); ++i) {
    const double value = logits[i] - log_total;
    if (filled == top.size() && !(value > top[filled - 1].logprob)) continue;
    size_t at = filled < top.size() ? filled++ : filled - 1;
    for (; at > 0 && top[at - 1].logprob < value; --at) top[at] = top[at - 1];
    top[at] = {static_cast<TokenId>(i), value};
  }
  return filled;
}

}  // namespace pteron::llm
