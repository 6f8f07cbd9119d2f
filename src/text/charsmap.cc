#include "text/charsmap.h"

#include <cstdint>

#include "base/bytes.h"
#include "text/unicode.h"

namespace pteron::text {
namespace {

constexpr size_t kMaxClusterBytes = 5;  // longer grapheme clusters are looked up character by character

// A unit of the Darts trie: label in the low byte, offset to the children in the upper bits (scaled by 256 if bit 9 is set), bit 8: a key ends here.
uint32_t unit_offset(uint32_t unit) { return (unit >> 10) << ((unit & (1u << 9)) >> 6); }
bool unit_has_leaf(uint32_t unit) { return (unit >> 8 & 1) != 0; }
uint32_t unit_label(uint32_t unit) { return unit & (1u << 31 | 0xff); }
uint32_t unit_value(uint32_t unit) { return unit & ((1u << 31) - 1); }

}  // namespace

Result<Charsmap> Charsmap::parse(std::string_view blob) {
  const auto bad = [&](std::string expected) {
    return Status::error(Code::invalid_data, "character map", {.field = "precompiled_charsmap", .expected = std::move(expected), .found = std::to_string(blob.size()) + " bytes"});
  };
  if (blob.size() < sizeof(uint32_t)) return bad("at least 4 bytes");
  const auto trie_size = load_unaligned<uint32_t>(blob.data());
  if (trie_size > blob.size() - sizeof(uint32_t) || trie_size % sizeof(uint32_t) != 0) return bad("a trie of " + std::to_string(trie_size) + " bytes");
  Charsmap map;
  map.units_ = blob.substr(sizeof(uint32_t), trie_size);
  map.texts_ = blob.substr(sizeof(uint32_t) + trie_size);
  return map;
}

std::optional<Charsmap::Found> Charsmap::find(std::string_view chunk, bool longest) const {
  const size_t count = units_.size() / sizeof(uint32_t);
  const auto unit = [&](size_t i) { return load_unaligned<uint32_t>(units_.data() + i * sizeof(uint32_t)); };
  std::optional<Found> best;
  if (count == 0) return best;
  size_t node = unit_offset(unit(0));
  for (size_t i = 0; i < chunk.size(); ++i) {
    const auto byte = static_cast<unsigned char>(chunk[i]);
    node ^= byte;
    if (byte == 0 || node >= count || unit_label(unit(node)) != byte) return best;
    const uint32_t here = unit(node);
    node ^= unit_offset(here);
    if (!unit_has_leaf(here)) continue;
    if (node >= count || unit_value(unit(node)) > texts_.size()) return best;
    const std::string_view text = texts_.substr(unit_value(unit(node)));
    best = {text.substr(0, text.find('\0')), i + 1};
    if (!longest) return best;
  }
  return best;
}

void Charsmap::append_mapped(std::string& out, std::string_view text) const {
  const auto append = [&](std::string_view chunk) {
    const auto found = find(chunk, false);
    if (found) out += found->text;
    return found.has_value();
  };
  for (size_t i = 0; i < text.size();) {
    const std::string_view cluster = text.substr(i, grapheme_length(text, i));
    i += cluster.size();
    if (cluster.size() <= kMaxClusterBytes && append(cluster)) continue;
    for (size_t k = 0; k < cluster.size();) {
      const std::string_view character = cluster.substr(k, utf8_at(cluster, k).size);
      k += character.size();
      if (!append(character)) out += character;
    }
  }
}

void Charsmap::append_longest_mapped(std::string& out, std::string_view text) const {
  for (size_t i = 0; i < text.size();) {
    if (const auto found = find(text.substr(i), true)) {
      out += found->text;
      i += found->size;
    } else {
      const size_t size = utf8_at(text, i).size;
      out.append(text, i, size);
      i += size;
    }
  }
}

}  // namespace pteron::text
