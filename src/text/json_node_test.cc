#include "text/json_node.h"

#include <gtest/gtest.h>

namespace pteron::text {
namespace {

class JsonNodeTest : public testing::Test {
 protected:
  JsonNode parse(std::string_view text) {
    simdjson::dom::element root;
    EXPECT_EQ(parser_.parse(text.data(), text.size()).get(root), simdjson::SUCCESS);
    return JsonNode(root, "");
  }
  simdjson::dom::parser parser_;
};

TEST_F(JsonNodeTest, ReadsMembersAndDefaults) {
  const JsonNode node = parse(R"({"a": {"b": ["x", 5, true, null]}, "none": null})");
  const auto b = node.get("a")->items_of("b");
  ASSERT_TRUE(b.ok());
  EXPECT_EQ(*(*b)[0].text(), "x");
  EXPECT_EQ(*(*b)[1].number(), 5u);
  EXPECT_TRUE(*(*b)[2].boolean());
  EXPECT_TRUE((*b)[3].is_null());
  EXPECT_EQ((*b)[2].path(), "a.b[2]");
  EXPECT_FALSE(node.find("none"));
  EXPECT_FALSE(node.find("nothing"));
  EXPECT_EQ(*node.text_or("none", "absent"), "absent");
  EXPECT_EQ(*node.number_or("nothing", 7), 7u);
  EXPECT_TRUE(*node.boolean_or("nothing", true));
}

TEST_F(JsonNodeTest, ErrorsNamePathAndValue) {
  const JsonNode node = parse(R"({"a": {"b": ["x", -5]}})");
  const auto items = node.get("a")->items_of("b");
  ASSERT_TRUE(items.ok());
  EXPECT_EQ((*items)[1].number().status().detail().field, "a.b[1]");
  EXPECT_EQ((*items)[1].number().status().detail().found, "-5");
  EXPECT_EQ((*items)[0].boolean().status().detail().found, "\"x\"");
  EXPECT_EQ(node.text_of("a").status().detail().found, "an object");
  EXPECT_EQ(node.get("a")->text_of("c").status().detail().field, "a.c");
  EXPECT_EQ(node.get("a")->get("b")->get("c").status().detail().found, "a list");
  EXPECT_EQ((*items)[0].unsupported("y").code(), Code::unsupported);
  EXPECT_EQ((*items)[0].items().code(), Code::invalid_data);
}

}  // namespace
}  // namespace pteron::text
