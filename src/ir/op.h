// The operators: their numbers, their schemas, and the rule that gives the types of their results.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/attribute.h"

namespace pteron::ir {

enum class Op : uint16_t {
#define PTERON_OP(id, schema, rule) id,
#include "ir/ops.def"
#undef PTERON_OP
};

enum class ArgKind : uint8_t { tensor, tensor_list, integer, number, boolean, scalar, string, dtype, integer_list, number_list };

struct Arg {
  std::string name;
  ArgKind kind = ArgKind::tensor;
  bool optional = false;           // may be None; in a tensor list: its elements may be
  bool mutated = false;
  std::optional<Attribute> preset;  // the schema's default
  bool is_tensor() const { return kind == ArgKind::tensor || kind == ArgKind::tensor_list; }
};

struct Schema {
  std::string text_name;           // "aten::add.out"
  std::string name, overload;      // "aten::add", "out"
  std::vector<Arg> args;           // without out arguments
  size_t outs = 0;                 // out arguments on disk; 0 for in-place and IR-only operators
  bool in_place = false;           // the result is the first argument's memory
  bool composite = false;          // exists only in the IR
  const Arg* find(std::string_view arg) const;
};

// The schema of an operator; static storage.
const Schema& schema(Op op);
// The operator of a name as in the text form.
std::optional<Op> op_from_name(std::string_view text_name);

// Reads one schema text. Exposed for tests: the table is made of trusted texts, a malformed one gives nothing.
std::optional<Schema> parse_schema(std::string_view text);

}  // namespace pteron::ir
