#include "emit/lower.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <typeinfo>

#include "emit/memory_plan.h"

namespace pteron::emit {
namespace {

using ir::Graph;
using ir::Node;
using ir::Op;
using ir::ValueId;

// Where a value's bytes are.
enum class Home : uint8_t { constant, unplanned, planned };

class Lowering {
 public:
  Lowering(const Graph& graph, const std::vector<DelegateBlob>& delegates, const LowerOptions& options, ConstantTable& constants)
      : graph_(graph), delegates_(delegates), options_(options), constants_(constants), index_(graph.values.size(), -1), root_(graph.values.size()) {}

  Result<LoweredMethod> run() {
    out_.plan.name = out_.report.name = graph_.name;
    find_roots();
    plan_memory();
    for (const ir::Port& port : graph_.inputs) {
      PTERON_ASSIGN(const int32_t index, tensor(port.value));
      name_tensor(index, port.name);
      out_.plan.inputs.push_back(index);
    }
    out_.plan.chains.emplace_back();
    for (const Node& node : graph_.nodes) PTERON_TRY(lower_node(node));
    for (const ir::Port& port : graph_.outputs) {
      if (port.alias >= 0 && !options_.state_outputs) continue;
      PTERON_ASSIGN(const int32_t index, tensor(port.value));
      if (root_[static_cast<size_t>(port.value)] == port.value && graph_.values[static_cast<size_t>(port.value)].def == ir::Def::node) name_tensor(index, port.name);
      out_.plan.outputs.push_back(index);
    }
    out_.report.instructions = static_cast<int64_t>(out_.plan.chains[0].instructions.size());
    out_.report.values = static_cast<int64_t>(out_.plan.values.size());
    return std::move(out_);
  }

 private:
  ValueId root(ValueId id) const { return root_[static_cast<size_t>(id)]; }
  Home home(ValueId id) const {
    const ValueId r = root(id);
    const ir::Def def = graph_.values[static_cast<size_t>(r)].def;
    if (def == ir::Def::constant) return Home::constant;
    return def == ir::Def::input || outputs_.count(r) ? Home::unplanned : Home::planned;
  }
  // A view whose bytes are its source's. What leaves the method has memory of its own.
  bool is_view(const Node& node) const { return node.op == Op::aten_view_copy && !outputs_.count(node.result()) && graph_.type(node.result()).is_static(); }

  // For each value the one whose memory it shares: sources of views, what in-place operators and delegates write.
  void find_roots() {
    for (size_t i = 0; i < root_.size(); ++i) root_[i] = static_cast<ValueId>(i);
    for (const ir::Port& port : graph_.outputs) {
      if (port.alias < 0) outputs_.insert(port.value);
    }
    for (const Node& node : graph_.nodes) {
      if (is_view(node) || ir::schema(node.op).in_place) root_[static_cast<size_t>(node.result())] = root(node.operands[0]);
      if (node.op != Op::delegate) continue;
      const auto& aliases = node.integers("aliases");
      for (size_t i = 0; i < aliases.size() && i < node.results.size(); ++i) {
        if (aliases[i] >= 0) root_[static_cast<size_t>(node.results[i])] = root(node.operands[static_cast<size_t>(aliases[i])]);
      }
    }
  }

  void plan_memory() {
    std::map<ValueId, size_t> buffer_of;
    std::vector<Buffer> buffers;
    for (size_t step = 0; step < graph_.nodes.size(); ++step) {
      const Node& node = graph_.nodes[step];
      const auto touch = [&](ValueId id) {
        if (id == ir::kNone || home(id) != Home::planned) return;
        const auto at = static_cast<int64_t>(step);
        const auto [it, fresh] = buffer_of.emplace(root(id), buffers.size());
        if (fresh) buffers.push_back({graph_.type(root(id)).nbytes().value_or(0), at, at, 0});
        buffers[it->second].last = at;
      };
      for (ValueId id : node.results) touch(id);
      for (ValueId id : node.operands) touch(id);
    }
    out_.report.arena_bytes = emit::plan_memory(buffers);
    for (const Buffer& buffer : buffers) out_.report.unshared_bytes += buffer.bytes;
    for (const auto& [id, i] : buffer_of) offsets_[id] = buffers[i].offset;
    out_.plan.non_const_buffer_sizes = {0};
    if (!buffers.empty()) out_.plan.non_const_buffer_sizes.push_back(static_cast<int64_t>(out_.report.arena_bytes));
  }

