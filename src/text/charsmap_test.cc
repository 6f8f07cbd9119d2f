#include "text/charsmap.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

#include "base/bytes.h"

namespace pteron::text {
namespace {

// A map with two keys, laid out by hand: "A" -> "a", "AB" -> "x". Offsets of the trie are exclusive-or.
std::string small_map() {
  std::array<uint32_t, 512> units{};
  const auto offset = [](uint32_t value) { return value << 10; };
  constexpr uint32_t kLeaf = 1u << 8;
  units[0] = offset(256);                            // the root's children are at 256 ^ label
  units[256 ^ 'A'] = 'A' | kLeaf | offset(64);       // its own children are at (256 ^ 'A') ^ 64 ^ label
  const uint32_t a = (256 ^ 'A') ^ 64;
  units[a] = 0 | 1u << 31;                           // "A" ends here: text at 0
  units[a ^ 'B'] = 'B' | kLeaf | offset(8);
  units[a ^ 'B' ^ 8] = 2 | 1u << 31;                 // "AB" ends here: text at 2
  std::string blob(4, '\0');
  store_unaligned(blob.data(), static_cast<uint32_t>(sizeof units));
  blob.append(reinterpret_cast<const char*>(units.data()), sizeof units);
  blob.append("a\0x\0", 4);
  return blob;
}

TEST(Charsmap, ReplacesCharactersOrTheLongestRun) {
  const std::string blob = small_map();
  const auto map = Charsmap::parse(blob);
  ASSERT_TRUE(map.ok()) << map.status().message();
  std::string characters, runs;
  map->append_mapped(characters, "zAB\xc3\xa9" "A");
  map->append_longest_mapped(runs, "zAB\xc3\xa9" "A");
  EXPECT_EQ(characters, "zaB\xc3\xa9" "a");
  EXPECT_EQ(runs, "zx\xc3\xa9" "a");
}

TEST(Charsmap, AClusterIsReplacedByWhatItsBeginningMapsTo) {
  const std::string blob = small_map();
  const auto map = Charsmap::parse(blob);
  ASSERT_TRUE(map.ok());
  std::string out;
  map->append_mapped(out, "A\xcc\x81!");
  EXPECT_EQ(out, "a!");
}

TEST(Charsmap, RefusesBrokenBlobs) {
  EXPECT_FALSE(Charsmap::parse("").ok());
  EXPECT_FALSE(Charsmap::parse("abc").ok());
  EXPECT_FALSE(Charsmap::parse(std::string("\x08\0\0\0abcd", 8)).ok());
  EXPECT_FALSE(Charsmap::parse(std::string("\x03\0\0\0abcd", 8)).ok());
}

TEST(Charsmap, AnyBlobIsSafe) {
  std::string blob = small_map();
  for (size_t i = 4; i < blob.size(); i += 7) {
    std::string broken = blob;
    broken[i] = static_cast<char>(broken[i] ^ 0x55);
    const auto map = Charsmap::parse(broken);
    ASSERT_TRUE(map.ok());
    std::string out;
    map->append_mapped(out, "ABAB");
    map->append_longest_mapped(out, "ABAB");
  }
}

}  // namespace
}  // namespace pteron::text
