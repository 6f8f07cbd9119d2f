#include "backends/cpu/payload/checks.h"

#include <cmath>
#include <optional>

#include "backends/cpu/payload/step_values.h"
#include "base/checked.h"
#include "core/dtype.h"

namespace pteron::cpu_backend {
namespace {

constexpr uint64_t kLargestSize = uint64_t{1} << 46;  // of the arena and of a tensor: products of a few of these numbers stay in 64 bits
constexpr uint32_t kMostRows = 1u << 20;
constexpr uint32_t kMostWidth = 1u << 28;

bool is_integer(ScalarType t) { return t == ScalarType::Long || t == ScalarType::Int; }
bool is_row_type(ScalarType t) { return t == ScalarType::Float || t == ScalarType::Half || t == ScalarType::BFloat16; }

class Checker {
 public:
  explicit Checker(const Plan& plan) : plan_(plan) {}

  Status run() {
    expect(plan_.rows >= 1 && plan_.rows <= kMostRows, "rows", "1 to 1048576", plan_.rows);
    expect(plan_.arena_bytes <= kLargestSize, "arena_bytes", "at most 2^46", plan_.arena_bytes);
    each("tensors", plan_.tensors);
    each("arguments", plan_.arguments);
    each("buffers", plan_.buffers);
    each("ropes", plan_.ropes);
    each("masks", plan_.masks);
    if (plan_.last_row != kAbsent) integers(plan_.last_row, "last_row", 1);
    for (size_t i = 0; i < plan_.steps.size() && status_.ok(); ++i) {
      prefix_ = "steps[" + std::to_string(i) + "].";
      visit_step(plan_.steps[i], [&](const auto& step) { check(step); });
      if (status_.ok()) each_buffer(plan_.steps[i], [&](int32_t index, Access access) { check_written(index, access); });
    }
    return std::move(status_);
  }

 private:
  // What the caller hands over to be read is never written, caches apart (which have no buffer).
  void check_written(int32_t index, Access access) {
    const int32_t argument = plan_.buffers[static_cast<size_t>(index)].argument;
    if (access == Access::read || argument == kAbsent) return;
    expect(plan_.arguments[static_cast<size_t>(argument)].output, "buffer", "a buffer that is no input", index);
  }
  template <class T>
  void each(const char* name, const std::vector<T>& items) {
    for (size_t i = 0; i < items.size() && status_.ok(); ++i) {
      prefix_ = std::string(name) + "[" + std::to_string(i) + "].";
      check(items[i]);
    }
    prefix_.clear();
  }
  template <class N>
  bool expect(bool holds, const char* field, const std::string& expected, N found) {
    if (!holds && status_.ok()) status_ = malformed(prefix_ + field, expected, std::to_string(found));
    return holds && status_.ok();
  }
  bool expect_number(float value, const char* field) { return expect(std::isfinite(value), field, "a finite number", value); }

  template <class T>
  const T* at(const std::vector<T>& items, int32_t index, const char* field, const char* what) {
    const bool inside = index >= 0 && static_cast<size_t>(index) < items.size();
    if (!expect(inside, field, "an index below " + std::to_string(items.size()) + " (" + what + ")", index)) return nullptr;
    return &items[static_cast<size_t>(index)];
  }

