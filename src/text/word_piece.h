// WordPiece (the longest token that fits, again and again) and WordLevel (a word is a token or unknown).
#pragma once

#include <string_view>
#include <vector>

#include "text/token_model.h"

namespace pteron::text {

class WordPieceRun final : public ModelRun {
 public:
  WordPieceRun(const TokenTable& table, size_t text_size);

 private:
  Status encode_new_word(std::string_view piece, std::vector<int32_t>& out) override;
  const TokenTable& table_;
  const TrieView trie_;
  uint32_t inner_ = TrieView::kDead;  // the node behind the prefix of all but a word's first token
};

class WordLevelRun final : public ModelRun {
 public:
  WordLevelRun(const TokenTable& table, size_t text_size) : ModelRun(text_size), table_(table) {}

 private:
  Status encode_new_word(std::string_view piece, std::vector<int32_t>& out) override;
  const TokenTable& table_;
};

}  // namespace pteron::text
