// Attention over caches: the operators that the stock exporter replaces scaled_dot_product_attention and cache writes with.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/checked.h"
#include "kernels/portable/convert.h"
#include "kernels/portable/families.h"
#include "kernels/portable/index.h"
#include "kernels/portable/isa.h"
#include "kernels/portable/shape.h"

namespace pteron::portable {
namespace {

using runtime::make_lenient_kernel;
using runtime::Value;

// Rows of `value` [B, S, H, D] to their places in `cache` [B, capacity, H, D].
template <class Position>
Status write_rows(const Tensor& value, Tensor& cache, Position&& position) {
  PTERON_TRY(expect_rank(value, 4, "value"));
  PTERON_TRY(expect_rank(cache, 4, "cache"));
  PTERON_TRY(expect(value.element_bytes() == cache.element_bytes(), "cache holds elements of another size"));
  PTERON_TRY(expect_contiguous({&value, &cache}));
  if (value.size(0) != cache.size(0) || value.size(2) != cache.size(2) || value.size(3) != cache.size(3))
    return bad("value does not fit the cache", "value", sizes_text(cache.sizes()), sizes_text(value.sizes()));
  const size_t row = static_cast<size_t>(value.size(2)) * static_cast<size_t>(value.size(3)) * value.element_bytes();
  for (int64_t b = 0; b < value.size(0); ++b) {
    for (int64_t s = 0; s < value.size(1); ++s) {
      const int64_t to = position(b, s);
      if (to < 0 || to >= cache.size(1)) return index_error("position", to, cache.size(1));
      if (row > 0)
        std::memmove(cache.data<std::byte>() + static_cast<size_t>(b * cache.size(1) + to) * row,
                     value.data<std::byte>() + static_cast<size_t>(b * value.size(1) + s) * row, row);
    }
  }
  return {};
}

Status write_from(const Tensor& value, Tensor& cache, int64_t start) {
  PTERON_TRY(expect_rank(value, 4, "value"));
  PTERON_TRY(expect_rank(cache, 4, "cache"));
  if (start < 0 || start >= cache.size(1) || value.size(1) > cache.size(1) - start)
    return bad("rows lie beyond the cache", "start_pos", "below " + std::to_string(cache.size(1)),
               std::to_string(start) + " for " + std::to_string(value.size(1)) + " rows");
  return write_rows(value, cache, [start](int64_t, int64_t s) { return start + s; });
}

// `out` is a token of one element that is never written.
Status update_cache(KernelContext&, const Tensor& value, Tensor& cache, int64_t start_pos, Tensor&) {
  return write_from(value, cache, start_pos);
}

Status update_cache_with_indices(KernelContext&, const Tensor& value, Tensor& cache, int64_t, const Tensor& indices, Tensor&) {
  PTERON_TRY(expect_dtype(indices, ScalarType::Long, "indices"));
  PTERON_TRY(expect_rank(indices, 2, "indices"));
  PTERON_TRY(expect_rank(value, 4, "value"));
  PTERON_TRY(expect_sizes(indices, value.sizes().first(2), "indices"));
  return write_rows(value, cache,
                    [&](int64_t b, int64_t s) { return indices.data<int64_t>()[b * indices.stride(0) + s * indices.stride(1)]; });
}

// One of query, key and value: [B, S, H, D], or [B, H, S, D] by `seq_dim`. Quantised ones have a zero point and a scale for each row.
struct Heads {
  const Tensor* tensor = nullptr;
  const Tensor* zero_points = nullptr;
  const Tensor* scales = nullptr;
  size_t seq_dim = 1, head_dim = 2;

  int64_t rows() const { return tensor->size(seq_dim); }
  int64_t heads() const { return tensor->size(head_dim); }
  int64_t width() const { return tensor->size(3); }
  int64_t offset(const Tensor& t, int64_t b, int64_t h, int64_t s) const {
    return b * t.stride(0) + h * t.stride(head_dim) + s * t.stride(seq_dim);
  }

