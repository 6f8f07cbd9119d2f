// The words that one run has seen, with their tokens: most of a text is words that came before.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pteron::text {

class WordMemory {
 public:
  // Room for a text of about that size; short texts, which repeat too few words, get none.
  explicit WordMemory(size_t text_size);

  bool enabled() const { return !entries_.empty(); }
  // Appends the tokens of a word and adds the bytes that had none; false if it is not known.
  bool recall(std::string_view word, std::vector<int32_t>& out, size_t& lost_bytes) const;
  // Keeps a word's tokens (the last ones of `out`, from `first`), in place of an older word's.
  void keep(std::string_view word, const std::vector<int32_t>& out, size_t first, size_t lost_bytes);

 private:
  struct Entry {
    uint64_t hash = 0;
    uint32_t word = 0, word_size = 0;  // in `words_`
    uint32_t tokens = 0, token_count = 0;  // in `tokens_`
    uint32_t lost_bytes = 0;
  };
  size_t index(uint64_t hash) const { return hash >> 32 & (entries_.size() - 1); }
  std::vector<Entry> entries_;  // a power of two, by hash
  std::string words_;
  std::vector<int32_t> tokens_;
};

}  // namespace pteron::text
