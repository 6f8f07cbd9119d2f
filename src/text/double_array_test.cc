#include "text/double_array.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

namespace pteron::text {
namespace {

TrieView view(const std::vector<TrieUnit>& units) { return TrieView(std::as_bytes(std::span(units))); }

TEST(DoubleArray, FindsLongestKeys) {
  const auto units = build_trie({{"a", 1}, {"abc", 2}, {"b", 3}, {"", 9}, {"a", 7}});
  const TrieView trie = view(units);
  EXPECT_EQ(trie.longest("abcd").value, 2);
  EXPECT_EQ(trie.longest("abcd").size, 3u);
  EXPECT_EQ(trie.longest("abd").value, 1);  // the first of equal keys
  EXPECT_EQ(trie.longest("abd").size, 1u);
  EXPECT_EQ(trie.longest("c").value, -1);
  EXPECT_EQ(trie.longest("").value, -1);
  EXPECT_EQ(trie.walk(TrieView::kRoot, "x"), TrieView::kDead);
}

TEST(DoubleArray, NoKeysNoUnits) {
  EXPECT_TRUE(build_trie({}).empty());
  const TrieView trie;
  EXPECT_TRUE(trie.empty());
  EXPECT_EQ(trie.longest("a").value, -1);
  EXPECT_EQ(trie.walk(TrieView::kRoot, "a"), TrieView::kDead);
}

TEST(DoubleArray, HoldsManyRandomKeys) {
  std::minstd_rand random(4);
  std::map<std::string, int32_t> keys;
  for (int i = 0; i < 20000; ++i) {
    std::string key(1 + random() % 6, '\0');
    for (char& c : key) c = static_cast<char>(random() % (i % 2 == 0 ? 256 : 4));
    keys.emplace(key, i);
  }
  std::vector<std::pair<std::string_view, int32_t>> list(keys.begin(), keys.end());
  const auto units = build_trie(list);
  const TrieView trie = view(units);
  for (const auto& [key, value] : keys) {
    const uint32_t node = trie.walk(TrieView::kRoot, key);
    ASSERT_NE(node, TrieView::kDead);
    ASSERT_EQ(trie.value(node), value);
  }
  for (int i = 0; i < 20000; ++i) {
    std::string key(1 + random() % 6, '\0');
    for (char& c : key) c = static_cast<char>(random() % 256);
    const uint32_t node = trie.walk(TrieView::kRoot, key);
    const auto known = keys.find(key);
    ASSERT_EQ(node != TrieView::kDead && trie.value(node) >= 0, known != keys.end());
  }
  EXPECT_LT(units.size(), 40 * keys.size());
}

TEST(DoubleArray, AnyUnitsAreSafeToWalk) {
  std::minstd_rand random(5);
  std::vector<TrieUnit> units(50);
  for (TrieUnit& unit : units) unit = {static_cast<uint32_t>(random()), static_cast<uint32_t>(random() % 60), static_cast<int32_t>(random())};
  units[0].base = 0xffffffff;
  const TrieView trie = view(units);
  for (int i = 0; i < 256; ++i) EXPECT_LE(trie.longest(std::string(100, static_cast<char>(i))).size, 100u);
}

}  // namespace
}  // namespace pteron::text
