// The generation loop: sampling, stop rules, limits and streaming over a session.
#pragma once

#include <memory>
#include <optional>

#include "base/status.h"
#include "llm/sampler.h"
#include "llm/session.h"

namespace pteron::text {
class Tokenizer;
}

namespace pteron::llm {

using pteron::FinishReason;
using pteron::finish_reason_name;
using pteron::Flow;
using pteron::GenerateOptions;
using pteron::Generation;
using pteron::OnToken;
using pteron::TokenEvent;

// A generation step by step. It continues the session from its logits, or by feeding its pending token first; the last token stays pending. The session's
// tokens are the prompt that penalties and lookup see. The session must outlive the stream, stay where it is, and not be changed before `finish`.
class TokenStream {
 public:
  // `tokenizer` may be null: then there is no text, and stop strings are an error.
  static Result<TokenStream> create(Session& session, const text::Tokenizer* tokenizer, GenerateOptions options);
  TokenStream(TokenStream&&) noexcept;
  TokenStream& operator=(TokenStream&&) noexcept;
  ~TokenStream();

  // Chooses the next token, or brings text that was held back; nothing once it has ended. What the event points to is valid until the next call.
  Result<std::optional<TokenEvent>> next();
  // Ends it here as `cancelled`, if it has not ended yet; `next` then brings only what was held back.
  void stop();
  // Ends it here likewise, brings the session to where the generation stands, and gives all that `next` has given. Called once, last.
  Result<Generation> finish();

 private:
  class Impl;
  explicit TokenStream(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// A whole generation; `on_token` hears of each event and may stop it.
Result<Generation> generate(Session& session, const text::Tokenizer* tokenizer, const GenerateOptions& options, const OnToken& on_token = {});

}  // namespace pteron::llm
