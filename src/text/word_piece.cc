#include "text/word_piece.h"

#include "text/unicode.h"

namespace pteron::text {

WordPieceRun::WordPieceRun(const TokenTable& table, size_t text_size)
    : ModelRun(text_size), table_(table), trie_(table.trie(Section::model_trie)) {
  inner_ = trie_.walk(TrieView::kRoot, table.subword_prefix());
}

Status WordPieceRun::encode_new_word(std::string_view piece, std::vector<int32_t>& out) {
  const size_t before = out.size();
  bool known = count_characters(piece) <= table_.header().max_word_characters;
  for (size_t at = 0; known && at < piece.size();) {
    uint32_t node = at == 0 && !trie_.empty() ? TrieView::kRoot : inner_;
    int32_t best = -1;
    size_t best_end = at;
    for (size_t end = at; node != TrieView::kDead && end < piece.size();) {
      node = trie_.child(node, static_cast<unsigned char>(piece[end++]));
      if (node == TrieView::kDead) break;
      if (const int32_t id = trie_.value(node); id >= 0) {
        best = id;
        best_end = end;
      }
    }
    known = best >= 0 && static_cast<uint32_t>(best) < table_.size();
    if (known) out.push_back(best);
    at = best_end;
  }
  if (known) return {};
  out.resize(before);
  if (table_.header().model_unk < table_.size()) {
    out.push_back(static_cast<int32_t>(table_.header().model_unk));
  } else {
    lost_bytes_ += piece.size();
  }
  return {};
}

Status WordLevelRun::encode_new_word(std::string_view piece, std::vector<int32_t>& out) {
  const uint32_t found = table_.find(piece);
  const uint32_t id = found != kNoId ? found : table_.header().model_unk;
  if (id < table_.size()) {
    out.push_back(static_cast<int32_t>(id));
  } else {
    lost_bytes_ += piece.size();
  }
  return {};
}

}  // namespace pteron::text
