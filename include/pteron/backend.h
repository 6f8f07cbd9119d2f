// What a backend author implements, both halves. An application hands its backends to `export_program` and to `Engine::load` or `Program::load`;
// nothing registers itself. docs/backends.md walks through an example.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "pteron/allocator.h"
#include "pteron/method.h"
#include "pteron/status.h"
#include "pteron/tensor.h"

namespace pteron {

/// A value of a graph. Sizes are fixed; a constant's elements are read through `BackendGraph::read_floats`.
struct GraphValue {
  ScalarType dtype = ScalarType::Float;
  std::vector<int64_t> sizes;
  bool constant = false;
  std::string name;  ///< of a constant: unique in the program, the same in all methods
};

using GraphAttribute = std::variant<std::monostate, bool, int64_t, double, std::string, std::vector<int64_t>, std::vector<double>>;

/// One operator, "aten::add.out" or a composite such as "pteron::linear". `operands` and `results` index the graph's values.
struct GraphNode {
  std::string op;
  std::vector<int32_t> operands;  ///< tensor arguments in the order of the schema; -1 where an optional one is left out
  std::vector<int32_t> results;
  std::vector<std::pair<std::string, GraphAttribute>> attributes;  ///< all other arguments, defaults filled in; dtypes as their names

  const GraphAttribute* find(std::string_view name) const;
};

/// A method, or the region of one that becomes a delegate. Nodes stand in order of execution.
struct BackendGraph {
  std::string method;
  std::vector<GraphValue> values;
  std::vector<GraphNode> nodes;
  std::vector<int32_t> inputs;   ///< values, in the order of a call's arguments
  std::vector<int32_t> outputs;  ///< values; those that are written in place (caches) carry the index of their input in `aliases`, others -1
  std::vector<int32_t> aliases;  ///< one an output. A call's arguments are all inputs, then the outputs without an alias
  /// All elements of constant `value` as float32, row by row.
  std::function<Result<std::vector<float>>(int32_t value)> read_floats;
};

/// Whether a node is taken; where not, the reason for the report.
struct BackendClaim {
  bool taken = false;
  std::string reason;
};

/// What a region becomes.
struct BackendPayload {
  std::vector<std::byte> bytes;                                            ///< handed to the run half
  std::vector<std::pair<std::string, std::vector<std::byte>>> named_data;  ///< shared by all methods: one key means the same bytes everywhere
};

using BackendOptionList = std::span<const std::pair<std::string, std::string>>;

/// The compile half. Immutable; called from one thread.
class CompileBackend {
 public:
  virtual ~CompileBackend() = default;
  virtual std::string_view name() const = 0;         ///< what users type
  virtual std::string_view delegate_id() const = 0;  ///< what the file carries
  virtual std::string_view summary() const = 0;
  /// Refuses options that are unknown or malformed; the error lists the known ones.
  virtual Status check_options(BackendOptionList options) const;
  /// One claim for each node of a whole method, in order. Claimed nodes are joined into regions as large as they can be.
  virtual std::vector<BackendClaim> claim(const BackendGraph& method, BackendOptionList options) const = 0;
  virtual Result<BackendPayload> compile(const BackendGraph& region, BackendOptionList options) const = 0;
};

/// One argument of a delegate call, valid during it.
struct DelegateArgument {
  ValueKind kind = ValueKind::none;
  MutableTensorView tensor;   ///< of a tensor
  bool writable = false;      ///< false: a constant of the program, or what else must not be changed
  int64_t int_value = 0;      ///< of a number or a boolean
  double double_value = 0;
};

/// One initialised payload inside a loaded method. Driven by one thread at a time.
class RunDelegate {
 public:
  virtual ~RunDelegate() = default;
  /// All inputs of the region, then its outputs, in order. Kinds, dtypes, sizes and null data are the delegate's to check.
  virtual Status execute(std::span<const DelegateArgument> arguments) = 0;
  /// Forgets state that earlier executions left.
  virtual Status reset() { return {}; }
};

/// What the run half may use while it makes a delegate. The context is gone when `init` returns; what it gave, and the payload, outlive the delegate.
class DelegateContext {
 public:
  virtual ~DelegateContext() = default;
  virtual std::string_view method() const = 0;
  virtual Allocator& allocator() const = 0;
  virtual size_t threads() const = 0;  ///< that kernels may use
  /// Bytes under `key`, in place; `not_found` names the key.
  virtual Result<std::span<const std::byte>> named_data(std::string_view key) const = 0;
};

/// The run half. Immutable and safe to share by threads.
class RunBackend {
 public:
  virtual ~RunBackend() = default;
  virtual std::string_view id() const = 0;  ///< the compile half's `delegate_id`
  /// Success where this machine can run the backend, else the reason why not.
  virtual Status available() const { return {}; }
  /// `payload` comes from a file: everything in it is to be checked.
  virtual Result<std::unique_ptr<RunDelegate>> init(std::span<const std::byte> payload, const DelegateContext& context) const = 0;
  /// Memory that the backend's device shares with the host; null: host memory serves.
  virtual Allocator* io_allocator() const { return nullptr; }
};

}  // namespace pteron
