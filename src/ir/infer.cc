#include "ir/infer.h"

#include <algorithm>

#include "core/dtype.h"

namespace pteron::ir {
namespace {

using Types = Result<std::vector<Type>>;

struct Call {
  const Graph& graph;
  const Node& node;
  const Type& in(size_t i) const { return graph.type(node.operands[i]); }
  // The type of a named tensor argument; null where it is left out.
  const Type* arg(std::string_view name) const {
    const ValueId id = node.operand(name);
    return id == kNone ? nullptr : &graph.type(id);
  }
};

Status wrong(const Call& call, std::string_view argument, std::string expected, std::string found) {
  return Status::error(Code::invalid_data, "operator " + schema(call.node.op).text_name + " does not fit its operands",
                       {.field = std::string(argument), .expected = std::move(expected), .found = std::move(found)});
}

Status expect(bool good, const Call& call, std::string_view argument, std::string expected, const Type& found) {
  return good ? Status() : wrong(call, argument, std::move(expected), to_string(found));
}

Types one(Type type) { return std::vector<Type>{std::move(type)}; }
bool is_index(const Type& type) { return type.dtype == ScalarType::Long || type.dtype == ScalarType::Int; }

// A dimension argument made non-negative.
Result<size_t> dimension(const Call& call, int64_t dim, size_t rank) {
  const int64_t r = static_cast<int64_t>(rank);
  if (dim < -r || dim >= r) return wrong(call, "dim", "a dimension of rank " + std::to_string(rank), std::to_string(dim));
  return static_cast<size_t>(dim < 0 ? dim + r : dim);
}

Types declared(const Call& call) {
  std::vector<Type> out;
  for (ValueId id : call.node.results) out.push_back(call.graph.type(id));
  return out;
}

Types like_first(const Call& call) { return one(call.in(0)); }

Types broadcast(const Call& call) {
  if (call.in(0).dtype != call.in(1).dtype) return wrong(call, "other", std::string(dtype_name(call.in(0).dtype)), to_string(call.in(1)));
  auto dims = broadcast_dims(call.in(0).dims, call.in(1).dims);
  if (!dims.ok()) return wrong(call, "other", "sizes that broadcast with " + to_string(call.in(0)), to_string(call.in(1)));
  Type out;
  out.dtype = call.in(0).dtype;
  out.dims = std::move(*dims);
  return one(std::move(out));
}

Types where(const Call& call) {
  PTERON_TRY(expect(call.in(0).dtype == ScalarType::Bool, call, "condition", "bool", call.in(0)));
  PTERON_TRY(expect(call.in(1).dtype == call.in(2).dtype, call, "other", std::string(dtype_name(call.in(1).dtype)), call.in(2)));
  PTERON_ASSIGN(auto first, broadcast_dims(call.in(0).dims, call.in(1).dims));
  PTERON_ASSIGN(auto dims, broadcast_dims(first, call.in(2).dims));
  Type out;
  out.dtype = call.in(1).dtype;
  out.dims = std::move(dims);
  return one(std::move(out));
}

// weight [rows, width], ids of any shape -> ids' shape + [width].
Types embedding(const Call& call) {
  PTERON_TRY(expect(call.in(0).rank() == 2, call, "weight", "rank 2", call.in(0)));
  PTERON_TRY(expect(is_index(call.in(1)), call, "indices", "int64 or int32", call.in(1)));
  Type out = call.in(1);
  out.dtype = call.in(0).dtype;
  out.dims.push_back(call.in(0).dims[1]);
  return one(std::move(out));
}

Types norm(const Call& call) {
  const Type& x = call.in(0);
  PTERON_TRY(expect(x.rank() >= 1, call, "x", "rank 1 or more", x));
  for (std::string_view name : {std::string_view("weight"), std::string_view("bias")}) {
    const Type* t = schema(call.node.op).find(name) ? call.arg(name) : nullptr;
    if (!t) continue;
    bool fits = t->rank() >= 1 && t->rank() <= std::min<size_t>(2, x.rank()) && t->dtype == x.dtype;
    for (size_t i = 1; fits && i <= t->rank(); ++i) fits = t->dims[t->rank() - i] == x.dims[x.rank() - i];
    PTERON_TRY(expect(fits, call, name, "the last dimensions of " + to_string(x), *t));
  }
  return one(x);
}

Types linear(const Call& call) {
  const Type& x = call.in(0);
  const Type& w = call.in(1);
  PTERON_TRY(expect(x.rank() >= 1, call, "x", "rank 1 or more", x));
  PTERON_TRY(expect(w.rank() == 2 && w.dims[1] == x.dims.back() && w.dtype == x.dtype, call, "weight",
                    std::string(dtype_name(x.dtype)) + "[out," + std::to_string(x.size(-1)) + "]", w));
  if (const Type* b = call.arg("bias")) {
    PTERON_TRY(expect(b->rank() == 1 && b->dims[0] == w.dims[0] && b->dtype == x.dtype, call, "bias", to_string(Type(x.dtype, {w.size(0)})), *b));
  }
  Type out = x;
  out.dims.back() = w.dims[0];
  return one(std::move(out));
}

Types rope(const Call& call) {
  const Type& x = call.in(0);
  PTERON_TRY(expect(x.rank() == 4 && x.size(0) == 1, call, "x", "[1, q, heads, head_dim]", x));
  PTERON_TRY(expect(is_index(call.in(1)) && call.in(1).rank() == 2 && call.in(1).dims[1] == x.dims[1], call, "positions", "integers [1, q]", call.in(1)));
  PTERON_TRY(expect(call.in(2).rank() == 1 && 2 * call.in(2).size(0) <= x.size(3) && call.in(2).dtype == ScalarType::Float, call, "inv_freq",
                    "float32, at most half of head_dim", call.in(2)));
  return one(x);
}

Types cache_write(const Call& call) {
  const Type& cache = call.in(0);
  const Type& rows = call.in(1);
  PTERON_TRY(expect(cache.rank() == 4 && cache.size(0) == 1, call, "cache", "[1, heads, slots, head_dim]", cache));
  PTERON_TRY(expect(rows.rank() == 4 && rows.size(0) == 1 && rows.dims[2] == cache.dims[1] && rows.dims[3] == cache.dims[3] && rows.size(1) <= cache.size(2), call,
                    "rows", "[1, q, heads, head_dim] of " + to_string(cache), rows));
  PTERON_TRY(expect(is_index(call.in(2)) && call.in(2).rank() == 2 && call.in(2).dims[1] == rows.dims[1], call, "positions", "integers [1, q]", call.in(2)));
  return one(cache);
}

Types attention(const Call& call) {
  const Type& q = call.in(0);
  const Type& k = call.in(1);
  const Type& v = call.in(2);
  const Type& mask = call.in(3);
  PTERON_TRY(expect(q.rank() == 4 && q.size(0) == 1, call, "query", "[1, q, heads, head_dim]", q));
  PTERON_TRY(expect(k.rank() == 4 && k.dims[3] == q.dims[3] && k.size(1) > 0 && q.size(2) % k.size(1) == 0, call, "key_cache",
                    "[1, heads that divide " + std::to_string(q.size(2)) + ", slots, " + std::to_string(q.size(3)) + "]", k));
  PTERON_TRY(expect(v.rank() == 4 && v.dims[1] == k.dims[1] && v.dims[2] == k.dims[2] && v.dtype == k.dtype, call, "value_cache", "heads and slots of " + to_string(k), v));
  PTERON_TRY(expect((mask.dtype == ScalarType::Bool || is_float(mask.dtype)) && mask.rank() == 4 && mask.size(0) == 1 && mask.size(1) == 1 && mask.dims[2] == q.dims[1] &&
                        mask.dims[3] == k.dims[2],
                    call, "mask", "[1, 1, " + std::to_string(q.size(1)) + ", " + std::to_string(k.size(2)) + "]", mask));
  if (const Type* bias = call.arg("bias")) {
    PTERON_TRY(expect(bias->rank() == 2 && bias->dims[0] == q.dims[2] && bias->dims[1] == k.dims[2], call, "bias", "[heads, slots]", *bias));
  }
  Type out = q;
  out.dims = {q.dims[0], q.dims[1], {q.size(2) * v.size(3), {}}};
  return one(std::move(out));
}

Types gated_mlp(const Call& call) {
  const Type& x = call.in(0);
  for (size_t i : {size_t{1}, size_t{2}}) {
    PTERON_TRY(expect(call.in(i).rank() == 2 && call.in(i).dims[1] == x.dims.back() && call.in(i).dims[0] == call.in(1).dims[0], call, i == 1 ? "gate" : "up",
                      "[inner," + std::to_string(x.size(-1)) + "]", call.in(i)));
  }
  PTERON_TRY(expect(call.in(3).rank() == 2 && call.in(3).dims[1] == call.in(1).dims[0], call, "down", "[out," + std::to_string(call.in(1).size(0)) + "]", call.in(3)));
  Type out = x;
  out.dims.back() = call.in(3).dims[0];
  return one(std::move(out));
}

Types mlp(const Call& call) {
  const Type& x = call.in(0);
  PTERON_TRY(expect(call.in(1).rank() == 2 && call.in(1).dims[1] == x.dims.back(), call, "up", "[inner," + std::to_string(x.size(-1)) + "]", call.in(1)));
  PTERON_TRY(expect(call.in(2).rank() == 2 && call.in(2).dims[1] == call.in(1).dims[0], call, "down", "[out," + std::to_string(call.in(1).size(0)) + "]", call.in(2)));
  Type out = x;
  out.dims.back() = call.in(2).dims[0];
  return one(std::move(out));
}

Types select_row(const Call& call) {
  PTERON_TRY(expect(call.in(0).rank() == 3 && call.in(0).size(0) == 1, call, "x", "[1, q, hidden]", call.in(0)));
  PTERON_TRY(expect(is_index(call.in(1)) && call.in(1).rank() == 1 && call.in(1).size(0) == 1, call, "row", "integer [1]", call.in(1)));
  Type out = call.in(0);
  out.dims[1] = {1, {}};
  return one(std::move(out));
}

Types reduce(const Call& call) {
  Type out = call.in(0);
  std::vector<bool> gone(out.rank(), false);
  for (int64_t d : call.node.integers("dim")) {
    PTERON_ASSIGN(const size_t dim, dimension(call, d, out.rank()));
    gone[dim] = true;
  }
  if (call.node.integers("dim").empty()) gone.assign(out.rank(), true);
  const bool keep = call.node.boolean("keepdim");
  std::vector<Dim> dims;
  for (size_t i = 0; i < out.rank(); ++i) {
    if (!gone[i]) dims.push_back(out.dims[i]);
    if (gone[i] && keep) dims.push_back({1, {}});
  }
  out.dims = std::move(dims);
  return one(std::move(out));
}

Types native_layer_norm(const Call& call) {
  const Type& x = call.in(0);
  const auto& normalized = call.node.integers("normalized_shape");
  if (normalized.empty() || normalized.size() > x.rank()) return wrong(call, "normalized_shape", "the last dimensions of " + to_string(x), to_string(Attribute(normalized)));
  Type statistics = x;
  for (size_t i = 0; i < normalized.size(); ++i) {
    const size_t at = x.rank() - normalized.size() + i;
    PTERON_TRY(expect(x.dims[at].size == normalized[i], call, "normalized_shape", to_string(Attribute(normalized)), x));
    statistics.dims[at] = {1, {}};
  }
  return std::vector<Type>{x, statistics, statistics};
}

Types bmm(const Call& call) {
  const Type& a = call.in(0);
  const Type& b = call.in(1);
  PTERON_TRY(expect(a.rank() == 3, call, "self", "rank 3", a));
  PTERON_TRY(expect(b.rank() == 3 && b.dims[0] == a.dims[0] && b.dims[1] == a.dims[2] && b.dtype == a.dtype, call, "mat2",
                    std::string(dtype_name(a.dtype)) + "[" + std::to_string(a.size(0)) + "," + std::to_string(a.size(2)) + ",n]", b));
  Type out = a;
  out.dims[2] = b.dims[2];
  return one(std::move(out));
}

Types index_select(const Call& call) {
  PTERON_ASSIGN(const size_t dim, dimension(call, call.node.integer("dim"), call.in(0).rank()));
  PTERON_TRY(expect(is_index(call.in(1)) && call.in(1).rank() == 1, call, "index", "integers of rank 1", call.in(1)));
  Type out = call.in(0);
  out.dims[dim] = call.in(1).dims[0];
  return one(std::move(out));
}

Types view(const Call& call) {
  Type out(call.in(0).dtype, call.node.integers("size"));
  const auto want = call.in(0).numel();
  int64_t inferred = -1;
  uint64_t known = 1;
  for (size_t i = 0; i < out.rank(); ++i) {
    if (out.dims[i].size == -1 && inferred < 0) inferred = static_cast<int64_t>(i);
    else known *= static_cast<uint64_t>(out.dims[i].size);
  }
  if (inferred >= 0 && known > 0 && want) out.dims[static_cast<size_t>(inferred)].size = static_cast<int64_t>(*want / known);
  PTERON_TRY(expect(want && out.numel() == want, call, "size", "as many elements as " + to_string(call.in(0)), out));
  return one(std::move(out));
}

Types permute(const Call& call) {
  const Type& x = call.in(0);
  const auto& dims = call.node.integers("dims");
  std::vector<bool> seen(x.rank(), false);
  Type out = x;
  if (dims.size() != x.rank()) return wrong(call, "dims", "a permutation of rank " + std::to_string(x.rank()), to_string(Attribute(dims)));
  for (size_t i = 0; i < dims.size(); ++i) {
    PTERON_ASSIGN(const size_t dim, dimension(call, dims[i], x.rank()));
    if (seen[dim]) return wrong(call, "dims", "a permutation of rank " + std::to_string(x.rank()), to_string(Attribute(dims)));
    seen[dim] = true;
    out.dims[i] = x.dims[dim];
  }
  return one(std::move(out));
}

Types slice(const Call& call) {
  Type out = call.in(0);
  PTERON_ASSIGN(const size_t dim, dimension(call, call.node.integer("dim"), out.rank()));
  const int64_t size = out.dims[dim].size, step = call.node.integer("step", 1);
  if (step < 1) return wrong(call, "step", "1 or more", std::to_string(step));
  const auto bound = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size); };
  const int64_t start = bound(call.node.integer("start", 0)), end = bound(call.node.integer("end", size));
  out.dims[dim] = {end > start ? (end - start + step - 1) / step : 0, {}};
  return one(std::move(out));
}

