// Token ids by text, for compiling: made for vocabularies that are asked for millions of pieces, most of which they do not have.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace pteron::text {

class PieceIndex {
 public:
  // Notes a token. `text` must outlive the index; of equal texts the first counts. False for a later one.
  bool add(std::string_view text, uint32_t id);
  // kNoId where no token has this text.
  uint32_t find(std::string_view text) const;

 private:
  void grow();

  std::vector<uint32_t> tags_;                                // by slot: a part of the text's hash, never 0; 0 in a free slot
  std::vector<std::pair<std::string_view, uint32_t>> slots_;
  size_t count_ = 0;
};

}  // namespace pteron::text
