#include "text/bpe.h"

#include <algorithm>
#include <functional>

#include "text/byte_level.h"
#include "text/unicode.h"

namespace pteron::text {
namespace {

constexpr size_t kShortWord = 40;          // symbols up to which looking through all pairs beats a queue

}  // namespace

BpeRun::BpeRun(const TokenTable& table, size_t text_size)
    : ModelRun(text_size), table_(table), raw_(table.has(kRawBytes)), fuse_unknown_(table.has(kFuseUnknown)), ignore_merges_(table.has(kIgnoreMerges)),
      fallback_(table.has(kByteFallback)), prefix_(table.subword_prefix()), suffix_(table.word_suffix()) {
  for (unsigned byte = 0; byte < 256; ++byte) byte_ids_[byte] = table.byte_id(static_cast<unsigned char>(byte));
  for (unsigned c = 0; c < 128 && !raw_; ++c) {
    const char text = static_cast<char>(c);
    character_ids_[c] = memory_.enabled() ? table.find({&text, 1}) : kNoId;
  }
  if (table.header().boundary != 0 && !raw_ && !ignore_merges_) append_utf8(boundary_, static_cast<char32_t>(table.header().boundary));
}

Status BpeRun::encode(std::string_view piece, std::vector<int32_t>& out) {
  if (boundary_.empty()) return encode_word(piece, out);
  size_t begin = 0;
  for (size_t at = piece.find(boundary_, 1); at != std::string_view::npos; at = piece.find(boundary_, at + 1)) {
    if (table_.is_glue(utf8_before(piece, at).code)) continue;
    PTERON_TRY(encode_word(piece.substr(begin, at - begin), out));
    begin = at;
  }
  return encode_word(piece.substr(begin), out);
}

Status BpeRun::encode_new_word(std::string_view word, std::vector<int32_t>& out) {
  if (ignore_merges_) {
    std::string_view text = word;
    if (raw_) {
      mapped_.clear();
      append_byte_characters(mapped_, word);
      text = mapped_;
    }
    if (const uint32_t id = table_.find(text); id != kNoId) {
      out.push_back(static_cast<int32_t>(id));
      return {};
    }
  }
  ids_.clear();
  if (raw_) {
    begin_with_bytes(word);
  } else {
    begin_with_characters(word);
  }
  if (ids_.size() > kShortWord) {
    merge_long(out);
    return {};
  }
  merge_short();
  for (const uint32_t id : ids_) out.push_back(static_cast<int32_t>(id));
  return {};
}

void BpeRun::begin_with_bytes(std::string_view word) {
  const uint32_t unknown = table_.header().model_unk;
  bool after_unknown = false;
  for (const char c : word) {
    uint32_t id = byte_ids_[static_cast<unsigned char>(c)];
    const bool is_unknown = id == kNoId;
    if (is_unknown && unknown == kNoId) {
      ++lost_bytes_;
      continue;
    }
    if (is_unknown) id = unknown;
    if (!is_unknown || !after_unknown || !fuse_unknown_) ids_.push_back(id);
    after_unknown = is_unknown;
  }
}

void BpeRun::begin_with_characters(std::string_view word) {
  const uint32_t unknown = table_.header().model_unk;
  bool after_unknown = false;
  std::string decorated;
  for (size_t i = 0; i < word.size();) {
    const size_t size = utf8_at(word, i).size;
    std::string_view character = word.substr(i, size);
    const bool first = i == 0, last = i + size == word.size();
    i += size;
    if ((!first && !prefix_.empty()) || (last && !suffix_.empty())) {
      decorated.clear();
      if (!first) decorated += prefix_;
      decorated += character;
      if (last) decorated += suffix_;
      character = decorated;
    }
    const bool plain_ascii = character.size() == 1 && static_cast<unsigned char>(character[0]) < 128;
    uint32_t id = plain_ascii && memory_.enabled() ? character_ids_[static_cast<unsigned char>(character[0])] : table_.find(character);
    if (id != kNoId) {
      ids_.push_back(id);
      after_unknown = false;
      continue;
    }
    if (fallback_ && std::all_of(character.begin(), character.end(), [&](char c) { return byte_ids_[static_cast<unsigned char>(c)] != kNoId; })) {
      for (const char c : character) ids_.push_back(byte_ids_[static_cast<unsigned char>(c)]);
      after_unknown = false;
      continue;
    }
    if (unknown == kNoId) {
      lost_bytes_ += size;
      continue;
    }
    if (!after_unknown || !fuse_unknown_) ids_.push_back(unknown);
    after_unknown = true;
  }
}

// Always the pair with the lowest rank, the leftmost of equals.
void BpeRun::merge_short() {
  if (ids_.size() < 2) return;
  pairs_.clear();
  for (size_t i = 0; i + 1 < ids_.size(); ++i) pairs_.push_back(table_.merge(ids_[i], ids_[i + 1]));
  for (;;) {
    size_t best = 0;
    for (size_t i = 1; i < pairs_.size(); ++i) {
      if (pairs_[i].rank < pairs_[best].rank) best = i;
    }
    if (pairs_.empty() || pairs_[best].rank == kNoId) return;
    ids_[best] = pairs_[best].result;
    ids_.erase(ids_.begin() + static_cast<ptrdiff_t>(best) + 1);
    pairs_.erase(pairs_.begin() + static_cast<ptrdiff_t>(best));
    if (best < pairs_.size()) pairs_[best] = table_.merge(ids_[best], ids_[best + 1]);
    if (best > 0) pairs_[best - 1] = table_.merge(ids_[best - 1], ids_[best]);
  }
}

// The same with a linked list and a queue of (rank, position); entries that a later merge made stale are passed over.
void BpeRun::merge_long(std::vector<int32_t>& out) {
  const auto count = static_cast<int32_t>(ids_.size());
  symbols_.resize(ids_.size());
  queue_.clear();
  for (int32_t i = 0; i < count; ++i) {
    const auto at = static_cast<size_t>(i);
    const Merge merge = i + 1 < count ? table_.merge(ids_[at], ids_[at + 1]) : Merge{};
    symbols_[at] = {ids_[at], merge.rank, merge.result, i - 1, i + 1 < count ? i + 1 : -1};
    if (merge.rank != kNoId) queue_.push_back(uint64_t{merge.rank} << 32 | static_cast<uint32_t>(i));
  }
  const auto later = std::greater<uint64_t>();
  std::make_heap(queue_.begin(), queue_.end(), later);
  const auto look = [&](int32_t i) {
    Symbol& symbol = symbols_[static_cast<size_t>(i)];
    const Merge merge = symbol.next >= 0 ? table_.merge(symbol.id, symbols_[static_cast<size_t>(symbol.next)].id) : Merge{};
    symbol.rank = merge.rank;
    symbol.result = merge.result;
    if (merge.rank == kNoId) return;
    queue_.push_back(uint64_t{merge.rank} << 32 | static_cast<uint32_t>(i));
    std::push_heap(queue_.begin(), queue_.end(), later);
  };
  while (!queue_.empty()) {
    std::pop_heap(queue_.begin(), queue_.end(), later);
    const uint64_t top = queue_.back();
    queue_.pop_back();
    const auto at = static_cast<int32_t>(top & 0xffffffff);
    Symbol& symbol = symbols_[static_cast<size_t>(at)];
    if (symbol.rank != top >> 32 || symbol.next < 0) continue;
    Symbol& taken = symbols_[static_cast<size_t>(symbol.next)];
    symbol.id = symbol.result;
    symbol.next = taken.next;
    if (taken.next >= 0) symbols_[static_cast<size_t>(taken.next)].previous = at;
    taken.rank = kNoId;
    taken.next = -1;
    look(at);
    if (symbol.previous >= 0) look(symbol.previous);
  }
  for (int32_t i = 0; i >= 0 && count > 0; i = symbols_[static_cast<size_t>(i)].next) out.push_back(static_cast<int32_t>(symbols_[static_cast<size_t>(i)].id));
}

}  // namespace pteron::text
