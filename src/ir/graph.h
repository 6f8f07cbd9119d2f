// Graphs: one per method, in SSA form, over a pool of constants that all methods of a module share.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "core/constant_source.h"
#include "ir/attribute.h"
#include "ir/op.h"
#include "ir/types.h"

namespace pteron::ir {

using ValueId = int32_t;
inline constexpr ValueId kNone = -1;  // an optional operand that is left out

// What an input or output means under the I/O contract; `user` is any other.
enum class Role : uint8_t {
  user, token_ids, position_ids, mask, key_cache, value_cache, last_row, counter, logits, key_state, value_state,
};
std::string_view role_name(Role role);
std::optional<Role> role_from_name(std::string_view name);

enum class Def : uint8_t { input, constant, node };

struct Value {
  Type type;
  Def def = Def::node;
  int32_t constant = -1;  // index into the module's pool
};

struct Node {
  Op op{};
  // Tensor arguments in schema order, kNone where an optional one is left out. A list argument (at most one a schema) is spread in place.
  std::vector<ValueId> operands;
  Attributes attributes;  // all non-tensor arguments, defaults filled in, in schema order
  std::vector<ValueId> results;

  const Attribute* find(std::string_view name) const;
  // Attributes by name; the schema guarantees that they exist with that type. None gives the fallback.
  int64_t integer(std::string_view name, int64_t fallback = 0) const;
  double number(std::string_view name, double fallback = 0) const;
  bool boolean(std::string_view name) const;
  const std::string& string(std::string_view name) const;
  const std::vector<int64_t>& integers(std::string_view name) const;
  ValueId result() const { return results[0]; }
  // The operand that belongs to a tensor argument of the schema; for a list its first element.
  ValueId operand(std::string_view name) const;
};

// An input or output of a graph.
struct Port {
  ValueId value = kNone;
  std::string name;
  Role role = Role::user;
  int32_t layer = -1;      // of caches and states
  std::string mask = {};   // of masks: the name under the contract
  int32_t alias = -1;      // of outputs: the index of the input whose memory it is
};

struct Graph {
  std::string name;
  std::vector<Value> values;
  std::vector<Node> nodes;  // in order of execution
  std::vector<Port> inputs, outputs;

  const Type& type(ValueId id) const { return values[static_cast<size_t>(id)].type; }
  bool is_constant(ValueId id) const { return id >= 0 && values[static_cast<size_t>(id)].def == Def::constant; }
  ValueId add_value(Type type, Def def, int32_t constant = -1);
  // The value of a constant in this graph, made on first use.
  ValueId constant_value(int32_t constant, const Type& type);
  // For each value, the index of the node that makes it; -1 for inputs and constants.
  std::vector<int32_t> producers() const;
  // For each value, how often nodes and outputs use it.
  std::vector<int32_t> use_counts() const;
  // Puts `to` in the place of `from` in all operands and outputs.
  void replace_uses(ValueId from, ValueId to);
};

// How a backend that packs weights should store a constant; a portable program stores the plain elements.
enum class Packing : uint8_t { plain, keep, int8, int4 };
std::string_view packing_name(Packing packing);
std::optional<Packing> packing_from_name(std::string_view name);

struct Constant {
  std::string name;  // qualified source name; unique in the module
  ConstantPtr source;
  Packing packing = Packing::plain;
  std::string digest;  // SHA-256 of the bytes in hex, where it is known without reading them
  Type type() const { return Type(source->dtype(), source->shape()); }
};

struct Module {
  std::vector<Constant> constants;
  std::vector<Graph> methods;

  // The pool index of a constant, added on first use. The same name with another source is an error.
  Result<int32_t> add_constant(const std::string& name, ConstantPtr source, Packing packing = Packing::plain);
  std::optional<int32_t> find_constant(std::string_view name) const;
  const Graph* find_method(std::string_view name) const;

 private:
  mutable std::map<std::string, int32_t, std::less<>> by_name_;  // brought up to date where the pool has grown or changed
};

}  // namespace pteron::ir
