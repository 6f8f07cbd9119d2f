#include "llm/stop_strings.h"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace pteron::llm {
namespace {

struct Outcome {
  std::string text, matched;
};

Outcome feed(const std::vector<std::string>& stops, const std::vector<std::string>& pieces) {
  StopStrings matcher(stops);
  Outcome out;
  for (const std::string& piece : pieces) {
    if (matcher.push(piece, out.text)) break;
  }
  if (matcher.matched().empty()) matcher.flush(out.text);
  out.matched = matcher.matched();
  return out;
}

TEST(StopStrings, NothingOfTheStopStringGetsOut) {
  EXPECT_EQ(feed({"END"}, {"abc E", "N", "D more"}).text, "abc ");
  EXPECT_EQ(feed({"END"}, {"abc E", "N", "D more"}).matched, "END");
  EXPECT_EQ(feed({"END"}, {"abc EN", "ENDx"}).text, "abc EN");
  EXPECT_EQ(feed({"END"}, {"abc EN"}).text, "abc EN") << "what was held back comes at the end";
  EXPECT_EQ(feed({}, {"a", "b"}).text, "ab");
  EXPECT_EQ(feed({""}, {"a", "b"}).text, "ab") << "an empty string stops nothing";
}

TEST(StopStrings, TheFirstToEndWinsAndOfThoseTheLongest) {
  EXPECT_EQ(feed({"abcd", "bc"}, {"xabcd"}).matched, "bc");
  EXPECT_EQ(feed({"abcd", "bc"}, {"xabcd"}).text, "xa");
  EXPECT_EQ(feed({"c", "abc"}, {"xabc"}).matched, "abc");
  EXPECT_EQ(feed({"c", "abc"}, {"xabc"}).text, "x");
}

TEST(StopStrings, HoldsBackNoMoreThanItMust) {
  StopStrings matcher({"\n\n", "###"});
  std::string out;
  EXPECT_FALSE(matcher.push("one\n", out));
  EXPECT_EQ(out, "one");
  EXPECT_FALSE(matcher.push("two ##", out));
  EXPECT_EQ(out, "one\ntwo ");
  EXPECT_FALSE(matcher.push("x", out));
  EXPECT_EQ(out, "one\ntwo ##x");
}

// Any cutting into pieces gives what a search over the whole text gives.
TEST(StopStrings, EqualsASearchOverTheWholeText) {
  std::mt19937 random(3);
  for (int round = 0; round < 3000; ++round) {
    const auto word = [&](size_t longest) {
      std::string out;
      for (size_t i = 1 + random() % longest; i > 0; --i) out += static_cast<char>('a' + random() % 3);
      return out;
    };
    const std::vector<std::string> stops = {word(4), word(3)};
    std::vector<std::string> pieces;
    std::string whole;
    for (int i = 0; i < 8; ++i) whole += pieces.emplace_back(word(4));
    size_t best_end = std::string::npos, best_size = 0;
    for (const std::string& stop : stops) {
      const size_t at = whole.find(stop);
      if (at == std::string::npos) continue;
      const size_t end = at + stop.size();
      if (end < best_end || (end == best_end && stop.size() > best_size)) best_end = end, best_size = stop.size();
    }
    const Outcome out = feed(stops, pieces);
    ASSERT_EQ(out.text, best_end == std::string::npos ? whole : whole.substr(0, best_end - best_size)) << whole;
  }
}

}  // namespace
}  // namespace pteron::llm
