// A trie over byte strings in one flat array, walked in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"

namespace pteron::text {

// A unit: the children of node n on byte b are at base(n) + b, if that unit names n as its parent.
struct TrieUnit {
  uint32_t base = 0;
  uint32_t parent = 0xffffffff;  // nothing lives here
  int32_t value = -1;            // what the key that ends here maps to
};
static_assert(sizeof(TrieUnit) == 12);

// A trie that lies in somebody's bytes; walking is safe over any bytes.
class TrieView {
 public:
  static constexpr uint32_t kRoot = 0, kDead = 0xffffffff;

  TrieView() = default;
  explicit TrieView(ByteSpan units) : units_(units.data()), count_(units.size() / sizeof(TrieUnit)) {}

  bool empty() const { return count_ == 0; }
  uint32_t child(uint32_t node, unsigned char byte) const {
    const uint64_t at = uint64_t{unit(node).base} + byte;
    return at < count_ && unit(static_cast<uint32_t>(at)).parent == node ? static_cast<uint32_t>(at) : kDead;
  }
  // The node of a key's last byte, from `node`; kDead where no key goes on like that.
  uint32_t walk(uint32_t node, std::string_view bytes) const;
  // Below 0: no key ends here.
  int32_t value(uint32_t node) const { return unit(node).value; }

  struct Match {
    int32_t value = -1;
    size_t size = 0;
  };
  // The longest key that `text` begins with; value -1 if none.
  Match longest(std::string_view text) const;

 private:
  TrieUnit unit(uint32_t node) const { return load_unaligned<TrieUnit>(units_ + size_t{node} * sizeof(TrieUnit)); }
  const std::byte* units_ = nullptr;
  size_t count_ = 0;
};

// Builds the units for keys and their values (>= 0). Of equal keys the first counts; empty keys are left out. No keys: no units.
std::vector<TrieUnit> build_trie(const std::vector<std::pair<std::string_view, int32_t>>& keys);

}  // namespace pteron::text
