// What the tests and benchmarks of kernels share: random rows and weights, and a check for each kernel of the list.
#pragma once

#include <cmath>
#include <cstring>
#include <cstdint>
#include <random>
#include <vector>

#include "core/dtype.h"
#include "kernels/cpu/kernels.h"

namespace pteron::kernels::cpu {

template <class T>
struct Aligned {
  explicit Aligned(size_t count) : storage(count * sizeof(T) + 64) {}
  T* data() { return reinterpret_cast<T*>((reinterpret_cast<uintptr_t>(storage.data()) + 63) / 64 * 64); }
  std::vector<std::byte> storage;
};

inline std::vector<float> random_floats(size_t n, uint32_t seed, float spread = 1.0f) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, spread);
  std::vector<float> out(n);
  for (float& value : out) value = normal(random);
  return out;
}

// Random integers with sensible scales; reads ahead of the end are covered.
inline std::vector<std::byte> random_weight(PackedEncoding encoding, size_t rows, size_t columns, uint32_t seed) {
  const PackedLayout& layout = *packed_layout(encoding);
  std::vector<std::byte> out(*packed_bytes(encoding, rows, columns));
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (size_t record = 0; record < out.size(); record += layout.record_bytes) {
    for (size_t i = 0; i < layout.record_bytes; ++i) out[record + i] = static_cast<std::byte>(random());
    const size_t first = layout.record_columns == 1 ? 0 : layout.scale_offset;
    for (size_t i = first; i < layout.record_bytes; i += encoding == PackedEncoding::float32 ? 4 : 2) {
      const float value = uniform(random);
      if (encoding == PackedEncoding::float32) {
        std::memcpy(&out[record + i], &value, 4);
      } else {
        const uint16_t bits = encoding == PackedEncoding::bfloat16 ? float_to_bfloat16(value) : float_to_half(value * 0.02f);
        std::memcpy(&out[record + i], &bits, 2);
      }
    }
  }
  return out;
}

// Rows of x as the encoding wants them, quantised or plain.
struct Rows {
  Aligned<std::byte> bytes;
  size_t stride;
};
inline Rows input_rows(const KernelTable& table, PackedEncoding encoding, const std::vector<float>& x, size_t rows, size_t columns) {
  const bool quantized = packed_layout(encoding)->record_columns != 1;
  const size_t stride = quantized ? quantized_row_bytes(columns) : columns * sizeof(float);
  Rows out{Aligned<std::byte>(rows * stride), stride};
  for (size_t m = 0; m < rows; ++m) {
    std::byte* row = out.bytes.data() + m * stride;
    if (quantized) table.quantize_row(&x[m * columns], columns, row_values(row), row_groups(row, columns));
    else std::memcpy(row, &x[m * columns], stride);
  }
  return out;
}

#define PTERON_KERNEL(name, parameters) void check_##name(const KernelTable& table, const KernelTable& reference);
#include "kernels/cpu/kernels.def"
#undef PTERON_KERNEL

}  // namespace pteron::kernels::cpu
