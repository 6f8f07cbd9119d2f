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

}  // namespace

class TokenStream::Impl {
 public:
  Impl(Session& session, const text::Tokenizer* tokenizer, GenerateOptions options)
      : session_(session), options_(std::move(options)), stepper_(session, options_), stops_(options_.stop_strings) {
    if (tokenizer != nullptr) decoder_.emplace(tokenizer->stream({.skip_special = options_.skip_special}));
    ends_ = options_.eos_tokens;
    ends_.insert(ends_.end(), options_.stop_tokens.begin(), options_.stop_tokens.end());
  }
  Impl(const Impl&) = delete;  // parts point at each other
  Impl& operator=(const Impl&) = delete;

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
    ended_ = most_ == 0;
    out_.tokens.reserve(most_);
    if (options_.want_logprobs) {
      out_.logprobs.reserve(most_);
      top_.resize(std::min(options_.logprobs, session_.vocab_size()));
    }
    begin_ = first_ = last_ = Clock::now();
    return {};
  }

  Result<std::optional<TokenEvent>> next() {
    if (!ended_ && session_.take_cancel()) end(FinishReason::cancelled);
    if (!ended_ && over_time()) end(FinishReason::length);
    if (ended_) return held_back();
    const auto logits = step();
    if (logits.code() == Code::cancelled) {
      end(FinishReason::cancelled);
      return held_back();
    }
    if (!logits.ok()) return fail(logits.status());
    const auto token = choose(*logits);
    if (!token.ok()) return fail(token.status());
    last_ = Clock::now();
    if (out_.tokens.size() == 1) first_ = last_;
    return take(*token);
  }

  void stop() {
    if (!ended_) end(FinishReason::cancelled);
  }

  Result<Generation> finish() {
    if (!ended_) session_.take_cancel();  // it was meant for this generation
    stop();
    PTERON_TRY(stepper_.settle());
    if (!out_.tokens.empty()) session_.set_pending(out_.tokens.back());
    out_.first_token = first_ - begin_;
    out_.decode = last_ - first_;
    out_.drafted = stepper_.drafted();
    out_.accepted = stepper_.accepted();
    return std::move(out_);
  }

 private:
  // The logits that the next token is chosen from.
  Result<LogitsView> step() {
    if (!out_.tokens.empty()) return stepper_.next(out_.tokens.back(), text_, most_ - out_.tokens.size());
    auto logits = stepper_.start();
    if (logits.ok()) {
      prompt_ = session_.tokens().size();
      text_.reserve(prompt_ + most_);
      text_.assign(session_.tokens().begin(), session_.tokens().end());
    }
    return logits;
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

  // What a chosen token brings; sees whether it ends the generation.
  std::optional<TokenEvent> take(TokenId token) {
    piece_.clear();
    if (contains(ends_, token)) {
      out_.stop_token = token;
      end(FinishReason::stop);
    } else if (decoder_ && stops_.push(decoder_->push(token), piece_)) {
      out_.stop_sequence = stops_.matched();
      end(FinishReason::stop);
    } else if (out_.tokens.size() == most_) {
      end(most_ == options_.max_tokens ? FinishReason::length : FinishReason::context);
    }
    out_.text += piece_;
    const double logprob = options_.want_logprobs ? out_.logprobs.back() : 0;
    return TokenEvent{token, piece_, logprob, std::span<const TokenLogprob>(top_).first(top_filled_)};
  }

  // After the end: text that was held back, unless it lies behind a stop string; then nothing.
  std::optional<TokenEvent> held_back() {
    if (flushed_ || !decoder_ || !stops_.matched().empty()) return std::nullopt;
    flushed_ = true;
    piece_.clear();
    if (stops_.push(decoder_->flush(), piece_)) {
      out_.stop_sequence = stops_.matched();
      end(FinishReason::stop);
    } else {
      stops_.flush(piece_);
    }
    if (piece_.empty()) return std::nullopt;
    out_.text += piece_;
    return TokenEvent{std::nullopt, piece_, 0, {}};
  }

  bool over_time() const { return options_.time_limit.count() != 0 && !out_.tokens.empty() && Clock::now() - begin_ >= options_.time_limit; }

  void end(FinishReason reason) {
    ended_ = true;
    out_.finish_reason = reason;
  }

  Status fail(const Status& status) {
    ended_ = flushed_ = true;
    return status;
  }

  Session& session_;
  const GenerateOptions options_;
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
  bool ended_ = false, flushed_ = false;
  Clock::time_point begin_, first_, last_;
  Generation out_;
};

TokenStream::TokenStream(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TokenStream::TokenStream(TokenStream&&) noexcept = default;
TokenStream& TokenStream::operator=(TokenStream&&) noexcept = default;
TokenStream::~TokenStream() = default;

Result<TokenStream> TokenStream::create(Session& session, const text::Tokenizer* tokenizer, GenerateOptions options) {
  auto impl = std::make_unique<Impl>(session, tokenizer, std::move(options));
  PTERON_TRY(impl->prepare());
  return TokenStream(std::move(impl));
}

Result<std::optional<TokenEvent>> TokenStream::next() { return impl_->next(); }
void TokenStream::stop() { impl_->stop(); }
Result<Generation> TokenStream::finish() { return impl_->finish(); }

Result<Generation> generate(Session& session, const text::Tokenizer* tokenizer, const GenerateOptions& options, const OnToken& on_token) {
  PTERON_ASSIGN(TokenStream stream, TokenStream::create(session, tokenizer, options));
  for (;;) {
    PTERON_ASSIGN(const auto event, stream.next());
    if (!event) return stream.finish();
    if (on_token && on_token(*event) == Flow::stop) stream.stop();
  }
}

}  // namespace pteron::llm
