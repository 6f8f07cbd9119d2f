#include "kernels/cpu/kernels.h"

#include <gtest/gtest.h>

#include <limits>

#include "kernels/cpu/kernel_cases.h"

namespace pteron::kernels::cpu {
namespace {

struct Shape {
  size_t rows, outputs, columns;
};

struct Product {
  std::vector<float> y;
  void run(const KernelTable& table, PackedEncoding encoding, const std::vector<std::byte>& weight, Rows& x, const Shape& shape, size_t tile_begin,
           size_t tile_end, const float* bias, bool accumulate) {
    Aligned<std::byte> scratch(matmul_scratch_bytes(shape.columns));
    matmul_kernel(table, encoding)({.weights = weight.data(), .outputs = shape.outputs, .columns = shape.columns, .tile_begin = tile_begin,
                                    .tile_end = tile_end, .x = x.bytes.data(), .x_stride = x.stride, .rows = shape.rows, .y = y.data() + tile_begin * kTileRows,
                                    .y_stride = shape.outputs, .bias = bias, .accumulate = accumulate, .scratch = scratch.data()});
  }
};

bool same(float a, float b, float tolerance) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b || std::abs(a - b) <= tolerance;
}

void check_shape(const KernelTable& table, const KernelTable& reference, PackedEncoding encoding, const Shape& shape, const std::vector<float>& x) {
  SCOPED_TRACE(testing::Message() << shape.rows << " x " << shape.columns << " -> " << shape.outputs);
  const auto weight = random_weight(encoding, shape.outputs, shape.columns, 11);
  const auto bias = random_floats(shape.outputs, 12);
  Rows rows = input_rows(reference, encoding, x, shape.rows, shape.columns);
  Rows own = input_rows(table, encoding, x, shape.rows, shape.columns);
  ASSERT_EQ(std::memcmp(rows.bytes.data(), own.bytes.data(), shape.rows * (rows.stride / 64) * 64), 0) << "quantised rows differ";
  const size_t tiles = (shape.outputs + kTileRows - 1) / kTileRows;
  Product expected{random_floats(shape.rows * shape.outputs, 13)}, whole = expected, parts = expected;
  expected.run(reference, encoding, weight, rows, shape, 0, tiles, bias.data(), true);
  whole.run(table, encoding, weight, rows, shape, 0, tiles, bias.data(), true);
  for (size_t tile = 0; tile < tiles; ++tile) parts.run(table, encoding, weight, rows, shape, tile, tile + 1, bias.data(), true);
  float largest = 0;
  for (const float value : x) largest = std::isfinite(value) ? std::max(largest, std::abs(value)) : largest;
  const float tolerance = 2e-6f * largest * static_cast<float>(shape.columns);
  for (size_t i = 0; i < expected.y.size(); ++i) {
    ASSERT_TRUE(same(whole.y[i], expected.y[i], tolerance)) << i << ": " << whole.y[i] << " not " << expected.y[i];
    ASSERT_TRUE(same(whole.y[i], parts.y[i], 0)) << "depends on how the tiles are split";
  }
  // One row at a time gives the same bits as all together.
  Product single{std::vector<float>(shape.rows * shape.outputs)}, together = single;
  together.run(table, encoding, weight, rows, shape, 0, tiles, nullptr, false);
  for (size_t m = 0; m < shape.rows; ++m) {
    Product one{std::vector<float>(shape.outputs)};
    Rows row{Aligned<std::byte>(rows.stride), rows.stride};
    std::memcpy(row.bytes.data(), rows.bytes.data() + m * rows.stride, rows.stride);
    one.run(table, encoding, weight, row, {1, shape.outputs, shape.columns}, 0, tiles, nullptr, false);
    for (size_t n = 0; n < shape.outputs; ++n) ASSERT_TRUE(same(one.y[n], together.y[m * shape.outputs + n], 0)) << "row " << m << " output " << n;
  }
}

void check_matmul(const KernelTable& table, const KernelTable& reference, PackedEncoding encoding) {
  for (const Shape& shape : {Shape{1, 16, 32}, Shape{1, 1, 1}, Shape{2, 17, 33}, Shape{3, 40, 64}, Shape{5, 15, 100}, Shape{7, 48, 96},
                             Shape{8, 33, 31}, Shape{13, 64, 576}, Shape{31, 20, 160}}) {
    check_shape(table, reference, encoding, shape, random_floats(shape.rows * shape.columns, 10));
  }
  // Every value at the largest magnitude, then tiny ones, then rows with values that are no numbers.
  const Shape shape{9, 32, 96};
  std::vector<float> x(shape.rows * shape.columns);
  for (size_t i = 0; i < x.size(); ++i) x[i] = i % 3 == 0 ? -3e4f : 3e4f;
  check_shape(table, reference, encoding, shape, x);
  for (size_t i = 0; i < x.size(); ++i) x[i] = i % 2 == 0 ? 1e-38f : -1e-33f;
  check_shape(table, reference, encoding, shape, x);
  x = random_floats(x.size(), 14);
  x[5] = std::numeric_limits<float>::quiet_NaN();
  x[2 * shape.columns + 40] = std::numeric_limits<float>::infinity();
  x[8 * shape.columns + 95] = -std::numeric_limits<float>::infinity();
  if (packed_layout(encoding)->record_columns != 1) check_shape(table, reference, encoding, shape, x);
}

}  // namespace

#define PTERON_MATMUL(name) \
  void check_matmul_##name(const KernelTable& table, const KernelTable& reference) { check_matmul(table, reference, PackedEncoding::name); }
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

TEST(Matmul, AnInfinityInARowMakesThatRowAloneNaN) {
  for (const CpuTarget target : {CpuTarget::scalar, CpuTarget::avx2, CpuTarget::avx512vnni, CpuTarget::neon}) {
    const KernelTable* table = kernels_for(target);
    if (table == nullptr) continue;
    const Shape shape{3, 16, 64};
    auto x = random_floats(shape.rows * shape.columns, 1);
    x[64 + 7] = std::numeric_limits<float>::infinity();
    Rows rows = input_rows(*table, PackedEncoding::int4, x, shape.rows, shape.columns);
    Product product{std::vector<float>(48)};
    product.run(*table, PackedEncoding::int4, random_weight(PackedEncoding::int4, 16, 64, 2), rows, shape, 0, 1, nullptr, false);
    for (size_t i = 0; i < 48; ++i) EXPECT_EQ(std::isnan(product.y[i]), i / 16 == 1) << i;
  }
}

}  // namespace pteron::kernels::cpu
