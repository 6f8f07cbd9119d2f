#include "backends/cpu/compile/planner.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "backends/cpu/compile/arena.h"
#include "backends/cpu/compile/fuse.h"
#include "backends/cpu/payload/step_values.h"

namespace pteron::cpu_backend {
namespace {

using ir::Graph;
using ir::kNone;
using ir::Node;
using ir::Op;
using ir::Type;
using ir::ValueId;

Activation activation_of(const std::string& kind) {
  if (kind == "silu") return Activation::silu;
  if (kind == "gelu") return Activation::gelu_erf;
  if (kind == "gelu_tanh") return Activation::gelu_tanh;
  return kind == "relu" ? Activation::relu : Activation::none;
}

// A norm or rotation that is done by the step that reads its result.
struct Deferred {
  ValueId in = kNone;
  Norm norm;
  int32_t rope = kAbsent;
  bool interleaved = false;
};

class Planner {
 public:
  Planner(const partition::Region& region, const StoreOptions& store, partition::NamedDataStore& data)
      : module_(region.module), graph_(region.graph), store_(store), data_(data), uses_(graph_.use_counts()), producers_(graph_.producers()) {}

  Result<Plan> run() {
    declare_arguments();
    for (const Node& node : graph_.nodes) {
      add(node);
      PTERON_TRY(std::move(status_));
    }
    finish();
    PTERON_TRY(std::move(status_));
    return std::move(plan_);
  }

 private:
  const Type& type(ValueId id) const { return graph_.type(id); }
  size_t index(ValueId id) const { return static_cast<size_t>(id); }
  int64_t rows(ValueId id) const { return type(id).dims[1].size; }
  uint32_t width(ValueId id) const { return static_cast<uint32_t>(type(id).numel().value_or(0) / static_cast<uint64_t>(rows(id))); }
  const Node* producer(ValueId id) const { return producers_[index(id)] < 0 ? nullptr : &graph_.nodes[static_cast<size_t>(producers_[index(id)])]; }

  // Views have the memory of what they view.
  ValueId root(ValueId id) const {
    const auto it = views_.find(id);
    return it == views_.end() ? id : it->second;
  }
  bool is_output(ValueId id) const {
    return std::any_of(graph_.outputs.begin(), graph_.outputs.end(), [&](const ir::Port& port) { return port.value == id; });
  }
  // Whether only one node reads a value, and nothing else.
  bool read_once(ValueId id) const { return uses_[index(id)] == 1 && !is_output(id); }

  // The inputs in order, then the outputs that are written by their own argument.
  void declare_arguments() {
    for (const ir::Port& port : graph_.inputs) {
      arguments_[port.value] = add_argument(port.value, false);
      if (port.role == ir::Role::last_row) last_row_ = arguments_[port.value];
    }
    for (const Node& node : graph_.nodes) {
      if (node.op == Op::cache_write) continue;
      const Type& t = type(node.result());
      if (t.rank() >= 2) plan_.rows = std::max(plan_.rows, static_cast<uint32_t>(t.dims[1].size));
    }
    bool whole_output = false;
    for (const ir::Port& port : graph_.outputs) {
      if (port.alias >= 0) continue;
      outputs_[port.value] = add_argument(port.value, true);
      whole_output = whole_output || (plan_.rows > 1 && rows(port.value) != 1);
    }
    if (!whole_output && plan_.rows > 1) plan_.last_row = last_row_;
  }
  int32_t add_argument(ValueId id, bool output) {
    Argument argument{type(id).dtype, output, {}};
    for (const int64_t size : type(id).sizes()) argument.sizes.push_back(static_cast<int32_t>(size));
    plan_.arguments.push_back(std::move(argument));
    return static_cast<int32_t>(plan_.arguments.size()) - 1;
  }
  int32_t argument(ValueId id) const { return arguments_.at(id); }

