// SentencePiece's precompiled character map: a double array trie over UTF-8 and the texts that replace what it finds.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace pteron::text {

class Charsmap {
 public:
  // `blob`: the size of the trie in bytes (u32), the trie, the replacement texts, each ended by a zero byte. Points into the blob.
  static Result<Charsmap> parse(std::string_view blob);

  // Appends the text with every grapheme cluster, or else character, that the map knows replaced.
  void append_mapped(std::string& out, std::string_view text) const;

 private:
  // The replacement for the shortest beginning of `chunk` that the map knows.
  std::optional<std::string_view> find(std::string_view chunk) const;
  std::string_view units_, texts_;
};

}  // namespace pteron::text
