// The tree of a template.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "text/jinja_value.h"

namespace pteron::text::jinja {

enum class NodeKind : uint8_t {
  // Expressions
  constant,      // value
  name,          // text
  list, tuple,   // children
  dict,          // children: key, value, key, value, ...
  attribute,     // children[0] . text
  subscript,     // children[0] [ children[1] ]
  slice,         // children: start, stop, step (each may be null); only as the second child of a subscript
  call,          // children[0] ( children[1...], named )
  filter,        // children[0] | text ( children[1...], named ); children[0] is null in a filter block
  test,          // children[0] is text ( children[1...] ); negated
  negate, plus, logical_not,             // children[0]
  binary,        // text is the operator: + - * / // % ** ~
  compare,       // children: a, b, c, ...; operators: one less
  logical_and, logical_or,               // children: left, right
  conditional,   // children: value, condition, other (may be null)
  // Statements
  output_text,   // text
  output,        // children[0]
  block,         // children: statements
  if_,           // children: condition, block, condition, block, ..., [block]
  for_,          // children: target, iterable, condition (may be null), body, otherwise (may be null); recursive
  set,           // children: target, value
  set_block,     // children: target, body, filters...
  macro,         // text, parameters; children[0]: body
  call_block,    // text unused, parameters; children: call, body
  filter_block,  // children: filter (its innermost operand null), body
  with,          // children: target, value, target, value, ..., body
  generation,    // children[0]: body
  break_, continue_,
  unsupported,   // text: what the sandbox does not have (import, include, extends); fails when it is reached
};

struct Node;
using NodePtr = std::unique_ptr<Node>;

struct Node {
  NodeKind kind = NodeKind::block;
  int line = 1;
  int depth = 1;  // of the tree under it
  std::string text;
  Value value;
  std::vector<NodePtr> children;
  std::vector<std::pair<std::string, NodePtr>> named;       // arguments by name; "*" and "**" spread
  std::vector<std::pair<std::string, NodePtr>> parameters;  // with defaults, or null
  std::vector<std::string> operators;
  bool negated = false, recursive = false;
  bool varargs = false, kwargs = false;  // a macro whose body speaks of them: they are taken only there
};

}  // namespace pteron::text::jinja
