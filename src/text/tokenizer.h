// Text to token ids and back, from a compiled table that is used in place.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"

namespace pteron {
using TokenId = int32_t;
}

namespace pteron::text {

class TokenizerImpl;
class DecodePipeline;

struct EncodeOptions {
  bool parse_special = false;  // special tokens written in the text become their ids; else they are plain text
  bool add_special = false;    // add what the file's post-processor adds around a text (beginning and end tokens)
};

struct DecodeOptions {
  bool skip_special = false;  // leave special tokens out of the text
};

// Decodes ids one by one. What all pushes and the final flush return is, joined, exactly what `Tokenizer::decode` gives.
class DecodeStream {
 public:
  DecodeStream(DecodeStream&&) noexcept;
  DecodeStream& operator=(DecodeStream&&) noexcept;
  ~DecodeStream();

  // The text that is certain after this id: whole characters only. Empty while a character or a run of byte tokens is open, and while the
  // text so far ends in U+FFFD.
  std::string push(TokenId id);
  // The rest: unfinished characters become U+FFFD. The stream is as new afterwards.
  std::string flush();

 private:
  friend class Tokenizer;
  explicit DecodeStream(std::unique_ptr<DecodePipeline> pipeline);
  std::unique_ptr<DecodePipeline> pipeline_;
};

// A tokenizer over a table of `compile_tokenizer_json` or `compile_gguf_vocabulary`. Cheap to copy; const use from any number of threads.
class Tokenizer {
 public:
  // Checks the table's frame and keeps pointing into it: the bytes must outlive the tokenizer, its copies and streams. Any bytes are
  // safe to pass: what the frame check does not cover is checked where it is read.
  static Result<Tokenizer> from_table(ByteSpan table);

  // The ids of a text. Errors: text that is not UTF-8 (invalid_argument, with the offset), a pattern that needs too many steps (out_of_capacity).
  Result<std::vector<TokenId>> encode(std::string_view text, EncodeOptions options = {}) const;
  // How many bytes of the text have no token and vanish in `encode` (vocabularies without all bytes and without an unknown token).
  Result<size_t> lost_bytes(std::string_view text, EncodeOptions options = {}) const;

  // The text of any ids; ids without a token are left out, invalid UTF-8 becomes U+FFFD.
  Result<std::string> decode(std::span<const TokenId> ids, DecodeOptions options = {}) const;
  DecodeStream stream(DecodeOptions options = {}) const;

  // One more than the highest id. There may be ids below it that have no token.
  size_t size() const;
  // The token as the vocabulary writes it ("Ġthe", "▁the", "<0x0A>"); empty for an id without a token. Points into the table.
  std::string_view piece(TokenId id) const;
  // The bytes that the token stands for within a text ("Ġthe" -> " the", "<0x0A>" -> "\n"), which need not be valid UTF-8.
  std::string piece_bytes(TokenId id) const;
  // The id of a token as `piece` spells it, or -1.
  TokenId token_to_id(std::string_view piece) const;

  // -1 where the file names none.
  TokenId bos_id() const;
  TokenId eos_id() const;
  TokenId unk_id() const;
  TokenId pad_id() const;
  bool is_special(TokenId id) const;  // marked special: dropped by skip_special, parsed only on request
  bool is_added(TokenId id) const;    // found in the text before the model sees it
  // What `add_special` puts before and after a text.
  std::vector<TokenId> prefix_ids() const;
  std::vector<TokenId> suffix_ids() const;

 private:
  explicit Tokenizer(std::shared_ptr<const TokenizerImpl> impl);
  std::shared_ptr<const TokenizerImpl> impl_;
};

}  // namespace pteron::text
