// Any text as a template, rendered with a conversation; behind a NUL byte the variables may follow as JSON. What compiles renders or fails, always alike.
#include <cstdint>
#include <cstdlib>

#include "text/chat_template.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pteron::text;
  constexpr std::string_view kVariables =
      R"({"messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "h\u00e9"}, {"role": "assistant", "content": "", "tool_calls": [{"x": [1, 2.5]}]}],
          "words": ["pear", "Apple", "fig"], "d": {"b": 2, "a": null}, "n": 7, "t": "  text  ", "tools": [{"name": "f", "parameters": {"type": "object"}}]})";
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t end = input.find('\0');
  const std::string_view variables = end == std::string_view::npos ? kVariables : input.substr(end + 1);
  const auto parsed = ChatTemplate::parse(input.substr(0, end));
  if (!parsed.ok()) return 0;
  RenderOptions options;
  options.bos_token = "<s>";
  options.now = "2024-07-26T09:05:03";
  const auto first = parsed->render_with_spans(variables, options), second = parsed->render_with_spans(variables, options);
  if (first.ok() != second.ok() || (first.ok() && *first != *second)) std::abort();
  for (const auto& [begin, stop] : first.ok() ? first->second : std::vector<std::pair<size_t, size_t>>()) {
    if (begin > stop || stop > first->first.size()) std::abort();
  }
  return 0;
}