  int32_t add_tensor(TensorRef tensor, partition::ByteRecipe recipe) {
    for (size_t i = 0; i < plan_.tensors.size(); ++i) {
      if (plan_.tensors[i].key == tensor.key) return static_cast<int32_t>(i);
    }
    if (Status status = data_.add(tensor.key, std::move(recipe), kPackedAlignment, tensor.error); !status.ok() && status_.ok()) status_ = std::move(status);
    plan_.tensors.push_back(std::move(tensor));
    return static_cast<int32_t>(plan_.tensors.size()) - 1;
  }
  const ir::Constant& constant(ValueId id) const { return module_.constants[static_cast<size_t>(graph_.values[index(id)].constant)]; }

  int32_t weight(ValueId id) {
    const ir::Constant& c = constant(id);
    const PackedEncoding encoding = choose_encoding(c, store_);
    const std::string key = "cpu/" + c.name + "/" + std::string(packed_layout(encoding)->name);
    TensorRef tensor{key, true, encoding, static_cast<uint32_t>(type(id).dims[0].size), static_cast<uint32_t>(type(id).dims[1].size)};
    auto recipe = pack_weight(c.source, encoding);
    if (!recipe.ok()) return fail(std::move(recipe).status().in_field(c.name));
    if (const auto* known = data_.find(key); known != nullptr) {
      tensor.error = known->error;
    } else {
      auto error = packing_error(c.source, encoding);
      if (!error.ok()) return fail(std::move(error).status().in_field(c.name));
      tensor.error = *error;
    }
    return add_tensor(std::move(tensor), std::move(recipe).value());
  }
  // A constant as plain floats, seen as rows of `cols`.
  int32_t plain(ValueId id, uint32_t cols) {
    if (id == kNone) return kAbsent;
    const auto elements = static_cast<uint32_t>(type(id).numel().value_or(0));
    if (cols == 0 || elements == 0 || elements % cols != 0) {
      return fail(Status::error(Code::invalid_argument, "a constant does not fit its operator",
                                {.field = constant(id).name, .expected = "a multiple of " + std::to_string(cols) + " elements", .found = std::to_string(elements)}));
    }
    return add_tensor({"cpu/" + constant(id).name + "/plain", false, PackedEncoding::float32, elements / cols, cols}, plain_floats(constant(id).source));
  }
  int32_t plain(const Node& node, size_t operand, uint32_t cols) { return operand < node.operands.size() ? plain(node.operands[operand], cols) : kAbsent; }
  int32_t fail(Status status) {
    if (status_.ok()) status_ = std::move(status);
    return 0;
  }

  int32_t rope_of(const Node& node) {
    const auto factor = static_cast<float>(node.number("attention_factor", 1));
    const int32_t frequencies = plain(node.operands[2], static_cast<uint32_t>(type(node.operands[2]).numel().value_or(0)));
    const int32_t positions = argument(node.operands[1]);
    for (size_t i = 0; i < plan_.ropes.size(); ++i) {
      const Rope& known = plan_.ropes[i];
      if (known.frequencies == frequencies && known.positions == positions && known.attention_factor == factor) return static_cast<int32_t>(i);
    }
    plan_.ropes.push_back({frequencies, positions, factor});
    return static_cast<int32_t>(plan_.ropes.size()) - 1;
  }
  int32_t mask_of(ValueId id, uint32_t slots) {
    for (size_t i = 0; i < plan_.masks.size(); ++i) {
      if (plan_.masks[i].argument == argument(id)) return static_cast<int32_t>(i);
    }
    plan_.masks.push_back({argument(id), slots});
    return static_cast<int32_t>(plan_.masks.size()) - 1;
  }
  Norm norm_of(const Node& node) {
    const auto last = static_cast<uint32_t>(type(node.operands[0]).size(-1));
    Norm norm{node.op == Op::rms_norm ? NormKind::rms : NormKind::layer, plain(node, 1, last), kAbsent, static_cast<float>(node.number("eps")), 0, last};
    if (node.op == Op::rms_norm) norm.offset = static_cast<float>(node.number("offset"));
    else norm.bias = plain(node, 2, last);
    return norm;
  }

