#include "text/unigram.h"

#include <algorithm>

#include "text/unicode.h"

namespace pteron::text {

void UnigramRun::reach(size_t end, size_t from, uint32_t id, double score) {
  Node& node = nodes_[end];
  if (node.from != kNoId && !(score > node.score)) return;
  node = {score, id, static_cast<uint32_t>(from)};
}

Status UnigramRun::encode_new_word(std::string_view piece, std::vector<int32_t>& out) {
  if (piece.size() >= kNoId) return Status::error(Code::out_of_capacity, "text too long");
  const uint32_t unknown = table_.header().model_unk;
  nodes_.assign(piece.size() + 1, {});
  for (size_t from = 0; from < piece.size();) {
    const size_t size = utf8_at(piece, from).size;
    const double score = nodes_[from].score;
    bool one_character = false;
    uint32_t node = trie_.empty() ? TrieView::kDead : TrieView::kRoot;
    for (size_t end = from; node != TrieView::kDead && end < piece.size();) {
      node = trie_.child(node, static_cast<unsigned char>(piece[end]));
      ++end;
      if (node == TrieView::kDead) break;
      const int32_t id = trie_.value(node);
      if (id < 0) continue;
      reach(end, from, static_cast<uint32_t>(id), score + table_.score(static_cast<uint32_t>(id)));
      if (end - from == size) one_character = true;
    }
    if (!one_character) reach(from + size, from, unknown, score + table_.header().unknown_score);
    from += size;
  }
  // Backwards from the end; neighbouring unknown characters are one.
  cuts_.clear();
  cuts_.push_back(static_cast<uint32_t>(piece.size()));
  uint32_t end = static_cast<uint32_t>(piece.size());
  bool after_unknown = false;
  while (end > 0) {
    const Node& node = nodes_[end];
    if (node.from >= end) return Status::error(Code::invalid_data, "broken tokenizer table", {.field = "model_trie"});
    const bool is_unknown = node.id == unknown;
    if (is_unknown && after_unknown && table_.has(kFuseUnknown)) {
      cuts_.back() = node.from;
    } else {
      cuts_.push_back(node.from);
    }
    after_unknown = is_unknown;
    end = node.from;
  }
  for (size_t i = cuts_.size() - 1; i > 0; --i) PTERON_TRY(append_token(piece.substr(cuts_[i], cuts_[i - 1] - cuts_[i]), out));
  return {};
}

Status UnigramRun::append_token(std::string_view text, std::vector<int32_t>& out) {
  if (const uint32_t id = table_.find(text); id != kNoId) {
    out.push_back(static_cast<int32_t>(id));
    return {};
  }
  const auto byte_id = [&](char c) { return table_.byte_id(static_cast<unsigned char>(c)); };
  if (table_.has(kByteFallback) && std::all_of(text.begin(), text.end(), [&](char c) { return byte_id(c) != kNoId; })) {
    for (const char c : text) out.push_back(static_cast<int32_t>(byte_id(c)));
    return {};
  }
  if (table_.header().model_unk == kNoId) {
    lost_bytes_ += text.size();
  } else {
    out.push_back(static_cast<int32_t>(table_.header().model_unk));
  }
  return {};
}

}  // namespace pteron::text
