// Byte-pair encoding: over bytes (byte-level vocabularies) or characters with byte fallback (SentencePiece's).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/token_model.h"

namespace pteron::text {

class BpeRun final : public ModelRun {
 public:
  BpeRun(const TokenTable& table, size_t text_size);
  Status encode(std::string_view piece, std::vector<int32_t>& out) override;

 private:
  struct Symbol {
    uint32_t id;
    uint32_t rank;        // of the merge with the next symbol, kNoId if there is none
    uint32_t result;      // of that merge
    int32_t previous, next;
  };
  Status encode_new_word(std::string_view word, std::vector<int32_t>& out) override;
  void begin_with_bytes(std::string_view word);
  void begin_with_characters(std::string_view word);
  void merge_short();
  void merge_long(std::vector<int32_t>& out);

  const TokenTable& table_;
  const bool raw_, fuse_unknown_, ignore_merges_, fallback_;
  std::string_view prefix_, suffix_;
  std::string boundary_;         // the character no merge crosses the border before; empty: words are not cut
  uint32_t character_ids_[128];  // of ASCII characters (or all bytes, in `byte_ids_`)
  uint32_t byte_ids_[256];
  std::vector<uint32_t> ids_;    // the word as it is merged
  std::vector<Merge> pairs_;     // of each symbol with the next
  std::vector<Symbol> symbols_;
  std::vector<uint64_t> queue_;
  std::string mapped_;
};

}  // namespace pteron::text