  // Row s of head h as floats: in place, or converted into `space`.
  const float* row(int64_t b, int64_t h, int64_t s, float* space) const {
    const int64_t at = offset(*tensor, b, h, s);
    if (tensor->dtype() == ScalarType::Float) return tensor->data<float>() + at;
    load_run<float>(tensor->dtype(), tensor->data(), at, 1, width(), space);
    if (scales != nullptr) {
      const float scale = scales->data<float>()[offset(*scales, b, h, s)];
      const float zero = zero_points != nullptr ? static_cast<float>(zero_points->data<int8_t>()[offset(*zero_points, b, h, s)]) : 0.0f;
      for (int64_t i = 0; i < width(); ++i) space[i] = (space[i] - zero) * scale;
    }
    return space;
  }
};

struct Attention {
  Heads query, key, value;
  const Tensor* mask = nullptr;  // [query rows, key rows], added to the scores
  int64_t start = 0, keys = 0;
  bool causal = false;
  float scale = 1;
};

size_t scratch_floats(int64_t keys, int64_t width) { return align_up(static_cast<size_t>(keys) + 4 * static_cast<size_t>(width), 16); }

// One query row: scores against all keys it may see, softmax, and the weighted sum of the values.
void attend(const Attention& a, int64_t b, int64_t h, int64_t s, float* space, Tensor& out) {
  const int64_t group = a.query.heads() / a.key.heads(), kv = h / group, width = a.query.width();
  const int64_t visible = a.causal && a.mask == nullptr ? std::min(a.keys, a.start + s + 1) : a.keys;
  float *q_space = space, *row_space = space + width, *sums = space + 2 * width, *scores = space + 4 * width;
  const float* q = a.query.row(b, h, s, q_space);
  const Isa& loops = isa();
  for (int64_t j = 0; j < visible; ++j) {
    DotArgs dot{
        .a = q, .lda = width, .w = a.key.row(b, kv, j, row_space), .ldw = width, .c = scores + j, .ldc = 1, .m = 1, .n = 1, .k = width};
    loops.dot_f32(dot);
    scores[j] *= a.scale;
    if (a.mask != nullptr) scores[j] += a.mask->data<float>()[s * a.mask->stride(0) + j * a.mask->stride(1)];
  }
  std::fill(sums, sums + width, 0.0f);
  float total = 0;
  if (visible > 0) total = loops.exp_sum(scores, loops.max(scores, static_cast<size_t>(visible)), scores, static_cast<size_t>(visible));
  for (int64_t j = 0; j < visible; ++j) {
    const float* v = a.value.row(b, kv, j, row_space);
    for (int64_t i = 0; i < width; ++i) sums[i] += scores[j] * v[i];
  }
  for (int64_t i = 0; i < width; ++i) sums[i] /= total;
  store_run<float>(out.dtype(), sums, width, out.data(), a.query.offset(out, b, h, s));
}

Status check_heads(const Heads& heads, std::string_view field) {
  const Tensor& t = *heads.tensor;
  PTERON_TRY(expect_rank(t, 4, field));
  PTERON_TRY(expect_contiguous({&t, heads.scales, heads.zero_points}));
  const ScalarType type = t.dtype();
  if (type == ScalarType::Char) {
    PTERON_TRY(expect(heads.scales != nullptr, "quantised attention needs scales"));
    PTERON_TRY(expect_dtype(*heads.scales, ScalarType::Float, "scales"));
    for (const Tensor* p : {heads.scales, heads.zero_points}) {
      if (p == nullptr) continue;
      PTERON_TRY(expect_rank(*p, 4, "scales"));
      for (size_t d = 0; d < 3; ++d) PTERON_TRY(expect(p->size(d) == t.size(d), "scales or zero points have other sizes than their tensor"));
      PTERON_TRY(expect(p->size(3) >= 1, "scales are empty"));
    }
    return heads.zero_points != nullptr ? expect_dtype(*heads.zero_points, ScalarType::Char, "zero_points") : Status();
  }
  if (type != ScalarType::Float && type != ScalarType::Half && type != ScalarType::BFloat16) return bad_dtype(field, type);
  return {};
}

Status run_attention(KernelContext& context, Attention& a, double dropout, std::optional<double> scale, Tensor& out) {
  PTERON_TRY(check_heads(a.query, "query"));
  PTERON_TRY(check_heads(a.key, "key"));
  PTERON_TRY(check_heads(a.value, "value"));
  const Tensor &q = *a.query.tensor, &k = *a.key.tensor, &v = *a.value.tensor;
  PTERON_TRY(expect(dropout == 0, "attention with dropout is not supported"));
  PTERON_TRY(expect(k.dtype() == q.dtype() && v.dtype() == q.dtype(), "query, key and value have different dtypes"));
  if (!is_float(out.dtype()) || (q.dtype() != ScalarType::Char && out.dtype() != q.dtype())) return bad_dtype("out", out.dtype());
  PTERON_TRY(expect_sizes(v, k.sizes(), "value"));
  if (k.size(0) != q.size(0) || k.size(3) != q.size(3) || a.key.heads() == 0 || a.query.heads() % a.key.heads() != 0)
    return bad("key does not fit the query", "key", sizes_text(q.sizes()), sizes_text(k.sizes()));
  if (a.start < 0) return bad("position is negative", "start_pos", "at least 0", std::to_string(a.start));
  if (a.mask != nullptr) {
    PTERON_TRY(expect(!a.causal, "a mask and causal attention exclude each other"));
    PTERON_TRY(expect_dtype(*a.mask, ScalarType::Float, "attn_mask"));
    const int32_t sizes[] = {static_cast<int32_t>(a.query.rows()), static_cast<int32_t>(a.key.rows())};
    PTERON_TRY(expect_sizes(*a.mask, sizes, "attn_mask"));
    a.keys = a.key.rows();
  } else {
    if (a.start > a.key.rows() - a.query.rows())
      return bad("queries lie beyond the keys", "start_pos", "at most " + std::to_string(a.key.rows() - a.query.rows()),
                 std::to_string(a.start));
    a.keys = a.start + a.query.rows();
  }
  PTERON_TRY(resize_like(out, q));
  PTERON_TRY(expect_contiguous({&out}));
  a.scale = static_cast<float>(scale.value_or(1.0 / std::sqrt(static_cast<double>(a.query.width()))));
  const size_t floats = scratch_floats(a.keys, a.query.width()), threads = context.threads().size();
  PTERON_ASSIGN(void* space, context.scratch(floats * sizeof(float) * threads));
  const int64_t rows = q.size(0) * a.query.heads() * a.query.rows();
  const auto parts = static_cast<size_t>(std::min<int64_t>(static_cast<int64_t>(threads), std::max<int64_t>(rows, 1)));
  context.threads().run(parts, [&](size_t part) {
    const auto index = static_cast<int64_t>(part), count = static_cast<int64_t>(parts);
    for (int64_t r = rows * index / count; r < rows * (index + 1) / count; ++r) {
      const int64_t s = r % a.query.rows(), h = r / a.query.rows() % a.query.heads(), b = r / (a.query.rows() * a.query.heads());
      attend(a, b, h, s, static_cast<float*>(space) + part * floats, out);
    }
  });
  return {};
}

// Scratch for the largest number of keys: those of the tensor at `key`.
Result<size_t> attention_scratch(std::span<Value* const> args, size_t key, size_t threads) {
  if (!args[key]->is(Value::Kind::tensor) || args[key]->tensor().rank() != 4) return size_t{0};
  const Tensor& t = args[key]->tensor();
  const int64_t keys = std::max(t.size(1), t.size(2));
  const auto bytes = checked_mul<size_t>(scratch_floats(keys, t.size(3)) * sizeof(float), threads);
  if (!bytes) return bad("attention is too large");
  return *bytes;
}
Result<size_t> sdpa_scratch(std::span<Value* const> args, size_t threads) { return attention_scratch(args, 1, threads); }
Result<size_t> sdpa_with_cache_scratch(std::span<Value* const> args, size_t threads) { return attention_scratch(args, 3, threads); }

Status custom_sdpa(KernelContext& context, const Tensor& query, const Tensor& key, const Tensor& value, int64_t start_pos,
                   const Tensor* mask, double dropout, bool causal, std::optional<double> scale, Tensor& out) {
  Attention a{.query = {&query}, .key = {&key}, .value = {&value}, .mask = mask, .start = start_pos, .causal = causal};
  PTERON_TRY(expect(query.dtype() != ScalarType::Char, "query is quantised"));
  return run_attention(context, a, dropout, scale, out);
}

Status custom_quantized_sdpa(KernelContext& context, const Tensor& query, const Tensor& key, const Tensor& value, int64_t start_pos,
                             const Tensor* mask, double dropout, bool causal, std::optional<double> scale, const Tensor* q_zero_points,
                             const Tensor* q_scales, const Tensor* k_zero_points, const Tensor* k_scales, const Tensor* v_zero_points,
                             const Tensor* v_scales, bool seq_at_dim_2, Tensor& out) {
  const size_t seq = seq_at_dim_2 ? 2 : 1, head = seq_at_dim_2 ? 1 : 2;
  Attention a{.query = {&query, q_zero_points, q_scales, seq, head},
              .key = {&key, k_zero_points, k_scales, seq, head},
              .value = {&value, v_zero_points, v_scales, seq, head},
              .mask = mask,
              .start = start_pos,
              .causal = causal};
  return run_attention(context, a, dropout, scale, out);
}

Status sdpa_with_kv_cache(KernelContext& context, const Tensor& query, const Tensor& key, const Tensor& value, Tensor& key_cache,
                          Tensor& value_cache, int64_t start_pos, int64_t seq_len, const Tensor* mask, double dropout, bool causal,
                          std::optional<double> scale, Tensor& out) {
  PTERON_TRY(expect_rank(key, 4, "key"));
  if (seq_len != key.size(1))
    return bad("sequence length is not that of the keys", "seq_len", std::to_string(key.size(1)), std::to_string(seq_len));
  PTERON_TRY(write_from(key, key_cache, start_pos));
  PTERON_TRY(write_from(value, value_cache, start_pos));
  return custom_sdpa(context, query, key_cache, value_cache, start_pos, mask, dropout, causal, scale, out);
}

constexpr Kernel kKernels[] = {
    make_lenient_kernel<&update_cache>("llama::update_cache.out"),
    make_lenient_kernel<&update_cache_with_indices>("llama::update_cache_with_indices.out"),
    make_lenient_kernel<&custom_sdpa>("llama::custom_sdpa.out", &sdpa_scratch),
    make_lenient_kernel<&custom_quantized_sdpa>("llama::custom_quantized_sdpa.out", &sdpa_scratch),
    make_lenient_kernel<&sdpa_with_kv_cache>("llama::sdpa_with_kv_cache.out", &sdpa_with_cache_scratch),
};

}  // namespace

std::span<const Kernel> attention_kernels() { return kKernels; }

}  // namespace pteron::portable
