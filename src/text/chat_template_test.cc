#include "text/chat_template.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

namespace pteron::text {
namespace {

using Json = nlohmann::ordered_json;

std::string read(const std::string& name) {
  std::ifstream in(std::string(PTERON_TEST_DATA) + "/chat/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

Json read_json(const std::string& name) { return Json::parse(read(name)); }

RenderOptions options() {
  RenderOptions options;
  options.bos_token = "<s>";
  options.eos_token = "</s>";
  options.now = "2024-07-26T09:05:03";
  return options;
}

// What a template gives: {"out"} or {"error"}.
Json outcome(const std::string& source, const Json& variables, const RenderOptions& render) {
  const Result<ChatTemplate> parsed = ChatTemplate::parse(source);
  if (!parsed.ok()) return {{"error", parsed.status().message()}, {"field", parsed.status().detail().field}};
  const auto rendered = parsed->render_with_spans(variables.dump(), render);
  if (!rendered.ok()) return {{"error", rendered.status().what()}, {"field", rendered.status().detail().field}};
  Json result = {{"out", rendered->first}};
  if (!rendered->second.empty()) result["generation_spans"] = rendered->second;
  return result;
}

void expect_outcome(const Json& expected, const Json& got, const std::string& name) {
  if (expected.contains("error")) {
    ASSERT_TRUE(got.contains("error")) << name << " gave " << got.dump();
    EXPECT_EQ(got["field"].get<std::string>().rfind("line ", 0), 0u) << name << got.dump();
    if (expected.contains("message")) {
      EXPECT_EQ(got["error"], expected["message"]) << name;
    }
  } else {
    EXPECT_EQ(got.value("out", got.dump()), expected["out"].get<std::string>()) << name;
    if (expected.contains("generation_spans")) {
      EXPECT_EQ(got.value("generation_spans", Json()), expected["generation_spans"]) << name;
    }
  }
}

std::string first_characters(const std::string& text, size_t count) {
  size_t at = 0;
  for (; at < text.size(); ++at) {
    if ((static_cast<unsigned char>(text[at]) & 0xc0) != 0x80 && count-- == 0) break;
  }
  return text.substr(0, at);
}

TEST(ChatTemplate, Snippets) {
  for (const Json& snippet : read_json("snippets.json")) {
    expect_outcome(snippet["expect"], outcome(snippet["template"], snippet["context"], options()), snippet["name"]);
  }
}

TEST(ChatTemplate, Templates) {
  const Json conversations = read_json("conversations.json");
  size_t cases = 0;
  const Json index = read_json("index.json");
  for (const Json& entry : index["templates"]) {
    const std::string name = entry["name"];
    const std::string source = read("templates/" + name + ".jinja");
    const Json expected_cases = read_json("templates/" + name + ".json");
    for (const Json& expected : expected_cases) {
      Json variables = Json::object();
      const Json& conversation = conversations[expected["conversation"].get<std::string>()];
      variables["messages"] = conversation["messages"];
      for (const char* key : {"tools", "documents"}) {
        if (conversation.contains(key)) variables[key] = conversation[key];
      }
      if (conversation.contains("kwargs")) variables.update(conversation["kwargs"]);
      ++cases;
      const auto check = [&](bool prompt, const Json& want) {
        RenderOptions render = options();
        render.add_generation_prompt = prompt;
        expect_outcome(want, outcome(source, variables, render), name + "/" + expected["conversation"].get<std::string>());
      };
      const Json& with = expected["with_generation_prompt"];
      check(true, with);
      const Json& without = expected["without"];
      if (without == "same") {
        check(false, with);
      } else if (without.contains("prefix_chars")) {
        Json prefix = with;
        prefix["out"] = first_characters(with["out"], without["prefix_chars"]);
        prefix.erase("generation_spans");
        check(false, prefix);
      } else {
        check(false, without);
      }
    }
  }
  EXPECT_GT(cases, 50u);
}

TEST(ChatTemplate, MessagesAndTimesOfTheWrongKindAreRefused) {
  const ChatTemplate parsed = *ChatTemplate::parse("no use of either");
  for (const char* wrong : {"{}", "3", "null", "[1]", R"("text")"}) {
    const Status status = parsed.render("{\"messages\": " + std::string(wrong) + "}", {}).status();
    EXPECT_EQ(status.code(), Code::invalid_argument) << wrong;
    EXPECT_EQ(status.detail().field, "messages");
  }
  EXPECT_TRUE(parsed.render(R"({"messages": []})", {}).ok());
  EXPECT_TRUE(parsed.render(R"({"other": 1})", {}).ok()) << "a template need not be about a chat";
  RenderOptions options;
  options.now = "soon";
  EXPECT_EQ(parsed.render(R"({"messages": []})", options).status().detail().field, "now");
}

}  // namespace
}  // namespace pteron::text