  // The value as it is in a buffer; what was put off is done now.
  int32_t value(ValueId id) {
    id = root(id);
    const auto it = deferred_.find(id);
    if (it == deferred_.end() || done_.count(id) != 0) return id;
    done_.insert(id);
    const Deferred& d = it->second;
    const int32_t in = value(d.in);
    if (d.rope == kAbsent) {
      plan_.steps.push_back(NormStep{d.norm, in, id, false});
    } else {
      plan_.steps.push_back(MapStep{MapKind::copy, Activation::none, 1, in, id});
      plan_.steps.push_back(RopeStep{d.rope, id, static_cast<uint32_t>(type(id).size(-1)), d.interleaved});
    }
    return id;
  }

  void add(const Node& node) {
    const ValueId out = node.result();
    switch (node.op) {
      case Op::embedding: plan_.steps.push_back(EmbedStep{weight(node.operands[0]), argument(node.operands[1]), out, 1}); break;
      case Op::rms_norm:
      case Op::layer_norm: defer(out, {root(node.operands[0]), norm_of(node), kAbsent, false}); break;
      case Op::rope: defer(out, {root(node.operands[0]), {}, rope_of(node), node.boolean("interleaved")}); break;
      case Op::linear: add_projection(node.operands[0], node, 1, 2, out); break;
      case Op::gated_mlp: add_gated(node); break;
      case Op::mlp: add_mlp(node); break;
      case Op::cache_write:
        if (!attention_writes(out)) add_write(node);
        break;
      case Op::attention: add_attention(node); break;
      case Op::activation: map(node, {MapKind::activation, activation_of(node.string("kind")), 1, 0, out}); break;
      case Op::softcap: map(node, {MapKind::softcap, Activation::none, static_cast<float>(node.number("cap")), 0, out}); break;
      case Op::aten_mul_scalar: map(node, {MapKind::scale, Activation::none, static_cast<float>(scalar(node, "other")), 0, out}); break;
      case Op::aten_add: combine(node, CombineKind::add); break;
      case Op::aten_mul: combine(node, CombineKind::multiply); break;
      case Op::select_row: plan_.steps.push_back(SelectStep{value(node.operands[0]), argument(node.operands[1]), out}); break;
      case Op::aten_view_copy:
        if (is_output(out)) map(node, {MapKind::copy, Activation::none, 1, 0, out});
        else views_[out] = root(node.operands[0]);
        break;
      default: fail(Status::error(Code::internal, "a node that the cpu backend did not claim", {.field = ir::schema(node.op).text_name}));
    }
    if (is_output(out) && deferred_.count(out) != 0) value(out);
  }
  static double scalar(const Node& node, std::string_view name) {
    const ir::Attribute* a = node.find(name);
    if (a != nullptr && std::holds_alternative<int64_t>(*a)) return static_cast<double>(std::get<int64_t>(*a));
    return node.number(name);
  }
  void defer(ValueId out, Deferred deferred) { deferred_.emplace(out, deferred); }
  void map(const Node& node, MapStep step) {
    step.in = value(node.operands[0]);
    plan_.steps.push_back(step);
  }
  void combine(const Node& node, CombineKind kind) {
    const int32_t a = value(node.operands[0]), b = value(node.operands[1]);
    plan_.steps.push_back(CombineStep{kind, 1, a, b, node.result()});
  }

  bool is_integer(int32_t tensor) const { return packed_layout(plan_.tensors[static_cast<size_t>(tensor)].encoding)->record_columns != 1; }

