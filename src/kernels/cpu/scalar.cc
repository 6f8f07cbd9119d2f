// The plain reference: what every other instruction set must agree with.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/bytes.h"
#include "core/dtype.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/packed_value.h"
#include "kernels/cpu/tables.h"

namespace pteron::kernels::cpu {
namespace {

float float_weight(PackedEncoding encoding, const std::byte* record, size_t row) {
  if (encoding == PackedEncoding::float32) {
    float value = 0;
    std::memcpy(&value, record + row * 4, 4);
    return value;
  }
  const uint16_t bits = record_half(record, 0, row);
  return encoding == PackedEncoding::float16 ? half_to_float(bits) : bfloat16_to_float(bits);
}

float dot_floats(PackedEncoding encoding, const std::byte* tile, size_t row, const float* x, size_t n) {
  const size_t record_bytes = packed_layout(encoding)->record_bytes;
  float sum = 0;
  for (size_t k = 0; k < n; ++k) sum = std::fma(float_weight(encoding, tile + k * record_bytes, row), x[k], sum);
  return sum;
}

// One group: the integer sums first, exact, then one scale (int6: two) and the group's own scale.
float group_value(const PackedLayout& layout, const std::byte* record, size_t row, const int8_t* x, const GroupScale& group) {
  int sums[2] = {0, 0};
  for (size_t k = 0; k < kGroupColumns; ++k) sums[k / 16] += stored_integer(layout, record, row, k) * x[k];
  const float zero = layout.zero_point;
  if (layout.bits == 6) {
    const float low = static_cast<float>(sums[0]) - zero * group.low_sum, high = static_cast<float>(sums[1]) - zero * group.high_sum;
    return std::fma(stored_scale(layout, record, row, 16), high, stored_scale(layout, record, row, 0) * low);
  }
  const float total = static_cast<float>(sums[0] + sums[1]);
  const float scale = stored_scale(layout, record, row, 0);
  if (layout.affine) return std::fma(scale, total, stored_offset(layout, record, row) * group.sum);
  return scale * (total - zero * group.sum);
}

float dot_integers(const PackedLayout& layout, const std::byte* tile, size_t row, const std::byte* x, size_t columns) {
  const size_t groups = group_count(columns);
  const auto* values = reinterpret_cast<const int8_t*>(x);
  const auto* scales = reinterpret_cast<const GroupScale*>(x + groups * kGroupColumns);
  float sum = 0;
  for (size_t g = 0; g < groups; ++g) {
    sum = std::fma(group_value(layout, tile + g * layout.record_bytes, row, values + g * kGroupColumns, scales[g]), scales[g].scale, sum);
  }
  return sum;
}

void matmul(PackedEncoding encoding, const MatmulArgs& args) {
  const PackedLayout& layout = *packed_layout(encoding);
  const size_t tile_bytes = (args.columns + layout.record_columns - 1) / layout.record_columns * layout.record_bytes;
  for (size_t n = args.tile_begin * kTileRows; n < args.tile_end * kTileRows && n < args.outputs; ++n) {
    const std::byte* tile = args.weights + n / kTileRows * tile_bytes;
    for (size_t m = 0; m < args.rows; ++m) {
      const std::byte* x = args.x + m * args.x_stride;
      float value = layout.record_columns == 1
                        ? dot_floats(encoding, tile, n % kTileRows, reinterpret_cast<const float*>(x), args.columns)
                        : dot_integers(layout, tile, n % kTileRows, x, args.columns);
      float& y = args.y[m * args.y_stride + n - args.tile_begin * kTileRows];
      if (args.bias != nullptr) value += args.bias[n];
      y = args.accumulate ? y + value : value;
    }
  }
}

#define PTERON_MATMUL(encoding) \
  void matmul_##encoding(const MatmulArgs& args) { matmul(PackedEncoding::encoding, args); }
PTERON_MATMUL(float32)
PTERON_MATMUL(float16)
PTERON_MATMUL(bfloat16)
PTERON_MATMUL(int8)
PTERON_MATMUL(int4)
PTERON_MATMUL(int4_affine)
PTERON_MATMUL(int5)
PTERON_MATMUL(int5_affine)
PTERON_MATMUL(int6)
#undef PTERON_MATMUL

// Fills in the scale and sums of one group whose 32 values are in `x` (zeros past the row's end).
void quantize_group(const float* x, int8_t* values, GroupScale& group) {
  uint32_t largest = 0;
  for (size_t i = 0; i < kGroupColumns; ++i) largest = std::max(largest, std::bit_cast<uint32_t>(x[i]) & 0x7fffffffu);
  const bool finite = largest < 0x7f800000u;
  const float maximum = finite ? std::bit_cast<float>(largest) : 0;
  const bool zero = maximum < kSmallestMaximum;
  const float inverse = zero ? 0 : 127.0f / maximum;
  int sums[2] = {0, 0};
  for (size_t i = 0; i < kGroupColumns; ++i) {
    values[i] = finite ? static_cast<int8_t>(std::lrintf(x[i] * inverse)) : int8_t{0};
    sums[i / 16] += values[i];
  }
  group.scale = finite ? (zero ? 0 : maximum / 127.0f) : std::numeric_limits<float>::quiet_NaN();
  group.low_sum = static_cast<float>(sums[0]);
  group.high_sum = static_cast<float>(sums[1]);
  group.sum = static_cast<float>(sums[0] + sums[1]);
}

void quantize_row(const float* x, size_t n, int8_t* values, GroupScale* groups) {
  for (size_t begin = 0; begin < n; begin += kGroupColumns) {
    float padded[kGroupColumns] = {};
    for (size_t i = 0; i < kGroupColumns && begin + i < n; ++i) padded[i] = x[begin + i];
    quantize_group(padded, values + begin, groups[begin / kGroupColumns]);
  }
}

void rms_norm(const float* x, const float* weight, float eps, float offset, size_t n, float* y) {
  float sum = 0;
  for (size_t i = 0; i < n; ++i) sum += x[i] * x[i];
  const float factor = 1.0f / std::sqrt(sum / static_cast<float>(n) + eps);
  for (size_t i = 0; i < n; ++i) y[i] = x[i] * factor * (weight != nullptr ? weight[i] + offset : 1.0f);
}

void layer_norm(const float* x, const float* weight, const float* bias, float eps, size_t n, float* y) {
  float mean = 0, variance = 0;
  for (size_t i = 0; i < n; ++i) mean += x[i];
  mean /= static_cast<float>(n);
  for (size_t i = 0; i < n; ++i) variance += (x[i] - mean) * (x[i] - mean);
  const float factor = 1.0f / std::sqrt(variance / static_cast<float>(n) + eps);
  for (size_t i = 0; i < n; ++i) {
    y[i] = (x[i] - mean) * factor * (weight != nullptr ? weight[i] : 1.0f) + (bias != nullptr ? bias[i] : 0.0f);
  }
}

void rotate(float& a, float& b, float cos, float sin) {
  const float first = a * cos - b * sin, second = b * cos + a * sin;
  a = first;
  b = second;
}

void rope_split(float* x, const float* cos, const float* sin, size_t half) {
  for (size_t i = 0; i < half; ++i) rotate(x[i], x[i + half], cos[i], sin[i]);
}

void rope_interleaved(float* x, const float* cos, const float* sin, size_t half) {
  for (size_t i = 0; i < half; ++i) rotate(x[2 * i], x[2 * i + 1], cos[i], sin[i]);
}

float silu_of(float x) { return x / (1.0f + std::exp(-x)); }
float gelu_tanh_of(float x) { return 0.5f * x * (1.0f + std::tanh(0.7978845608028654f * (x + 0.044715f * x * x * x))); }
float gelu_erf_of(float x) { return 0.5f * x * (1.0f + std::erf(x * 0.7071067811865476f)); }
float relu_of(float x) { return x < 0 ? 0.0f : x; }

#define PTERON_ACTIVATION(name)                                                      \
  void name(const float* x, size_t n, float* y) {                                    \
    for (size_t i = 0; i < n; ++i) y[i] = name##_of(x[i]);                           \
  }                                                                                  \
  void name##_mul(const float* gate, const float* up, size_t n, float* y) {          \
    for (size_t i = 0; i < n; ++i) y[i] = name##_of(gate[i]) * up[i];                \
  }
PTERON_ACTIVATION(silu)
PTERON_ACTIVATION(gelu_tanh)
PTERON_ACTIVATION(gelu_erf)
PTERON_ACTIVATION(relu)
#undef PTERON_ACTIVATION

void softcap(const float* x, float cap, size_t n, float* y) {
  for (size_t i = 0; i < n; ++i) y[i] = cap * std::tanh(x[i] / cap);
}

void add_scaled(const float* a, const float* b, float scale_in, size_t n, float* y) {
  for (size_t i = 0; i < n; ++i) y[i] = std::fma(scale_in, b[i], a[i]);
}

void multiply(const float* a, const float* b, size_t n, float* y) {
  for (size_t i = 0; i < n; ++i) y[i] = a[i] * b[i];
}

void scale(const float* x, float factor, size_t n, float* y) {
  for (size_t i = 0; i < n; ++i) y[i] = factor * x[i];
}

void to_float16(const float* x, size_t n, uint16_t* y) {
  for (size_t i = 0; i < n; ++i) y[i] = float_to_half(x[i]);
}

void to_bfloat16(const float* x, size_t n, uint16_t* y) {
  for (size_t i = 0; i < n; ++i) y[i] = float_to_bfloat16(x[i]);
}

void from_float16(const uint16_t* x, size_t n, float* y) {
  for (size_t i = 0; i < n; ++i) y[i] = half_to_float(x[i]);
}

void from_bfloat16(const uint16_t* x, size_t n, float* y) {
  for (size_t i = 0; i < n; ++i) y[i] = bfloat16_to_float(x[i]);
}

float element(const float* x) { return *x; }
struct Half { uint16_t bits; };
struct BFloat16 { uint16_t bits; };
float element(const Half* x) { return half_to_float(x->bits); }
float element(const BFloat16* x) { return bfloat16_to_float(x->bits); }

void clear_state(float* state, size_t value_dim) {
  std::fill(state, state + value_dim, 0.0f);
  state[value_dim] = -std::numeric_limits<float>::infinity();
  state[value_dim + 1] = 0;
}

// Adds what one range of slots left in its state to the ranges before it.
void merge_state(const float* state, size_t value_dim, float* values, float& maximum, float& sum) {
  const float own_maximum = state[value_dim], own_sum = state[value_dim + 1];
  if (own_sum == 0) return;
  const float largest = own_maximum > maximum || std::isnan(own_maximum) ? own_maximum : maximum;
  const float kept = sum == 0 ? 0 : std::exp(maximum - largest), added = std::exp(own_maximum - largest);
  for (size_t d = 0; d < value_dim; ++d) values[d] = values[d] * kept + state[d] * added;
  sum = sum * kept + own_sum * added;
  maximum = largest;
}

template <class T>
void attend_slots(const AttentionArgs& args, const float* query, size_t begin, size_t end, const float* bias, float* state) {
  const T* keys = static_cast<const T*>(args.keys);
  const T* values = static_cast<const T*>(args.values);
  float maximum = state[args.value_dim], sum = state[args.value_dim + 1];
  for (size_t slot = begin; slot < end; ++slot) {
    float score = 0;
    for (size_t d = 0; d < args.key_dim; ++d) score += query[d] * args.scale * element(keys + slot * args.key_dim + d);
    if (args.softcap > 0) score = args.softcap * std::tanh(score / args.softcap);
    if (bias != nullptr) score += bias[slot];
    const float largest = score > maximum || std::isnan(score) ? score : maximum;
    const float kept = sum == 0 ? 0 : std::exp(maximum - largest), weight = std::exp(score - largest);
    sum = sum * kept + weight;
    for (size_t d = 0; d < args.value_dim; ++d) state[d] = state[d] * kept + weight * element(values + slot * args.value_dim + d);
    maximum = largest;
  }
  state[args.value_dim] = maximum;
  state[args.value_dim + 1] = sum;
}

// Block by block, so that a row's result does not depend on the ranges that its slots are handed over in.
template <class T>
void attend_query(const AttentionArgs& args, const float* query, const SlotRuns& runs, const float* bias, float* state) {
  float* const block = args.scratch;
  clear_state(state, args.value_dim);
  for (size_t slot = args.slot_begin / kAttentionBlock * kAttentionBlock; slot < args.slot_end; slot += kAttentionBlock) {
    clear_state(block, args.value_dim);
    for (size_t run = 0; run < 2; ++run) {
      const size_t begin = std::max({slot, args.slot_begin, static_cast<size_t>(runs.begin[run])});
      const size_t end = std::min({slot + kAttentionBlock, args.slot_end, static_cast<size_t>(runs.end[run])});
      attend_slots<T>(args, query, begin, end, bias, block);
    }
    merge_state(block, args.value_dim, state, state[args.value_dim], state[args.value_dim + 1]);
  }
}

template <class T>
void attention(const AttentionArgs& args) {
  for (size_t row = 0; row < args.rows; ++row) {
    for (size_t head = 0; head < args.heads; ++head) {
      attend_query<T>(args, args.query + row * args.query_stride + head * args.key_dim, args.runs[row],
                      args.bias != nullptr ? args.bias + head * args.bias_stride : nullptr,
                      args.state + (row * args.heads + head) * attention_state_floats(args.value_dim));
    }
  }
}

void attention_float32(const AttentionArgs& args) { attention<float>(args); }
void attention_float16(const AttentionArgs& args) { attention<Half>(args); }
void attention_bfloat16(const AttentionArgs& args) { attention<BFloat16>(args); }

void attention_join(const AttentionJoinArgs& args) {
  float maximum = -std::numeric_limits<float>::infinity(), sum = 0;
  std::fill(args.out, args.out + args.value_dim, 0.0f);
  for (size_t i = 0; i < args.splits; ++i) merge_state(args.state + i * args.split_stride, args.value_dim, args.out, maximum, sum);
  for (size_t d = 0; d < args.value_dim; ++d) args.out[d] /= sum;
}

void read_bytes(const std::byte* data, size_t bytes, uint64_t* sum) {
  uint64_t total = 0;
  for (size_t i = 0; i + 8 <= bytes; i += 8) total += load_unaligned<uint64_t>(data + i);
  *sum = total;
}

void dot_bytes(size_t rounds, uint64_t* multiplications) {
  int sum = 0;
  for (size_t i = 0; i < rounds; ++i) {
    for (int k = 0; k < 64; ++k) sum += k * static_cast<int8_t>(i);
    asm volatile("" : "+r"(sum));
  }
  *multiplications = rounds * 64;
}

}  // namespace

const KernelTable& scalar_kernels() {
  static constexpr KernelTable kTable = {
      CpuTarget::scalar,
#define PTERON_KERNEL(name, parameters) &name,
#include "kernels/cpu/kernels.def"
#undef PTERON_KERNEL
  };
  return kTable;
}

}  // namespace pteron::kernels::cpu
