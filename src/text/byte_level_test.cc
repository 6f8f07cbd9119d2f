#include "text/byte_level.h"

#include <gtest/gtest.h>

#include <set>

namespace pteron::text {
namespace {

TEST(ByteLevel, EveryByteHasItsCharacterAndBack) {
  std::set<std::string> seen;
  for (int byte = 0; byte < 256; ++byte) {
    std::string character, back;
    append_byte_characters(character, std::string(1, static_cast<char>(byte)));
    EXPECT_TRUE(seen.insert(character).second);
    EXPECT_TRUE(append_character_bytes(back, character));
    EXPECT_EQ(back, std::string(1, static_cast<char>(byte)));
  }
}

TEST(ByteLevel, KnownCharacters) {
  std::string out;
  append_byte_characters(out, " \n!\xff");
  EXPECT_EQ(out, "\xc4\xa0\xc4\x8a!\xc3\xbf");
}

TEST(ByteLevel, ForeignCharactersAreRefusedWhole) {
  std::string out = "kept";
  EXPECT_FALSE(append_character_bytes(out, "ab\xe2\x96\x81"));
  EXPECT_FALSE(append_character_bytes(out, " "));
  EXPECT_FALSE(append_character_bytes(out, "\xff"));
  EXPECT_EQ(out, "kept");
}

}  // namespace
}  // namespace pteron::text
