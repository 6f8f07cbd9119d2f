#include "llm/generate.h"

#include <algorithm>

#include "llm/lookup.h"
#include "llm/stop_strings.h"
#include "text/tokenizer.h"

namespace pteron {

std::string_view finish_reason_name(FinishReason reason) {
  switch (reason) {
    case FinishReason::stop: return "stop";
    case FinishReason::length: return "length";
    case FinishReason::context: return "context";
    case FinishReason::cancelled: return "cancelled";
  }
  return "";
}

}  // namespace pteron

namespace pteron::llm {
namespace {

using Clock = std::chrono::steady_clock;

bool contains(const std::vector<TokenId>& ids, TokenId id) { return std::find(ids.begin(), ids.end(), id) != ids.end(); }

// Gives the logits after each token of the generation in turn: one token a call, or several that were guessed right.
class Stepper {
 public:
  Stepper(Session& session, const GenerateOptions& options) : session_(session), options_(options) {}

  // The logits that the first token is chosen from. Cancelled, it leaves the session as it was.
  Result<LogitsView> start() {
    if (const auto pending = session_.pending(); pending) {
      auto logits = session_.append(std::span(&*pending, 1));
      if (logits.code() == Code::cancelled) session_.set_pending(pending);
      return logits;
    }
    if (!session_.logits().empty()) return session_.logits();
    return Status::error(Code::invalid_argument, "there are no logits to continue from", {"", "session", "appended tokens", "none since the last reset or rewind"});
  }

  // The logits after `token`. `text` is everything so far, `token` last; `wanted` is how many more tokens may be chosen.
  Result<LogitsView> next(TokenId token, std::span<const TokenId> text, size_t wanted) {
    if (row_ + 1 < guess_.size() && guess_[row_ + 1] == token) {
      ++accepted_;
      return session_.speculated_logits(++row_);
    }
    PTERON_TRY(settle());
    const size_t rows = options_.lookup == 0 ? 0 : session_.speculation_rows();
    if (rows >= 2) {
      const auto draft = lookup_draft(text, options_.lookup_ngram, std::min({options_.lookup, rows - 1, wanted - 1}));
      if (!draft.empty()) return guess(token, draft);
    }
    return session_.append(std::span(&token, 1));
  }

  // Commits what was guessed right, so that the session stands where the generation does.
  Status settle() {
    if (guess_.empty()) return {};
    const size_t right = row_ + 1;
    guess_.clear();
    row_ = 0;
    return session_.accept(right);
  }

  size_t drafted() const { return drafted_; }
  size_t accepted() const { return accepted_; }

 private:
  Result<LogitsView> guess(TokenId token, std::span<const TokenId> draft) {
    guess_.assign(1, token);
    guess_.insert(guess_.end(), draft.begin(), draft.end());
    drafted_ += draft.size();
    row_ = 0;
    const Status status = session_.speculate(guess_);
    if (!status.ok()) {
      guess_.clear();
      return status;
    }
    return session_.speculated_logits(0);
  }

  Session& session_;
  const GenerateOptions& options_;
  std::vector<TokenId> guess_;  // the tokens of the last speculative call
  size_t row_ = 0;              // the row of it that was read last
  size_t drafted_ = 0, accepted_ = 0;
};

class Loop {
 public:
  Loop(Session& session, const text::Tokenizer* tokenizer, const GenerateOptions& options, const OnToken& on_token)
      : session_(session), options_(options), on_token_(on_token), stepper_(session, options), stops_(options.stop_strings) {
    if (tokenizer != nullptr) decoder_.emplace(tokenizer->stream({.skip_special = options.skip_special}));
    ends_ = options.eos_tokens;
    ends_.insert(ends_.end(), options.stop_tokens.begin(), options.stop_tokens.end());
  }

  Result<Generation> run() {
    PTERON_TRY(prepare());
    if (options_.max_tokens == 0) return std::move(out_);
    const Clock::time_point begin = Clock::now();
    Clock::time_point first = begin;
    auto logits = stepper_.start();
    if (logits.ok()) {
      prompt_ = session_.tokens().size();
      text_.reserve(prompt_ + most_);
      text_.assign(session_.tokens().begin(), session_.tokens().end());
    }
    while (logits.ok() && !cancelled()) {
      PTERON_ASSIGN(const TokenId token, choose(*logits));
      if (out_.tokens.size() == 1) first = Clock::now();
      if (take(token) || cancelled() || over_time(begin)) break;
      logits = stepper_.next(token, text_, most_ - out_.tokens.size());
    }
    if (logits.code() == Code::cancelled) {
      finish(FinishReason::cancelled);
    } else if (!logits.ok()) {
      return std::move(logits).status();
    }
    PTERON_TRY(stepper_.settle());
    if (!out_.tokens.empty()) session_.set_pending(out_.tokens.back());
    flush();
    out_.first_token = first - begin;
    out_.decode = Clock::now() - first;
    out_.drafted = stepper_.drafted();
    out_.accepted = stepper_.accepted();
    return std::move(out_);
  }

