#include "import/json_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "import/test_files.h"

namespace pteron::importer {
namespace {

using ::testing::HasSubstr;

TEST(JsonText, ParsesValues) {
  const Result<nlohmann::json> value = parse_json(R"({"a": [1, 2.5, "x\"]}"], "b": {"a": null}})");
  ASSERT_TRUE(value.ok()) << value.status().message();
  EXPECT_EQ((*value)["a"][2], "x\"]}");
  EXPECT_TRUE(parse_json("[[],[]]").ok());
}

TEST(JsonText, EveryTruncationIsAnError) {
  const std::string text = R"({"a": [1, 2.5, "x"], "b": {"c": true}})";
  for (size_t length = 0; length < text.size(); ++length)
    EXPECT_EQ(parse_json(text.substr(0, length)).code(), Code::invalid_data) << length;
}

TEST(JsonText, RefusesWhatIsNotJson) {
  for (const char* text : {"", "{", "nul", "{'a': 1}", "[1,]", "{} x", "\"\xff\"", "{\"a\": NaN}", "1e999"})
    EXPECT_EQ(parse_json(text).code(), Code::invalid_data) << text;
  EXPECT_THAT(parse_json("[1, x]").status().message(), HasSubstr("byte 5"));
}

TEST(JsonText, RefusesDuplicateKeys) {
  EXPECT_THAT(parse_json(R"({"a": {"k": 1, "k": 2}})").status().message(), HasSubstr("twice (k)"));
  EXPECT_TRUE(parse_json(R"({"a": {"k": 1}, "b": {"k": 1}})").ok());
}

TEST(JsonText, RefusesDeepNesting) {
  const auto nested = [](int depth) { return std::string(static_cast<size_t>(depth), '[') + std::string(static_cast<size_t>(depth), ']'); };
  EXPECT_TRUE(parse_json(nested(kMaxJsonDepth)).ok());
  EXPECT_EQ(parse_json(nested(kMaxJsonDepth + 1)).code(), Code::out_of_capacity);
  EXPECT_EQ(parse_json(nested(1000000)).code(), Code::out_of_capacity);
  EXPECT_EQ(parse_json(std::string(1000000, '[')).code(), Code::out_of_capacity);
  EXPECT_TRUE(parse_json("\"" + std::string(1000, '[') + "\"").ok());
}

TEST(JsonText, FilesMustHoldObjects) {
  testing::TempFolder folder;
  EXPECT_EQ((*read_json_object(folder.write("a.json", R"({"x": 1})")))["x"], 1);
  const std::string list = folder.write("b.json", "[1]");
  EXPECT_THAT(read_json_object(list).status().message(), HasSubstr(list + "): expected an object, found array"));
  const std::string broken = folder.write("c.json", "{");
  EXPECT_EQ(read_json_object(broken).status().detail().file, broken);
  EXPECT_FALSE(read_json_object(folder.file("none.json")).ok());
}

}  // namespace
}  // namespace pteron::importer