  template <class T>
  int32_t add(T value) {
    out_.plan.values.emplace_back(std::in_place_type<T>, std::move(value));
    return static_cast<int32_t>(out_.plan.values.size() - 1);
  }

  void name_tensor(int32_t index, const std::string& name) { std::get<format::Tensor>(out_.plan.values[static_cast<size_t>(index)]).name = name; }

  // The value index of a tensor, made on first use.
  Result<int32_t> tensor(ValueId id) {
    // What is written in place is the same value; a view is a value of its own.
    if (root(id) != id && graph_.type(id) == graph_.type(root(id))) id = root(id);
    int32_t& index = index_[static_cast<size_t>(id)];
    if (index >= 0) return index;
    const ir::Type& type = graph_.type(id);
    format::Tensor t;
    t.dtype = type.dtype;
    for (size_t d = 0; d < type.rank(); ++d) {
      if (type.dims[d].size > INT32_MAX || !type.nbytes()) {
        return Status::error(Code::out_of_capacity, "a tensor is too large for a program", {.field = graph_.name, .expected = "sizes below 2^31", .found = to_string(type)});
      }
      t.sizes.push_back(static_cast<int32_t>(type.dims[d].size));
      t.dim_order.push_back(static_cast<uint8_t>(d));
    }
    t.nbytes = *type.nbytes();
    if (!type.is_static()) t.dynamism = format::ShapeDynamism::bound;
    const ValueId r = root(id);
    if (home(id) == Home::constant) {
      const int32_t constant = graph_.values[static_cast<size_t>(r)].constant;
      const uint32_t place = constants_.place(constant);
      t.name = constants_.constant(constant).name;
      t.external = options_.external_constants;
      t.data_buffer_idx = t.external ? 0 : place;
    } else if (home(id) == Home::planned) {
      t.allocation = format::Allocation{1, offsets_.at(r)};
    }
    return index = add(std::move(t));
  }

  template <class T>
  int32_t literal(T value) {
    std::string key = typeid(T).name();
    if constexpr (std::is_same_v<T, std::string>) key += value;
    else if constexpr (!std::is_same_v<T, format::None>) key.append(reinterpret_cast<const char*>(&value), sizeof value);
    const auto [it, fresh] = literals_.emplace(std::move(key), 0);
    if (fresh) it->second = add(std::move(value));
    return it->second;
  }

  int32_t integer_list(const std::vector<int64_t>& items) {
    const auto [it, fresh] = lists_.emplace(items, 0);
    if (fresh) {
      format::IntList list;
      for (int64_t item : items) list.items.push_back(literal(item));
      it->second = add(std::move(list));
    }
    return it->second;
  }

  int32_t attribute(const ir::Arg& arg, const ir::Attribute& value) {
    struct Visit {
      Lowering& self;
      const ir::Arg& arg;
      int32_t operator()(ir::NoneValue) const { return self.literal(format::None{}); }
      int32_t operator()(int64_t v) const { return self.literal(v); }
      int32_t operator()(double v) const { return self.literal(v); }
      int32_t operator()(bool v) const { return self.literal(v); }
      int32_t operator()(const std::string& v) const { return self.literal(v); }
      int32_t operator()(ScalarType v) const { return self.literal(static_cast<int64_t>(v)); }
      int32_t operator()(const std::vector<int64_t>& v) const { return self.integer_list(v); }
      int32_t operator()(const std::vector<double>& v) const { return self.add(format::DoubleList{v}); }
    };
    return std::visit(Visit{*this, arg}, value);
  }

  int32_t operator_index(const std::string& name, const std::string& overload) {
    const auto [it, fresh] = operators_.emplace(name + "." + overload, static_cast<int32_t>(out_.plan.operators.size()));
    if (fresh) out_.plan.operators.push_back({name, overload});
    return it->second;
  }