  // A float32 tensor of rows x cols, rows being one of two numbers.
  void plain(int32_t index, const char* field, uint32_t cols, uint32_t rows = 1) {
    const TensorRef* t = at(plan_.tensors, index, field, "tensors");
    if (t == nullptr) return;
    const bool fits = !t->packed && t->cols == cols && (t->rows == 1 || t->rows == rows);
    expect(fits, field, "a plain tensor of " + std::to_string(cols) + " columns", t->cols);
  }
  const TensorRef* packed(int32_t index, const char* field) {
    const TensorRef* t = at(plan_.tensors, index, field, "tensors");
    return t != nullptr && expect(t->packed, field, "a packed tensor", index) ? t : nullptr;
  }
  const Buffer* buffer(int32_t index, const char* field, BufferFormat format = BufferFormat::float32) {
    const Buffer* b = at(plan_.buffers, index, field, "buffers");
    return b != nullptr && expect(b->format == format, field, "a buffer of the other format", index) ? b : nullptr;
  }
  // A tensor of `elements` integers, or at least so many where they belong to rows.
  void integers(int32_t index, const char* field, uint64_t elements) {
    const Argument* a = at(plan_.arguments, index, field, "arguments");
    if (a == nullptr) return;
    expect(is_integer(a->dtype) && !a->output, field, "an input of int64 or int32", static_cast<int>(a->dtype));
    expect(a->elements() == elements, field, std::to_string(elements) + " elements", a->elements());
  }
  void same_shape(const Buffer* a, const Buffer* b, const char* field) {
    if (a == nullptr || b == nullptr) return;
    expect(a->width == b->width && a->single_row == b->single_row, field, "a buffer of width " + std::to_string(a->width), b->width);
  }
  void cache(int32_t index, const char* field, uint32_t heads, uint32_t slots, uint32_t dim) {
    const Argument* a = at(plan_.arguments, index, field, "arguments");
    if (a == nullptr) return;
    expect(is_row_type(a->dtype) && !a->output, field, "an input of float32, float16 or bfloat16", static_cast<int>(a->dtype));
    expect(heads > 0 && slots > 0 && dim > 0 && slots <= kMostWidth, field, "sizes above zero", slots);
    const auto elements = checked_mul<uint64_t>(uint64_t{heads} * slots, dim);
    expect(elements && a->elements() == *elements, field, std::to_string(elements.value_or(0)) + " elements", a->elements());
  }
  void check_norm(const Norm& norm, const char* field, uint32_t width) {
    expect(norm.kind <= NormKind::layer, field, "a known kind of norm", static_cast<int>(norm.kind));
    if (norm.kind == NormKind::none) return;
    if (!expect(norm.width > 0 && width % norm.width == 0, field, "a width that divides " + std::to_string(width), norm.width)) return;
    expect(std::isfinite(norm.eps) && std::isfinite(norm.offset) && norm.eps >= 0, field, "finite numbers", norm.eps);
    if (norm.weight != kAbsent) plain(norm.weight, field, norm.width, width / norm.width);
    if (norm.bias != kAbsent) plain(norm.bias, field, norm.width, width / norm.width);
  }

  void check(const TensorRef& t) {
    expect(!t.key.empty(), "key", "a name", 0);
    expect(packed_layout(t.encoding) != nullptr, "encoding", "a known encoding", static_cast<int>(t.encoding));
    expect(t.rows > 0 && t.cols > 0 && t.cols <= kMostWidth, "cols", "1 to 268435456", t.cols);
    expect(std::isfinite(t.error) && t.error >= 0, "error", "a finite number from 0 on", t.error);
    if (status_.ok()) expect(t.bytes() > 0 && t.bytes() <= kLargestSize, "rows", "a tensor of at most 2^46 bytes", t.rows);
  }
  void check(const Argument& a) {
    expect(is_scalar_type(static_cast<int>(a.dtype)), "dtype", "an element type", static_cast<int>(a.dtype));
    expect(a.sizes.size() <= 16, "sizes", "at most 16 dimensions", a.sizes.size());
    const auto elements = checked_product(std::span<const int32_t>(a.sizes));
    expect(elements && *elements <= kLargestSize, "sizes", "a product of at most 2^46", elements.value_or(0));
  }
  void check(const Buffer& b) {
    expect(b.width > 0 && b.width <= kMostWidth, "width", "1 to 268435456", b.width);
    expect(b.format <= BufferFormat::quantized, "format", "0 or 1", static_cast<int>(b.format));
    if (!status_.ok()) return;
    const uint64_t rows = b.single_row ? 1 : plan_.rows, bytes = rows * buffer_row_bytes(b);
    if (b.argument == kAbsent) {
      expect(b.offset % 64 == 0 && range_inside(b.offset, bytes, plan_.arena_bytes), "offset", "a multiple of 64 inside the arena", b.offset);
      return;
    }
    const Argument* a = at(plan_.arguments, b.argument, "argument", "arguments");
    if (a == nullptr) return;
    expect(a->dtype == ScalarType::Float && b.format == BufferFormat::float32, "argument", "a float32 tensor", static_cast<int>(a->dtype));
    expect(a->elements() == rows * b.width, "argument", std::to_string(rows * b.width) + " elements", a->elements());
  }
  void check(const Rope& r) {
    const TensorRef* t = at(plan_.tensors, r.frequencies, "frequencies", "tensors");
    if (t != nullptr) expect(!t->packed && t->rows == 1, "frequencies", "a plain vector", r.frequencies);
    integers(r.positions, "positions", plan_.rows);
    expect_number(r.attention_factor, "attention_factor");
  }
  void check(const Mask& m) {
    const Argument* a = at(plan_.arguments, m.argument, "argument", "arguments");
    if (a == nullptr) return;
    expect((is_row_type(a->dtype) || a->dtype == ScalarType::Bool) && !a->output, "argument", "an input of bool or a float type", static_cast<int>(a->dtype));
    expect(m.slots > 0 && m.slots <= kMostWidth, "slots", "1 to 268435456", m.slots);
    expect(a->elements() == uint64_t{plan_.rows} * m.slots, "argument", std::to_string(uint64_t{plan_.rows} * m.slots) + " elements", a->elements());
  }