 private:
  Status prepare() {
    auto sampler = Sampler::create(options_.sampler, session_.vocab_size());
    if (!sampler.ok()) return std::move(sampler).status();
    sampler_.emplace(std::move(*sampler));
    if (!decoder_ && !options_.stop_strings.empty()) {
      return Status::error(Code::invalid_argument, "stop strings need a tokenizer", {"", "stop_strings", "none", std::to_string(options_.stop_strings.size())});
    }
    if (session_.pending() && session_.position() == session_.capacity()) {
      return Status::error(Code::out_of_capacity, "the context is full",
                           {"", "tokens", "below " + std::to_string(session_.capacity()), std::to_string(session_.position())});
    }
    // At the end of the context one more token can be chosen, which stays pending.
    const size_t room = session_.capacity() - session_.position() + (session_.pending() ? 0 : 1);
    most_ = std::min(options_.max_tokens, room);
    out_.tokens.reserve(most_);
    if (options_.want_logprobs) {
      out_.logprobs.reserve(most_);
      top_.resize(std::min(options_.logprobs, session_.vocab_size()));
    }
    return {};
  }

  Result<TokenId> choose(LogitsView logits) {
    SampleContext context;
    context.prompt = std::span<const TokenId>(text_).first(prompt_);
    context.generated = out_.tokens;
    if (out_.tokens.size() < options_.min_tokens) context.banned = ends_;
    PTERON_ASSIGN(const TokenId token, sampler_->sample(logits, context));
    if (options_.want_logprobs) {
      double logprob = 0;
      top_filled_ = token_logprobs(logits, token, &logprob, top_);
      out_.logprobs.push_back(logprob);
      out_.top_logprobs.emplace_back(top_.begin(), top_.begin() + static_cast<std::ptrdiff_t>(top_filled_));
    }
    out_.tokens.push_back(token);
    text_.push_back(token);
    return token;
  }

  // Reports a chosen token; true if it ends the generation.
  bool take(TokenId token) {
    if (contains(ends_, token)) {
      out_.stop_token = token;
      report(token, {});
      finish(FinishReason::stop);
      return true;
    }
    piece_.clear();
    const bool stopped = decoder_ && stops_.push(decoder_->push(token), piece_);
    const Flow flow = report(token, piece_);
    if (stopped) {
      out_.stop_sequence = stops_.matched();
      finish(FinishReason::stop);
    } else if (flow == Flow::stop) {
      finish(FinishReason::cancelled);
    } else if (out_.tokens.size() == most_) {
      finish(most_ == options_.max_tokens ? FinishReason::length : FinishReason::context);
    } else {
      return false;
    }
    return true;
  }

  Flow report(std::optional<TokenId> token, std::string_view text) {
    out_.text += text;
    if (!on_token_) return Flow::go_on;
    const double logprob = token && options_.want_logprobs ? out_.logprobs.back() : 0;
    return on_token_({token, text, logprob, std::span<const TokenLogprob>(top_).first(token ? top_filled_ : 0)});
  }

  bool cancelled() {
    if (!session_.take_cancel()) return false;
    finish(FinishReason::cancelled);
    return true;
  }

  bool over_time(Clock::time_point begin) {
    if (options_.time_limit.count() == 0 || Clock::now() - begin < options_.time_limit) return false;
    finish(FinishReason::length);
    return true;
  }

  void finish(FinishReason reason) { out_.finish_reason = reason; }

  // Text that was held back, unless it lies behind a stop string.
  void flush() {
    if (!decoder_ || !stops_.matched().empty()) return;
    piece_.clear();
    if (stops_.push(decoder_->flush(), piece_)) {
      out_.stop_sequence = stops_.matched();
      finish(FinishReason::stop);
    } else {
      stops_.flush(piece_);
    }
    if (!piece_.empty()) report(std::nullopt, piece_);
  }

  Session& session_;
  const GenerateOptions& options_;
  const OnToken& on_token_;
  Stepper stepper_;
  StopStrings stops_;
  std::optional<text::DecodeStream> decoder_;
  std::optional<Sampler> sampler_;
  std::vector<TokenId> ends_;
  std::vector<TokenId> text_;   // prompt and generated tokens
  size_t prompt_ = 0, most_ = 0;
  std::vector<TokenLogprob> top_;
  size_t top_filled_ = 0;
  std::string piece_;
  Generation out_;
};

}  // namespace

Result<Generation> generate(Session& session, const text::Tokenizer* tokenizer, const GenerateOptions& options, const OnToken& on_token) {
  return Loop(session, tokenizer, options, on_token).run();
}

}  // namespace pteron::llm
