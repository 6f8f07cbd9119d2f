#include "llm/json.h"

#include <string>

#include <gtest/gtest.h>

namespace pteron::llm {
namespace {

TEST(Json, ReadsEveryKindExactly) {
  auto parsed = Json::parse(R"({"a": [1, -2, 9223372036854775807, 9223372036854775808, 1.5, 1e3], "b": {"c": "x\u00e9"}, "d": true, "e": null})");
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  const auto& a = parsed->find("a")->items();
  ASSERT_EQ(a.size(), 6u);
  EXPECT_EQ(a[1].integer(), -2);
  EXPECT_EQ(a[2].integer(), INT64_MAX);
  EXPECT_TRUE(a[3].is(Json::Kind::number)) << "one too large for an integer";
  EXPECT_EQ(a[4].number(), 1.5);
  EXPECT_TRUE(a[5].is(Json::Kind::number)) << "an exponent makes no integer";
  EXPECT_EQ(parsed->find("b")->find("c")->string(), "x\xc3\xa9");
  EXPECT_TRUE(parsed->find("d")->boolean());
  EXPECT_TRUE(parsed->find("e")->is(Json::Kind::null));
  EXPECT_EQ(parsed->find("f"), nullptr);
}

TEST(Json, DuplicateKeysAreErrorsAtAnyDepth) {
  auto parsed = Json::parse(R"({"a": [{"b": 1, "c": 2, "b": 1}]})");
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.status().what(), "duplicate key");
  EXPECT_EQ(parsed.status().detail().field, "a[0].b");
}

TEST(Json, RefusesWhatIsNoJson) {
  for (const char* text : {"", " ", "{", "}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "[1,]", "[1 2]", "{\"a\":01}", "{\"a\":1.}", "{\"a\":+1}", "{\"a\":tru}",
                           "{\"a\":truex}", "{\"a\":nul}", "{\"a\":\"\x01\"}", "{\"a\":\"\\q\"}", "{\"a\":\"}", "[\"\xff\"]", "{} {}", "{}x", "[1]]", "{\"a\":1e}",
                           "{\"a\":--1}", "{a:1}", "{\"a\" 1}", "5"}) {
    EXPECT_FALSE(Json::parse(text).ok()) << text;
  }
}

TEST(Json, NestingIsBounded) {
  const std::string deep = std::string(33, '[') + std::string(33, ']');
  EXPECT_FALSE(Json::parse(deep).ok());
  const std::string fine = std::string(32, '[') + std::string(32, ']');
  EXPECT_TRUE(Json::parse(fine).ok());
  EXPECT_FALSE(Json::parse(std::string(100000, '[')).ok());
}

TEST(Json, AccessorsNameThePath) {
  auto parsed = Json::parse(R"({"n": -1, "h": 1e400, "s": 5})");
  ASSERT_TRUE(parsed.ok());
  const JsonPath x{nullptr, "x", 0}, list = x.element(2), n = list.member("n");
  EXPECT_EQ(n.text(), "x[2].n");
  auto size = json_size(*parsed->find("n"), n);
  EXPECT_EQ(size.status().detail().field, "x[2].n");
  EXPECT_EQ(size.status().detail().found, "-1");
  EXPECT_EQ(json_size(*parsed->find("h"), x).status().detail().found, "1e400");
  EXPECT_EQ(json_string(*parsed->find("s"), x).status().detail().expected, "a string");
  EXPECT_EQ(json_member(*parsed, "m", x).status().detail().field, "x.m");
  EXPECT_EQ(json_member(*parsed, "m", {}).status().detail().field, "m");
}

}  // namespace
}  // namespace pteron::llm
