// The file form of a session: a header, the tokens, the logits of the last one, the caches, and a digest over all of it.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/sha256.h"
#include "base/status.h"
#include "llm/io_manager.h"

namespace pteron::llm {

// What is saved beside the caches.
struct SavedSession {
  Digest program{};                 // identity of the program that the state belongs to
  std::vector<TokenId> tokens;      // committed
  std::optional<TokenId> pending;
  std::vector<float> logits;        // of the last committed token; may be empty
};

// Writes everything, the caches by `manager.save`, then the digest.
Status write_session(const SavedSession& session, const IoManager& manager, const StateSink& sink);

// Checks frame and digest, then that it is a state of `program` and fits `limits`; each mismatch is an error of its own.
// `caches` are the bytes for `IoManager::load`.
struct ReadSession {
  SavedSession session;
  ByteSpan caches;
};
Result<ReadSession> read_session(ByteSpan bytes, const Digest& program, const Limits& limits);

}  // namespace pteron::llm