  // What a projection reads: a norm over the whole row is done on the way.
  void read_rows(ValueId id, ProjectStep& step) {
    const auto it = deferred_.find(root(id));
    if (it != deferred_.end() && it->second.rope == kAbsent && it->second.norm.width == width(root(id)) && done_.count(root(id)) == 0) {
      step.norm = it->second.norm;
      step.in = value(it->second.in);
    } else {
      step.in = value(id);
    }
  }
  static bool same_norm(const Norm& a, const Norm& b) {
    return a.kind == b.kind && a.weight == b.weight && a.bias == b.bias && a.eps == b.eps && a.offset == b.offset && a.width == b.width;
  }

  // A linear operator, joined to an earlier one of the same input.
  void add_projection(ValueId x, const Node& node, size_t weight_operand, size_t bias_operand, ValueId out) {
    ProjectStep step;
    const int32_t w = weight(node.operands[weight_operand]);
    read_rows(x, step);
    if (!status_.ok()) return;
    const Projection projection{w, plain(node, bias_operand, plan_.tensors[static_cast<size_t>(w)].rows), out};
    for (Step& earlier : plan_.steps) {
      auto* same = std::get_if<ProjectStep>(&earlier);
      if (same == nullptr || same->in != step.in || same->mode != ProjectMode::store || same->activation != Activation::none || !same_norm(same->norm, step.norm)) continue;
      if (is_integer(same->projections[0].weight) != is_integer(w)) continue;
      same->projections.push_back(projection);
      return;
    }
    step.projections.push_back(projection);
    plan_.steps.push_back(std::move(step));
  }

  // The value between the two halves of an MLP: numbers past the graph's own.
  ValueId hidden(int32_t up, int32_t down, bool single_row) {
    return own_buffer(plan_.tensors[static_cast<size_t>(up)].rows, single_row, is_integer(down) ? BufferFormat::quantized : BufferFormat::float32);
  }
  ValueId own_buffer(uint32_t width, bool single_row, BufferFormat format) {
    const auto id = static_cast<ValueId>(graph_.values.size() + hidden_.size());
    hidden_.push_back({kAbsent, 0, width, single_row, format});
    return id;
  }
  bool single(ValueId id) const { return plan_.rows > 1 && rows(id) == 1; }

  void add_gated(const Node& node) {
    ProjectStep step;
    read_rows(node.operands[0], step);
    const int32_t gate = weight(node.operands[1]), up = weight(node.operands[2]), down = weight(node.operands[3]);
    if (!status_.ok()) return;
    const auto bias = [&](size_t operand, int32_t of) { return plain(node, operand, plan_.tensors[static_cast<size_t>(of)].rows); };
    const Activation activation = activation_of(node.string("activation"));
    const bool one_row = single(node.operands[0]);
    ValueId between = kNone;
    if (is_integer(gate) == is_integer(up)) {
      between = hidden(up, down, one_row);
      step.projections = {{gate, bias(4, gate), between}, {up, bias(5, up), between}};
      step.mode = ProjectMode::gated;
      step.activation = activation;
      plan_.steps.push_back(std::move(step));
    } else {
      // Integers and floats read different rows: each by itself, then the product.
      const uint32_t inner = plan_.tensors[static_cast<size_t>(up)].rows;
      ProjectStep gated = step;
      between = own_buffer(inner, one_row, BufferFormat::float32);
      const ValueId other = own_buffer(inner, one_row, BufferFormat::float32);
      gated.projections = {{gate, bias(4, gate), between}};
      gated.activation = activation;
      step.projections = {{up, bias(5, up), other}};
      plan_.steps.push_back(std::move(gated));
      plan_.steps.push_back(std::move(step));
      plan_.steps.push_back(CombineStep{CombineKind::multiply, 1, between, other, between});
    }
    plan_.steps.push_back(ProjectStep{between, {}, {{down, bias(6, down), node.result()}}, ProjectMode::store, Activation::none});
  }