Types cat(const Call& call) {
  Type out = call.in(0);
  PTERON_ASSIGN(const size_t dim, dimension(call, call.node.integer("dim"), out.rank()));
  int64_t total = 0;
  for (size_t i = 0; i < call.node.operands.size(); ++i) {
    Type shape = call.in(i);
    PTERON_TRY(expect(shape.rank() == out.rank(), call, "tensors", "rank " + std::to_string(out.rank()), shape));
    total += shape.dims[dim].size;
    shape.dims[dim] = call.in(0).dims[dim];
    PTERON_TRY(expect(shape == call.in(0), call, "tensors", "sizes of " + to_string(call.in(0)), call.in(i)));
  }
  out.dims[dim] = {total, {}};
  return one(std::move(out));
}

// The result keeps its declared element type; only the shape follows.
Types cast(const Call& call) {
  Type out = call.in(0);
  if (!call.node.results.empty()) out.dtype = call.graph.type(call.node.results[0]).dtype;
  return one(std::move(out));
}

using Rule = Types (*)(const Call&);
constexpr Rule kRules[] = {
#define PTERON_OP(id, schema, rule) rule,
#include "ir/ops.def"
#undef PTERON_OP
};

bool holds(const Attribute& value, const Arg& arg) {
  if (std::holds_alternative<NoneValue>(value)) return arg.optional;
  switch (arg.kind) {
    case ArgKind::integer: return std::holds_alternative<int64_t>(value);
    case ArgKind::number: return std::holds_alternative<double>(value);
    case ArgKind::boolean: return std::holds_alternative<bool>(value);
    case ArgKind::scalar: return std::holds_alternative<int64_t>(value) || std::holds_alternative<double>(value) || std::holds_alternative<bool>(value);
    case ArgKind::string: return std::holds_alternative<std::string>(value);
    case ArgKind::dtype: return std::holds_alternative<ScalarType>(value);
    case ArgKind::integer_list: return std::holds_alternative<std::vector<int64_t>>(value);
    case ArgKind::number_list: return std::holds_alternative<std::vector<double>>(value);
    default: return false;
  }
}

}  // namespace