  void check(const EmbedStep& s) {
    const TensorRef* weight = packed(s.weight, "weight");
    const Buffer* out = buffer(s.out, "out");
    integers(s.ids, "ids", out != nullptr && out->single_row ? 1 : plan_.rows);
    if (weight != nullptr && out != nullptr) expect(weight->cols == out->width, "out", "a buffer of width " + std::to_string(weight->cols), out->width);
    expect_number(s.scale, "scale");
  }
  void check(const NormStep& s) {
    const Buffer *in = buffer(s.in, "in"), *out = buffer(s.out, "out");
    same_shape(in, out, "out");
    expect(s.norm.kind != NormKind::none, "norm", "a norm", 0);
    if (in != nullptr) check_norm(s.norm, "norm", in->width);
  }
  void check(const ProjectStep& s) {
    const Buffer* in = at(plan_.buffers, s.in, "in", "buffers");
    if (in == nullptr) return;
    expect(s.mode <= ProjectMode::gated, "mode", "a known mode", static_cast<int>(s.mode));
    expect(s.activation <= Activation::relu, "activation", "a known activation", static_cast<int>(s.activation));
    const bool gated = s.mode == ProjectMode::gated;
    expect(gated ? s.projections.size() == 2 : !s.projections.empty(), "projections", gated ? "2" : "1 or more", s.projections.size());
    check_norm(s.norm, "norm", in->width);
    if (in->format == BufferFormat::quantized) expect(s.norm.kind == NormKind::none, "norm", "none on quantised rows", static_cast<int>(s.norm.kind));
    if (s.norm.kind != NormKind::none) expect(s.norm.width == in->width, "norm", "the width of the input", s.norm.width);
    for (const Projection& p : s.projections) check_projection(s, p, *in);
  }
  void check_projection(const ProjectStep& s, const Projection& p, const Buffer& in) {
    const TensorRef* weight = packed(p.weight, "projections.weight");
    const Buffer* out = at(plan_.buffers, p.out, "projections.out", "buffers");
    const TensorRef* first = packed(s.projections[0].weight, "projections.weight");
    if (weight == nullptr || out == nullptr || first == nullptr) return;
    const bool integer = packed_layout(weight->encoding)->record_columns != 1;
    expect(integer == (packed_layout(first->encoding)->record_columns != 1), "projections.weight", "integers or floats for all", p.weight);
    if (in.format == BufferFormat::quantized) expect(integer, "projections.weight", "integers on quantised rows", p.weight);
    expect(weight->cols == in.width, "projections.weight", std::to_string(in.width) + " columns", weight->cols);
    expect(weight->rows == out->width, "projections.out", "a buffer of width " + std::to_string(weight->rows), out->width);
    expect(out->single_row == in.single_row, "projections.out", "as many rows as the input", p.out);
    expect(p.out != s.in, "projections.out", "another buffer than the input", p.out);
    if (out->format == BufferFormat::quantized) {
      expect(s.mode != ProjectMode::accumulate && s.projections[0].out == p.out, "projections.out", "float32, or one quantised result", p.out);
    }
    if (s.mode == ProjectMode::gated) expect(p.out == s.projections[0].out, "projections.out", "one buffer for both", p.out);
    if (p.bias != kAbsent) plain(p.bias, "projections.bias", weight->rows);
  }
  // The number of pairs that a rope rotates in a head of `width`.
  void check_rope(int32_t index, const char* field, uint32_t width) {
    const Rope* rope = at(plan_.ropes, index, field, "ropes");
    if (rope == nullptr) return;
    const uint64_t half = plan_.tensors[static_cast<size_t>(rope->frequencies)].cols;
    expect(2 * half <= width, field, "at most " + std::to_string(width / 2) + " frequencies", half);
  }
  void check(const RopeStep& s) {
    const Buffer* b = buffer(s.buffer, "buffer");
    if (b == nullptr) return;
    expect(s.width > 0 && b->width % s.width == 0, "width", "a divisor of " + std::to_string(b->width), s.width);
    expect(!b->single_row || plan_.rows == 1, "buffer", "a buffer of all rows", s.buffer);
    check_rope(s.rope, "rope", s.width);
  }
  void check(const WriteStep& s) {
    const Buffer* b = buffer(s.rows, "rows");
    cache(s.cache, "cache", s.heads, s.slots, s.dim);
    integers(s.positions, "positions", plan_.rows);
    if (b == nullptr) return;
    expect(b->width == uint64_t{s.heads} * s.dim, "rows", "a buffer of heads x dim", b->width);
    expect(!b->single_row || plan_.rows == 1, "rows", "a buffer of all rows", s.rows);
  }
  void check(const AttendStep& s) {
    expect(s.kv_heads > 0 && s.heads % s.kv_heads == 0 && s.heads > 0, "heads", "a multiple of kv_heads", s.heads);
    cache(s.key_cache, "key_cache", s.kv_heads, s.slots, s.key_dim);
    cache(s.value_cache, "value_cache", s.kv_heads, s.slots, s.value_dim);
    all_rows(s.queries, "queries", uint64_t{s.heads} * s.key_dim);
    all_rows(s.out, "out", uint64_t{s.heads} * s.value_dim);
    check_norm(s.query_norm, "query_norm", s.heads * s.key_dim);
    if (s.query_norm.kind != NormKind::none) expect(s.query_norm.width == s.key_dim, "query_norm", "the width of a head", s.query_norm.width);
    expect((s.keys == kAbsent) == (s.values == kAbsent), "values", "keys and values, or neither", s.values);
    if (s.query_rope != kAbsent) check_rope(s.query_rope, "query_rope", s.key_dim);
    if (s.keys != kAbsent) {
      all_rows(s.keys, "keys", uint64_t{s.kv_heads} * s.key_dim);
      all_rows(s.values, "values", uint64_t{s.kv_heads} * s.value_dim);
      integers(s.positions, "positions", plan_.rows);
      check_norm(s.key_norm, "key_norm", s.kv_heads * s.key_dim);
      if (s.key_norm.kind != NormKind::none) expect(s.key_norm.width == s.key_dim, "key_norm", "the width of a head", s.key_norm.width);
      if (s.key_rope != kAbsent) check_rope(s.key_rope, "key_rope", s.key_dim);
    }
    const Mask* mask = at(plan_.masks, s.mask, "mask", "masks");
    if (mask != nullptr) expect(mask->slots == s.slots, "mask", std::to_string(s.slots) + " slots", mask->slots);
    if (s.bias != kAbsent) {
      const TensorRef* t = at(plan_.tensors, s.bias, "bias", "tensors");
      if (t != nullptr) expect(!t->packed && t->rows == s.heads && t->cols == s.slots, "bias", "heads x slots", t->rows);
    }
    if (status_.ok()) {
      const auto &k = argument(s.key_cache), &v = argument(s.value_cache);
      expect(k.dtype == v.dtype, "value_cache", "the element type of the keys", static_cast<int>(v.dtype));
    }
    expect(std::isfinite(s.scale) && std::isfinite(s.softcap) && s.softcap >= 0, "scale", "finite numbers", s.scale);
  }
  const Argument& argument(int32_t index) const { return plan_.arguments[static_cast<size_t>(index)]; }
  void all_rows(int32_t index, const char* field, uint64_t width) {
    const Buffer* b = buffer(index, field);
    if (b != nullptr) expect(b->width == width && (!b->single_row || plan_.rows == 1), field, "all rows of width " + std::to_string(width), b->width);
  }
  void check(const MapStep& s) {
    expect(s.kind <= MapKind::copy, "kind", "a known kind", static_cast<int>(s.kind));
    expect(s.activation <= Activation::relu, "activation", "a known activation", static_cast<int>(s.activation));
    expect(std::isfinite(s.factor) && (s.kind != MapKind::softcap || s.factor > 0), "factor", "a finite number, above 0 for a cap", s.factor);
    same_shape(buffer(s.in, "in"), buffer(s.out, "out"), "out");
  }
  void check(const CombineStep& s) {
    expect(s.kind <= CombineKind::multiply, "kind", "a known kind", static_cast<int>(s.kind));
    expect_number(s.factor, "factor");
    const Buffer* a = buffer(s.a, "a");
    same_shape(a, buffer(s.b, "b"), "b");
    same_shape(a, buffer(s.out, "out"), "out");
  }
  void check(const SelectStep& s) {
    const Buffer *in = buffer(s.in, "in"), *out = buffer(s.out, "out");
    integers(s.row, "row", 1);
    if (in == nullptr || out == nullptr) return;
    expect(out->single_row || plan_.rows == 1, "out", "a buffer of one row", s.out);
    expect(in->width == out->width, "out", "a buffer of width " + std::to_string(in->width), out->width);
  }
  void check(const ConvertStep& s) {
    const Argument* a = at(plan_.arguments, s.argument, "argument", "arguments");
    const Buffer* b = buffer(s.buffer, "buffer");
    if (a == nullptr || b == nullptr) return;
    expect(is_row_type(a->dtype), "argument", "float32, float16 or bfloat16", static_cast<int>(a->dtype));
    expect(a->output == s.to_argument, "to_argument", "an output to write, an input to read", s.argument);
    const uint64_t elements = uint64_t{b->single_row ? 1 : plan_.rows} * b->width;
    expect(a->elements() == elements, "argument", std::to_string(elements) + " elements", a->elements());
  }

  const Plan& plan_;
  std::string prefix_;
  Status status_;
};

}  // namespace

Status check_plan(const Plan& plan) { return Checker(plan).run(); }

}  // namespace pteron::cpu_backend
