// What a backend implements to compile: which operators it takes, and what it makes of a region of them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "core/stored_weight.h"
#include "ir/graph.h"
#include "ir/pass.h"
#include "partition/named_data.h"

namespace pteron::partition {

using KeyValue = std::pair<std::string, std::string>;

// A backend's own options, made by its `parse_options`; it casts them back to its type.
class BackendOptions {
 public:
  virtual ~BackendOptions() = default;
};

// Whether a node is taken; where not, the reason for the report ("softcap is not supported").
struct Claim {
  bool taken = false;
  std::string reason;
};

// What one delegate call will run. `graph` is a graph of its own over the module's constants: nodes in order, composites as the builder made
// them. The call's arguments are all inputs in order, then all outputs without an alias in order. An output with an alias is the named input
// after the call, written in place (a cache): it is no argument of its own. Inputs and outputs that are the method's own keep their
// names, roles and layers; the others have role `user` and a name of their own.
struct Region {
  const ir::Module& module;
  ir::Graph graph;
  std::string method;  // the method that it belongs to
};

struct Payload {
  std::vector<std::byte> bytes;                                            // the delegate's blob
  std::vector<std::pair<std::string, std::vector<std::byte>>> compile_specs;  // stored beside it, passed unmodified to the run half
  std::vector<StoredWeight> weights;                                       // of the named data that it refers to, for the report
};

class CompileBackend {
 public:
  virtual ~CompileBackend() = default;

  // The name that users type ("cpu") and the delegate id that the file carries ("PteronCpu").
  virtual std::string_view name() const = 0;
  virtual std::string_view delegate_id() const = 0;
  virtual std::string_view summary() const = 0;

  // What export options default to where this backend is asked for: how weights are packed (of a source that is not block-encoded itself), and the caches'
  // element type. A backend without packings of its own leaves `plain`; any other is then refused.
  virtual ir::Packing default_packing() const { return ir::Packing::plain; }
  virtual ScalarType default_cache_dtype() const { return ScalarType::Float; }

  // Options from `--backend name:key=value,...`. An unknown key is an error that lists the known ones.
  virtual Result<std::unique_ptr<BackendOptions>> parse_options(std::span<const KeyValue> options) const = 0;

  // Passes to run on the whole module after the caller's own and before the partition.
  virtual std::vector<ir::Pass> edge_transforms(const BackendOptions& options) const {
    (void)options;
    return {};
  }

  // One claim for each node of `graph`, in order.
  virtual std::vector<Claim> claim(const ir::Module& module, const ir::Graph& graph, const BackendOptions& options) const = 0;

  // Compiles a region of claimed nodes. Large data goes into `data`, which all methods share.
  virtual Result<Payload> compile(const Region& region, const BackendOptions& options, NamedDataStore& data) const = 0;
};

// The error of `parse_options` for an unknown key.
Status unknown_option(std::string_view backend, std::string_view key, std::span<const std::string_view> known);

}  // namespace pteron::partition