  void add_mlp(const Node& node) {
    ProjectStep step;
    read_rows(node.operands[0], step);
    const int32_t up = weight(node.operands[1]), down = weight(node.operands[2]);
    if (!status_.ok()) return;
    const ValueId between = hidden(up, down, single(node.operands[0]));
    step.projections = {{up, plain(node, 3, plan_.tensors[static_cast<size_t>(up)].rows), between}};
    step.activation = activation_of(node.string("activation"));
    plan_.steps.push_back(std::move(step));
    plan_.steps.push_back(ProjectStep{between, {}, {{down, plain(node, 4, plan_.tensors[static_cast<size_t>(down)].rows), node.result()}}, ProjectMode::store, Activation::none});
  }

  // The argument that a chain of cache writes goes to.
  int32_t cache_argument(ValueId id) const {
    while (const Node* node = producer(id)) id = node->operands[0];
    return argument(id);
  }

  // Whether the only reader of a cache's new state is an attention whose two caches are written alike: then that does the writing.
  bool attention_writes(ValueId state) const {
    const Node* reader = nullptr;
    for (const Node& node : graph_.nodes) {
      for (const ValueId id : node.operands) {
        if (id != state) continue;
        if (reader != nullptr || node.op != Op::attention) return false;
        reader = &node;
      }
    }
    if (reader == nullptr || reader->operands[1] == reader->operands[2]) return false;
    const Node *keys = producer(reader->operands[1]), *values = producer(reader->operands[2]);
    if (keys == nullptr || values == nullptr || keys->operands[2] != values->operands[2]) return false;
    // Chains of writes stay steps of their own, and so do caches that someone else reads too.
    for (const Node* write : {keys, values}) {
      if (producer(write->operands[0]) != nullptr || !read_by_one_node(write->result())) return false;
    }
    return true;
  }
  bool read_by_one_node(ValueId id) const {
    size_t readers = 0;
    for (const Node& node : graph_.nodes) readers += static_cast<size_t>(std::count(node.operands.begin(), node.operands.end(), id));
    return readers == 1;
  }

  void add_write(const Node& node) {
    const Type& cache = type(node.result());
    plan_.steps.push_back(WriteStep{value(node.operands[1]), cache_argument(node.operands[0]), argument(node.operands[2]), static_cast<uint32_t>(cache.dims[1].size),
                                    static_cast<uint32_t>(cache.dims[3].size), static_cast<uint32_t>(cache.dims[2].size)});
  }

  // Heads that an attention reads: takes over a rotation and a norm by head where nobody else reads between.
  int32_t heads(ValueId id, uint32_t dim, Norm& norm, int32_t& rope, std::optional<bool>& interleaved) {
    ValueId at = root(id);
    auto it = deferred_.find(at);
    if (it != deferred_.end() && it->second.rope != kAbsent && read_once(at) && interleaved.value_or(it->second.interleaved) == it->second.interleaved) {
      rope = it->second.rope;
      interleaved = it->second.interleaved;
      at = it->second.in;
      it = deferred_.find(at);
    }
    if (it != deferred_.end() && it->second.rope == kAbsent && it->second.norm.width == dim && read_once(at)) {
      norm = it->second.norm;
      at = it->second.in;
    }
    const bool changed = rope != kAbsent || norm.kind != NormKind::none;
    const int32_t in = value(at);
    if (!changed || (uses_[index(at)] == 1 && !is_output(at) && arguments_.count(at) == 0)) return in;
    // Someone else reads it: rotate a copy.
    const ValueId copy = own_buffer(width(at), false, BufferFormat::float32);
    plan_.steps.push_back(MapStep{MapKind::copy, Activation::none, 1, in, copy});
    return copy;
  }

