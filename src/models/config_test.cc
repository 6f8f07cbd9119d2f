#include "models/config.h"

#include <gtest/gtest.h>

namespace pteron::models {
namespace {

using Json = nlohmann::json;

TEST(Config, AbsentAndNullTakeTheFallback) {
  const Json json = Json::parse(R"({"a": null, "n": 3, "f": 1.5, "s": "x", "b": true, "whole": 32.0})");
  Config c(json, "config.json");
  EXPECT_EQ(c.size("a", 7), 7);
  EXPECT_EQ(c.size("missing", 7), 7);
  EXPECT_EQ(c.size("n"), 3);
  EXPECT_EQ(c.size("whole"), 32);
  EXPECT_EQ(c.number("f", 0), 1.5);
  EXPECT_EQ(c.number("n", 0), 3);
  EXPECT_EQ(c.text("s", ""), "x");
  EXPECT_TRUE(c.boolean("b", false));
  EXPECT_TRUE(c.mentions("a"));
  EXPECT_FALSE(c.has("a"));
  EXPECT_TRUE(c.status().ok());
}

TEST(Config, WrongTypesNameFileFieldExpectedAndFound) {
  const Json json = Json::parse(R"({"n": "3", "inner": {"m": -1, "k": 9}, "big": 4294967296, "half": 1.5, "list": [1, "x"], "flag": 1})");
  const auto error = [&](auto read) {
    Config c(json, "config.json");
    read(c);
    const Detail d = c.status().detail();
    return d.file + "|" + d.field + "|" + d.found;
  };
  EXPECT_EQ(error([](Config& c) { c.size("n"); }), "config.json|n|\"3\"");
  EXPECT_EQ(error([](Config& c) { c.object("inner")->size("m"); }), "config.json|inner.m|-1") << "inner objects share the status";
  EXPECT_EQ(error([](Config& c) { c.size("big"); }), "config.json|big|4294967296");
  EXPECT_EQ(error([](Config& c) { c.size("half"); }), "config.json|half|1.5");
  EXPECT_EQ(error([](Config& c) { c.size("list", 1, 5); }), "config.json|list|[1,\"x\"]");
  EXPECT_EQ(error([](Config& c) { c.object("inner")->size("k", 9, 8); }), "config.json|inner.k|9") << "more than it may be";
  EXPECT_EQ(error([](Config& c) { c.integers("list"); }), "config.json|list|[1,\"x\"]");
  EXPECT_EQ(error([](Config& c) { c.boolean("flag", false); }), "config.json|flag|1");
  EXPECT_EQ(error([](Config& c) { c.text("flag", ""); }), "config.json|flag|1");
  EXPECT_EQ(error([](Config& c) { c.object("n"); }), "config.json|n|\"3\"");
  EXPECT_EQ(error([](Config& c) { c.size("required"); }), "config.json|required|nothing");
}

TEST(Config, TheFirstErrorStays) {
  const Json json = Json::parse(R"({"a": "x", "b": "y"})");
  Config c(json, "config.json");
  c.size("a");
  c.size("b");
  EXPECT_EQ(c.status().detail().field, "a");
}

TEST(Config, OnlyObjectsAreConfigurations) {
  const Json json = Json::parse("[1]");
  Config c(json, "config.json");
  EXPECT_FALSE(c.status().ok());
  EXPECT_EQ(c.size("a", 2), 2);
}

}  // namespace
}  // namespace pteron::models
