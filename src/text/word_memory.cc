#include "text/word_memory.h"

#include <algorithm>
#include <bit>

#include "text/token_table.h"

namespace pteron::text {
namespace {

constexpr size_t kMinText = 256;
constexpr size_t kMaxEntries = size_t{1} << 14;
constexpr size_t kMaxWord = 64;                    // longer words hardly come twice
constexpr size_t kMaxPool = size_t{64} << 20;      // bytes of words kept in all

}  // namespace

WordMemory::WordMemory(size_t text_size) {
  if (text_size >= kMinText) entries_.resize(std::min(std::bit_ceil(text_size / 16), kMaxEntries));
}

bool WordMemory::recall(std::string_view word, std::vector<int32_t>& out, size_t& lost_bytes) const {
  if (entries_.empty() || word.size() > kMaxWord) return false;
  const uint64_t hash = hash_bytes(word);
  const Entry& entry = entries_[index(hash)];
  if (entry.hash != hash || entry.word_size != word.size() || std::string_view(words_).substr(entry.word, entry.word_size) != word) return false;
  out.insert(out.end(), tokens_.begin() + entry.tokens, tokens_.begin() + entry.tokens + entry.token_count);
  lost_bytes += entry.lost_bytes;
  return true;
}

void WordMemory::keep(std::string_view word, const std::vector<int32_t>& out, size_t first, size_t lost_bytes) {
  if (entries_.empty() || word.size() > kMaxWord || words_.size() > kMaxPool) return;
  const uint64_t hash = hash_bytes(word);
  entries_[index(hash)] = {hash, static_cast<uint32_t>(words_.size()), static_cast<uint32_t>(word.size()), static_cast<uint32_t>(tokens_.size()),
                           static_cast<uint32_t>(out.size() - first), static_cast<uint32_t>(lost_bytes)};
  words_ += word;
  tokens_.insert(tokens_.end(), out.begin() + static_cast<ptrdiff_t>(first), out.end());
}

}  // namespace pteron::text
