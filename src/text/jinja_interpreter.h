// Runs a template's tree.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "text/jinja_ast.h"

namespace pteron::text::jinja {

struct Rendered {
  std::string text;
  std::vector<std::pair<size_t, size_t>> generation_spans;  // code points [begin, end) that generation blocks wrote
};

// Renders `root` with `variables` (a dict). Bounded: 10 million steps, 256 MiB of text and values made on the way, calls 60 deep.
// `now` as in format_time. Errors carry the field "line N".
Result<Rendered> render(const Node& root, const Value& variables, const std::optional<std::string>& now);

}  // namespace pteron::text::jinja
