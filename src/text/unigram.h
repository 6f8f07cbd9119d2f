// Unigram: the cut of a piece whose tokens have the highest sum of scores.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/token_model.h"

namespace pteron::text {

class UnigramRun final : public ModelRun {
 public:
  UnigramRun(const TokenTable& table, size_t text_size) : ModelRun(text_size), table_(table), trie_(table.trie(Section::model_trie)) {}

 private:
  Status encode_new_word(std::string_view piece, std::vector<int32_t>& out) override;
  // The best way to reach a byte offset.
  struct Node {
    double score = 0;
    uint32_t id = kNoId;
    uint32_t from = kNoId;  // where its last token begins; kNoId: not reached
  };
  void reach(size_t end, size_t from, uint32_t id, double score);
  Status append_token(std::string_view text, std::vector<int32_t>& out);

  const TokenTable& table_;
  const TrieView trie_;
  std::vector<Node> nodes_;
  std::vector<uint32_t> cuts_;
};

}  // namespace pteron::text