  Status lower_node(const Node& node) {
    if (node.op == Op::delegate) return delegate_call(node);
    if (is_view(node)) return view(node);
    const ir::Schema& schema = ir::schema(node.op);
    if (schema.composite) {
      return Status::error(Code::internal, "an operator reached the emitter that no kernel library has", {.field = graph_.name, .found = schema.text_name});
    }
    std::vector<int32_t> args;
    size_t tensors = 0, position = 0;
    for (const ir::Arg& arg : schema.args) tensors += arg.is_tensor() ? 1 : 0;
    for (const ir::Arg& arg : schema.args) {
      if (!arg.is_tensor()) {
        args.push_back(attribute(arg, *node.find(arg.name)));
        continue;
      }
      const size_t count = arg.kind == ir::ArgKind::tensor_list ? node.operands.size() + 1 - tensors : 1;
      std::vector<int32_t> items;
      for (size_t i = 0; i < count; ++i, ++position) {
        const ValueId id = node.operands[position];
        int32_t item = -1;
        if (id != ir::kNone) {
          PTERON_ASSIGN(item, tensor(id));
        } else if (arg.kind == ir::ArgKind::tensor) {
          item = literal(format::None{});
        }
        items.push_back(item);
      }
      if (arg.kind == ir::ArgKind::tensor) args.push_back(items[0]);
      else if (arg.optional) args.push_back(add(format::OptionalTensorList{items}));
      else args.push_back(add(format::TensorList{items}));
    }
    PTERON_TRY(results(node, schema, args));
    out_.plan.chains[0].instructions.push_back(format::KernelCall{operator_index(schema.name, schema.overload), std::move(args)});
    return {};
  }

  // The out arguments and the entry for the return value.
  Status results(const Node& node, const ir::Schema& schema, std::vector<int32_t>& args) {
    std::vector<int32_t> outs;
    for (ValueId id : node.results) {
      PTERON_ASSIGN(const int32_t index, tensor(id));
      outs.push_back(index);
    }
    if (schema.outs > 0) args.insert(args.end(), outs.begin(), outs.end());
    args.push_back(outs.size() == 1 ? outs[0] : add(format::TensorList{outs}));
    return {};
  }

  // A view of planned memory or of a constant is another value at the same place. Where memory comes from outside, an instruction points the view at it.
  Status view(const Node& node) {
    PTERON_ASSIGN(const int32_t out, tensor(node.result()));
    PTERON_ASSIGN(const int32_t source, tensor(node.operands[0]));
    if (home(node.result()) != Home::unplanned || out == source) return {};
    const int32_t size = integer_list(graph_.type(node.result()).sizes());
    out_.plan.chains[0].instructions.push_back(format::KernelCall{operator_index("executorch_prim::et_view", "default"), {source, size, out}});
    return {};
  }

  Status delegate_call(const Node& node) {
    const auto which = static_cast<size_t>(node.integer("index"));
    if (which >= delegates_.size()) {
      return Status::error(Code::internal, "a delegate node has no payload", {.field = graph_.name, .expected = "an index below " + std::to_string(delegates_.size()), .found = std::to_string(which)});
    }
    const DelegateBlob& blob = delegates_[which];
    format::DelegateCall call{static_cast<int32_t>(out_.plan.delegates.size()), {}};
    for (ValueId id : node.operands) {
      PTERON_ASSIGN(const int32_t index, tensor(id));
      call.args.push_back(index);
    }
    const auto& aliases = node.integers("aliases");
    for (size_t i = 0; i < node.results.size(); ++i) {
      if (i < aliases.size() && aliases[i] >= 0) continue;
      PTERON_ASSIGN(const int32_t index, tensor(node.results[i]));
      call.args.push_back(index);
    }
    format::Delegate delegate;
    delegate.id = blob.id;
    for (const auto& [key, value] : blob.compile_specs) delegate.compile_specs.push_back({key, value});
    out_.plan.delegates.push_back(std::move(delegate));
    out_.delegates.push_back(&blob);
    out_.plan.chains[0].instructions.push_back(std::move(call));
    return {};
  }

  const Graph& graph_;
  const std::vector<DelegateBlob>& delegates_;
  const LowerOptions& options_;
  ConstantTable& constants_;
  std::vector<int32_t> index_;           // of each value in the plan
  std::vector<ValueId> root_;
  std::set<ValueId> outputs_;            // values that leave the method in memory of their own
  std::map<ValueId, uint64_t> offsets_;  // of planned roots
  std::map<std::string, int32_t> literals_, operators_;
  std::map<std::vector<int64_t>, int32_t> lists_;
  LoweredMethod out_;
};

}  // namespace

uint32_t ConstantTable::place(int32_t constant) {
  uint32_t& index = index_[static_cast<size_t>(constant)];
  if (index == 0) {
    order_.push_back(constant);
    index = static_cast<uint32_t>(order_.size());
  }
  return index;
}

Result<LoweredMethod> lower(const Graph& graph, const std::vector<DelegateBlob>& delegates, const LowerOptions& options, ConstantTable& constants) {
  return Lowering(graph, delegates, options, constants).run();
}

}  // namespace pteron::emit
