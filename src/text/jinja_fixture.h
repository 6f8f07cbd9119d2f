// What the tests of the template language share: a conversation and some values to render with.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "text/chat_template.h"

namespace pteron::text::jinja {

inline constexpr const char* kVariables = R"json({
  "messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "hi"}, {"role": "assistant", "content": "yo", "tool_calls": [{"function": {"name": "f", "arguments": {"x": 1, "y": "é"}}}]}, {"role": "tool", "content": "42"}],
  "words": ["pear", "Apple", "fig"], "d": {"b": 2, "a": 1, "C": 3}, "n": 7, "t": "  text  ", "e": "", "f": 2.5, "none_": null,
  "people": [{"n": "Ann", "a": 3, "t": ["x"]}, {"n": "bob", "a": 1}, {"n": "Cy", "a": 3, "t": []}]})json";

// What a template gives with `variables`; of an error the field ("line 3"), a colon and the text.
inline std::string rendered(std::string_view source, std::string_view variables = kVariables) {
  const Result<ChatTemplate> parsed = ChatTemplate::parse(source);
  RenderOptions options;
  options.now = "2024-07-26T09:05:03";
  const Result<std::string> text = parsed.ok() ? parsed->render(variables, options) : Result<std::string>(parsed.status());
  return text.ok() ? *text : text.status().detail().field + ": " + std::string(text.status().what());
}

struct Case {
  const char* name;
  const char* source;
  const char* expected;
};

inline void expect_rendered(const std::vector<Case>& cases) {
  for (const Case& c : cases) EXPECT_EQ(rendered(c.source), c.expected) << c.name;
}

struct Failure {
  const char* source;
  const char* line;
  const char* part;  // of the message
};

inline void expect_failures(const std::vector<Failure>& failures) {
  for (const Failure& f : failures) {
    const std::string got = rendered(f.source);
    EXPECT_EQ(got.substr(0, got.find(':')), f.line) << f.source << " gave " << got;
    EXPECT_NE(got.find(f.part), std::string::npos) << f.source << " gave " << got;
  }
}

}  // namespace pteron::text::jinja
