// One graph becomes one execution plan.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "emit/emit.h"
#include "format/model.h"
#include "ir/graph.h"

namespace pteron::emit {

// Gives the module's constants their places in the program, in order of first use.
class ConstantTable {
 public:
  explicit ConstantTable(const ir::Module& module) : module_(module), index_(module.constants.size(), 0) {}
  // data_buffer_idx of a constant: 1 and up.
  uint32_t place(int32_t constant);
  const ir::Constant& constant(int32_t index) const { return module_.constants[static_cast<size_t>(index)]; }
  const std::vector<int32_t>& order() const { return order_; }

 private:
  const ir::Module& module_;
  std::vector<uint32_t> index_;  // 0: not placed
  std::vector<int32_t> order_;
};

struct LoweredMethod {
  format::Plan plan;
  std::vector<const DelegateBlob*> delegates;  // in the order of plan.delegates, whose `index` the caller sets
  MethodReport report;
};

struct LowerOptions {
  bool state_outputs = false;
  bool external_constants = false;
};

// The graph must verify and hold no composites. Values that are views of planned memory share it; other views are re-pointed when they run.
Result<LoweredMethod> lower(const ir::Graph& graph, const std::vector<DelegateBlob>& delegates, const LowerOptions& options, ConstantTable& constants);

}  // namespace pteron::emit
