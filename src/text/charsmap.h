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

  // Appends the text with every grapheme cluster, or else character, that the map knows replaced: what tokenizer.json means.
  void append_mapped(std::string& out, std::string_view text) const;
  // Appends the text with the longest run that the map knows replaced, from left to right: what SentencePiece itself does.
  void append_longest_mapped(std::string& out, std::string_view text) const;

 private:
  struct Found {
    std::string_view text;  // the replacement
    size_t size;            // of what it replaces
  };
  // The shortest or longest beginning of `chunk` that the map knows.
  std::optional<Found> find(std::string_view chunk, bool longest) const;
  std::string_view units_, texts_;
};

}  // namespace pteron::text
