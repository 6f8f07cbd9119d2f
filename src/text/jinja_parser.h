// From tokens to a tree, by Jinja's grammar.
#pragma once

#include <string_view>

#include "base/status.h"
#include "text/jinja_ast.h"

namespace pteron::text::jinja {

// The template's tree (a `block`). Errors: invalid_data with field "line N"; nesting beyond 100 levels is one.
Result<NodePtr> parse(std::string_view source);

// Whether a filter or a test of that name exists: an unknown one does not compile.
bool filter_exists(std::string_view name);
bool test_exists(std::string_view name);

}  // namespace pteron::text::jinja
