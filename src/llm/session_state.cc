#include "llm/session_state.h"

#include <cstring>
#include <string>

namespace pteron::llm {
namespace {

constexpr char kMagic[8] = {'P', 'T', 'S', 'E', 'S', 'S', '0', '1'};

// Fixed part of the file; little-endian, without padding.
struct Header {
  char magic[8];
  std::byte program[32];
  uint64_t tokens;
  uint64_t logits;
  int64_t pending;  // -1: none
};
static_assert(sizeof(Header) == 64);

Status broken(std::string_view field, std::string expected, std::string found) {
  return Status::error(Code::invalid_data, "not a usable session state", {"", std::string(field), std::move(expected), std::move(found)});
}

template <class T>
void read_values(ByteSpan from, size_t count, std::vector<T>& out) {
  out.resize(count);
  if (count > 0) std::memcpy(out.data(), from.data(), count * sizeof(T));
}

}  // namespace

Status write_session(const SavedSession& session, const IoManager& manager, const StateSink& sink) {
  Sha256 digest;
  const StateSink hashed = [&](ByteSpan bytes) {
    digest.update(bytes);
    return sink(bytes);
  };
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  std::memcpy(header.program, session.program.data(), session.program.size());
  header.tokens = session.tokens.size();
  header.logits = session.logits.size();
  header.pending = session.pending.value_or(-1);
  PTERON_TRY(hashed(std::as_bytes(std::span(&header, 1))));
  PTERON_TRY(hashed(std::as_bytes(std::span(session.tokens))));
  PTERON_TRY(hashed(std::as_bytes(std::span(session.logits))));
  PTERON_TRY(manager.save(session.tokens.size(), hashed));
  return sink(digest.finish());
}

Result<ReadSession> read_session(ByteSpan bytes, const Digest& program, const Limits& limits) {
  constexpr size_t kDigestBytes = sizeof(Digest);
  if (bytes.size() < sizeof(Header) + kDigestBytes) {
    return broken("size", "at least " + std::to_string(sizeof(Header) + kDigestBytes) + " bytes", std::to_string(bytes.size()));
  }
  const Header header = load_unaligned<Header>(bytes.data());
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0) return broken("magic", std::string(kMagic, sizeof kMagic), "other bytes");
  const ByteSpan body = bytes.first(bytes.size() - kDigestBytes), stored = bytes.last(kDigestBytes);
  if (const Digest actual = sha256(body); std::memcmp(actual.data(), stored.data(), kDigestBytes) != 0) {
    return broken("checksum", to_hex(stored), to_hex(actual));
  }
  if (std::memcmp(header.program, program.data(), program.size()) != 0) {
    return broken("program", to_hex(program), to_hex(ByteSpan(header.program)));
  }
  if (header.tokens > limits.context_length) return broken("tokens", "at most " + std::to_string(limits.context_length), std::to_string(header.tokens));
  if (header.logits != 0 && header.logits != limits.vocab_size) return broken("logits", std::to_string(limits.vocab_size), std::to_string(header.logits));
  const auto fits = [&](int64_t token) { return token >= 0 && static_cast<uint64_t>(token) < limits.vocab_size; };
  if (header.pending != -1 && !fits(header.pending)) return broken("pending", "a token id", std::to_string(header.pending));

  ReadSession out;
  ByteSpan rest = body.subspan(sizeof(Header));
  const size_t token_bytes = header.tokens * sizeof(TokenId), logit_bytes = header.logits * sizeof(float);
  if (rest.size() < token_bytes + logit_bytes) return broken("size", std::to_string(token_bytes + logit_bytes) + " more bytes", std::to_string(rest.size()));
  out.session.program = program;
  read_values(rest, header.tokens, out.session.tokens);
  for (const TokenId token : out.session.tokens) {
    if (!fits(token)) return broken("tokens", "ids below " + std::to_string(limits.vocab_size), std::to_string(token));
  }
  read_values(rest.subspan(token_bytes), header.logits, out.session.logits);
  if (header.pending != -1) out.session.pending = static_cast<TokenId>(header.pending);
  out.caches = rest.subspan(token_bytes + logit_bytes);
  return out;
}

}  // namespace pteron::llm
