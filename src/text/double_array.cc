#include "text/double_array.h"

#include <algorithm>
#include <numeric>

namespace pteron::text {

uint32_t TrieView::walk(uint32_t node, std::string_view bytes) const {
  if (empty()) return kDead;
  for (const char byte : bytes) {
    node = child(node, static_cast<unsigned char>(byte));
    if (node == kDead) break;
  }
  return node;
}

TrieView::Match TrieView::longest(std::string_view text) const {
  Match best;
  if (empty()) return best;
  uint32_t node = kRoot;
  for (size_t i = 0; i < text.size(); ++i) {
    node = child(node, static_cast<unsigned char>(text[i]));
    if (node == kDead) break;
    if (const int32_t v = value(node); v >= 0) best = {v, i + 1};
  }
  return best;
}

namespace {

using Key = std::pair<std::string_view, int32_t>;

class TrieBuilder {
 public:
  explicit TrieBuilder(const std::vector<Key>& keys) : keys_(keys) {}

  std::vector<TrieUnit> build() {
    units_.resize(1);
    units_[0].parent = TrieView::kRoot;  // so that nobody takes it; no child can be at 0, bases are at least 1
    std::vector<Range> open{{0, keys_.size(), 0, TrieView::kRoot}};
    while (!open.empty()) {
      const Range range = open.back();
      open.pop_back();
      place(range, open);
    }
    return std::move(units_);
  }

 private:
  struct Range {
    size_t begin, end;  // keys that share `depth` bytes
    size_t depth;
    uint32_t node;
  };

  void place(Range range, std::vector<Range>& open) {
    if (keys_[range.begin].first.size() == range.depth) {
      units_[range.node].value = keys_[range.begin].second;
      ++range.begin;
    }
    if (range.begin == range.end) return;
    labels_.clear();
    starts_.clear();
    for (size_t i = range.begin; i < range.end; ++i) {
      const auto label = static_cast<unsigned char>(keys_[i].first[range.depth]);
      if (labels_.empty() || labels_.back() != label) {
        labels_.push_back(label);
        starts_.push_back(i);
      }
    }
    starts_.push_back(range.end);
    const uint32_t base = find_base();
    units_[range.node].base = base;
    for (size_t i = 0; i < labels_.size(); ++i) {
      const uint32_t child = base + labels_[i];
      units_[child].parent = range.node;
      open.push_back({starts_[i], starts_[i + 1], range.depth + 1, child});
    }
  }

  // The lowest base from the search start at which all labels are free.
  uint32_t find_base() {
    size_t at = std::max<size_t>(first_free_, size_t{labels_.front()} + 1);
    size_t taken = 0;
    for (const size_t begin = at;; ++at) {
      if (at >= units_.size()) units_.resize(at + 1);
      if (used(at)) {
        ++taken;
        continue;
      }
      const size_t base = at - labels_.front();
      if (units_.size() < base + 256) units_.resize(base + 256);
      if (std::all_of(labels_.begin() + 1, labels_.end(), [&](unsigned char label) { return !used(base + label); })) {
        // Nearly full stretches are not searched again: some units stay empty, building stays near-linear.
        if (taken * 20 >= (at - begin + 1) * 19) first_free_ = at + 1;
        return static_cast<uint32_t>(base);
      }
      ++misses_;
      if (misses_ % 64 == 0) first_free_ = std::max(first_free_, begin + (at - begin) / 2);
    }
  }

  bool used(size_t at) const { return units_[at].parent != TrieView::kDead; }

  const std::vector<Key>& keys_;
  std::vector<TrieUnit> units_;
  std::vector<unsigned char> labels_;
  std::vector<size_t> starts_;
  size_t first_free_ = 1, misses_ = 0;
};

}  // namespace

std::vector<TrieUnit> build_trie(const std::vector<Key>& keys) {
  std::vector<size_t> order(keys.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return std::pair(keys[a].first, a) < std::pair(keys[b].first, b); });
  std::vector<Key> sorted;
  for (const size_t i : order) {
    if (!keys[i].first.empty() && (sorted.empty() || sorted.back().first != keys[i].first)) sorted.push_back(keys[i]);
  }
  if (sorted.empty()) return {};
  return TrieBuilder(sorted).build();
}

}  // namespace pteron::text