Result<std::vector<Dim>> broadcast_dims(const std::vector<Dim>& a, const std::vector<Dim>& b) {
  std::vector<Dim> out(std::max(a.size(), b.size()));
  const Dim one_dim{1, {}};
  for (size_t i = 1; i <= out.size(); ++i) {
    const Dim& x = i <= a.size() ? a[a.size() - i] : one_dim;
    const Dim& y = i <= b.size() ? b[b.size() - i] : one_dim;
    if (!(x == y) && !(x == one_dim) && !(y == one_dim)) {
      return Status::error(Code::invalid_data, "sizes do not broadcast", {.expected = std::to_string(x.size), .found = std::to_string(y.size)});
    }
    out[out.size() - i] = x == one_dim ? y : x;
  }
  return out;
}

Status check_arguments(const Graph& graph, const Node& node) {
  const Schema& s = schema(node.op);
  const auto fail = [&](const std::string& field, std::string expected, std::string found) {
    return Status::error(Code::invalid_data, "operator " + s.text_name + " has wrong arguments", {.field = field, .expected = std::move(expected), .found = std::move(found)});
  };
  size_t tensors = 0, position = 0;
  bool list = false;
  for (const Arg& arg : s.args) {
    tensors += arg.is_tensor() ? 1 : 0;
    list = list || arg.kind == ArgKind::tensor_list;
  }
  if (list ? node.operands.size() + 1 < tensors : node.operands.size() != tensors) {
    return fail("operands", std::to_string(tensors), std::to_string(node.operands.size()));
  }
  for (const Arg& arg : s.args) {
    if (arg.is_tensor()) {
      const size_t count = arg.kind == ArgKind::tensor_list ? node.operands.size() + 1 - tensors : 1;
      for (size_t i = 0; i < count; ++i, ++position) {
        const ValueId id = node.operands[position];
        if (id == kNone && !arg.optional) return fail(arg.name, "a tensor", "none");
        if (id != kNone && (id < 0 || static_cast<size_t>(id) >= graph.values.size())) return fail(arg.name, "a value of the graph", std::to_string(id));
      }
      continue;
    }
    const Attribute* value = node.find(arg.name);
    if (!value) return fail(arg.name, "an attribute", "nothing");
    if (!holds(*value, arg)) return fail(arg.name, "the schema's type", to_string(*value));
  }
  for (const auto& [key, value] : node.attributes) {
    const Arg* arg = s.find(key);
    if (!arg || arg->is_tensor()) return fail(key, "an attribute of the schema", to_string(value));
  }
  return {};
}

Result<std::vector<Type>> infer(const Graph& graph, const Node& node) {
  PTERON_TRY(check_arguments(graph, node));
  return kRules[static_cast<size_t>(node.op)](Call{graph, node});
}

}  // namespace pteron::ir
