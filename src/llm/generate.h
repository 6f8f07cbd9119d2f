// The generation loop: sampling, stop rules, limits and streaming over a session.
#pragma once

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

// Continues the session: from its logits, or by feeding its pending token first. The last token stays pending. The session's tokens
// are the prompt that penalties and lookup see. `tokenizer` may be null: then there is no text, and stop strings are an error.
Result<Generation> generate(Session& session, const text::Tokenizer* tokenizer, const GenerateOptions& options, const OnToken& on_token = {});

}  // namespace pteron::llm
