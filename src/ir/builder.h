// Building graphs: operators by name of their enumerator, types inferred, the first error kept.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace pteron::ir {

// Appends to one graph of a module. After an error further calls do nothing; `status()` has the first one.
class Builder {
 public:
  Builder(Module& module, Graph& graph) : module_(module), graph_(graph) {}

  const Status& status() const { return status_; }
  Graph& graph() { return graph_; }
  Module& module() { return module_; }

  ValueId input(Type type, Port port);
  void output(ValueId value, Port port);
  ValueId constant(const std::string& name, ConstantPtr source, Packing packing = Packing::plain);
  ValueId constant(int32_t index);

  // Appends an operator. Attributes that are left out take the schema's defaults; optional trailing operands may be left out too.
  ValueId op(Op op, std::vector<ValueId> operands, Attributes attributes = {});
  // The same for operators with several results, or whose result types are declared.
  std::vector<ValueId> op_with_types(Op op, std::vector<ValueId> operands, Attributes attributes, const std::vector<Type>& types);
  std::vector<ValueId> op_multi(Op op, std::vector<ValueId> operands, Attributes attributes = {});

  // Shorthands.
  ValueId view(ValueId x, std::vector<int64_t> size);  // x itself where the shape is its own
  ValueId permute(ValueId x, std::vector<int64_t> dims);
  ValueId cast(ValueId x, ScalarType dtype);           // x itself where the type is its own
  ValueId scale(ValueId x, double factor);             // x itself for factor 1
  const Type& type(ValueId id) const { return graph_.type(id); }

  void fail(Status status);

 private:
  Module& module_;
  Graph& graph_;
  Status status_;
};

}  // namespace pteron::ir