  void add_attention(const Node& node) {
    const Type &query = type(node.operands[0]), &keys = type(node.operands[1]), &values = type(node.operands[2]);
    const auto dim = [](const Type& t, size_t i) { return static_cast<uint32_t>(t.dims[i].size); };
    AttendStep step;
    step.heads = dim(query, 2), step.kv_heads = dim(keys, 1), step.key_dim = dim(keys, 3), step.value_dim = dim(values, 3), step.slots = dim(keys, 2);
    std::optional<bool> interleaved;
    step.queries = heads(node.operands[0], step.key_dim, step.query_norm, step.query_rope, interleaved);
    if (attention_writes(node.operands[1])) {
      const Node &key_write = *producer(node.operands[1]), &value_write = *producer(node.operands[2]);
      step.keys = heads(key_write.operands[1], step.key_dim, step.key_norm, step.key_rope, interleaved);
      step.values = value(value_write.operands[1]);
      step.positions = argument(key_write.operands[2]);
    }
    step.interleaved = interleaved.value_or(false);
    step.key_cache = cache_argument(node.operands[1]);
    step.value_cache = cache_argument(node.operands[2]);
    step.mask = mask_of(node.operands[3], step.slots);
    step.bias = plain(node, 4, step.slots);
    step.scale = static_cast<float>(node.number("scale"));
    step.softcap = static_cast<float>(node.number("softcap"));
    step.out = node.result();
    plan_.steps.push_back(step);
  }

  // From values to buffers: fuse, give outputs their arguments, convert what is no float32, lay out the arena.
  void finish() {
    std::set<int32_t> kept;
    for (const auto& [id, argument] : outputs_) kept.insert(id);
    for (const auto& [id, argument] : arguments_) kept.insert(id);
    fuse_steps(plan_.steps, kept);
    std::map<int32_t, int32_t> buffers;
    std::vector<Step> first;
    for (Step& step : plan_.steps) {
      each_buffer(step, [&](int32_t& id, Access) {
        const auto [it, fresh] = buffers.emplace(id, static_cast<int32_t>(plan_.buffers.size()));
        if (fresh) plan_.buffers.push_back(make_buffer(id, it->second, first));
        id = it->second;
      });
    }
    for (const auto& [id, argument] : outputs_) {
      const auto it = buffers.find(id);
      if (it == buffers.end()) continue;
      if (plan_.buffers[static_cast<size_t>(it->second)].argument == kAbsent) plan_.steps.push_back(ConvertStep{argument, it->second, true});
    }
    plan_.steps.insert(plan_.steps.begin(), first.begin(), first.end());
    plan_.arena_bytes = lay_out(plan_.steps, plan_.rows, plan_.buffers);
  }

  Buffer make_buffer(int32_t id, int32_t index_of_buffer, std::vector<Step>& first) {
    const auto own = static_cast<int32_t>(graph_.values.size());
    if (id >= own) return hidden_[static_cast<size_t>(id - own)];
    Buffer buffer{kAbsent, 0, width(id), single(id), BufferFormat::float32};
    const auto out = outputs_.find(id), in = arguments_.find(id);
    const bool plain_floats = type(id).dtype == ScalarType::Float;
    if (out != outputs_.end() && plain_floats) buffer.argument = out->second;
    if (in != arguments_.end() && plain_floats) buffer.argument = in->second;
    if (in != arguments_.end() && !plain_floats) first.push_back(ConvertStep{in->second, index_of_buffer, false});
    return buffer;
  }

  const ir::Module& module_;
  const Graph& graph_;
  const StoreOptions store_;
  partition::NamedDataStore& data_;
  const std::vector<int32_t> uses_, producers_;
  Plan plan_;
  Status status_;
  std::map<ValueId, int32_t> arguments_, outputs_;
  std::map<ValueId, ValueId> views_;
  std::map<ValueId, Deferred> deferred_;
  std::set<ValueId> done_;
  std::vector<Buffer> hidden_;
  int32_t last_row_ = kAbsent;
};

}  // namespace

Result<Plan> make_plan(const partition::Region& region, const StoreOptions& store, partition::NamedDataStore& data) {
  return Planner(region, store, data).run();
}

}  // namespace pteron::cpu_backend
