// Rows of a table by index, plain and quantised.
#include <cstring>

#include "kernels/portable/families.h"
#include "kernels/portable/index.h"

namespace pteron::portable {
namespace {

using runtime::make_kernel;

// `out` gets the sizes of `indices` and one more for the row.
Status resize_rows(const Tensor& indices, int64_t row, Tensor& out) {
  if (!is_index_type(indices.dtype())) return bad_dtype("indices", indices.dtype());
  if (indices.rank() == kMaxRank) return bad("result has too many dimensions");
  if (row > INT32_MAX) return bad("rows are too long");
  Sizes sizes(indices.sizes());
  sizes.push(row);
  return out.resize(sizes.span());
}

Status embedding(KernelContext&, const Tensor& weight, const Tensor& indices, int64_t, bool, bool, Tensor& out) {
  PTERON_TRY(expect_rank(weight, 2, "weight"));
  PTERON_TRY(expect_dtype(out, weight.dtype(), "out"));
  PTERON_TRY(resize_rows(indices, weight.size(1), out));
  PTERON_TRY(expect_contiguous({&weight, &indices, &out}));
  const size_t row = static_cast<size_t>(weight.size(1)) * weight.element_bytes();
  for (size_t i = 0; i < indices.numel(); ++i) {
    const int64_t at = index_at(indices, static_cast<int64_t>(i));
    if (at < 0 || at >= weight.size(0)) return index_error("indices", at, weight.size(0));
    if (row > 0) std::memmove(out.data<std::byte>() + i * row, weight.data<std::byte>() + static_cast<size_t>(at) * row, row);
  }
  return {};
}

// A table of integers of 2, 4 or 8 bits with a scale (and maybe a zero point) for each group of columns of a row.
struct QuantizedTable {
  const Tensor& weight;
  const Tensor& scales;
  const Tensor* zero_points;
  int bits;
  int64_t cols, groups;

  int64_t value(int64_t row, int64_t col) const {
    const auto* bytes = weight.data<uint8_t>();
    if (bits == 8) {
      const uint8_t byte = bytes[row * cols + col];
      return weight.dtype() == ScalarType::Char ? static_cast<int8_t>(byte) : byte;
    }
    if (bits == 4) {  // even columns in the high half of their byte
      const uint8_t byte = bytes[(row * cols + col) / 2];
      return (col % 2 == 0 ? byte >> 4 : byte & 15) - 8;
    }
    const uint8_t byte = bytes[(row * cols + col) / 4];
    return (byte >> (2 * (col % 4)) & 3) - 2;
  }
};

Status check_table(const QuantizedTable& table, int64_t quant_min, int64_t quant_max) {
  PTERON_TRY(expect_rank(table.weight, 2, "weight"));
  const ScalarType type = table.weight.dtype();
  if (type != ScalarType::Byte && !(table.bits == 8 && type == ScalarType::Char)) return bad_dtype("weight", type);
  PTERON_TRY(expect(quant_min <= quant_max, "quantisation range is empty"));
  const Tensor& scales = table.scales;
  if (!is_float(scales.dtype()) || scales.rank() < 1 || scales.rank() > 2 || scales.size(0) != table.weight.size(0))
    return bad("scales do not fit the weight", "weight_scales", sizes_text(table.weight.sizes()), sizes_text(scales.sizes()));
  if (table.zero_points != nullptr) PTERON_TRY(expect_sizes(*table.zero_points, scales.sizes(), "weight_zero_points"));
  if (table.zero_points != nullptr && !is_real(table.zero_points->dtype()))
    return bad_dtype("weight_zero_points", table.zero_points->dtype());
  if (table.groups <= 0 || table.cols % table.groups != 0)
    return bad("columns do not divide into groups", "weight_scales", std::to_string(table.cols), std::to_string(table.groups));
  return expect_contiguous({&table.weight, &scales, table.zero_points});
}

Status quantized_embedding(int bits, const Tensor& weight, const Tensor& scales, const Tensor* zero_points, int64_t quant_min,
                           int64_t quant_max, const Tensor& indices, const std::optional<int64_t>& dtype, Tensor& out) {
  const int64_t cols = weight.rank() == 2 ? int64_t{weight.size(1)} * (8 / bits) : 0;
  const QuantizedTable table{weight, scales, zero_points, bits, cols, scales.rank() == 2 ? scales.size(1) : 1};
  PTERON_TRY(check_table(table, quant_min, quant_max));
  if (!is_float(out.dtype())) return bad_dtype("out", out.dtype());
  if (dtype && *dtype != static_cast<int64_t>(out.dtype()))
    return bad("dtype is not that of out", "dtype", std::string(dtype_name(out.dtype())), std::to_string(*dtype));
  PTERON_TRY(resize_rows(indices, cols, out));
  PTERON_TRY(expect_contiguous({&indices, &out}));
  const int64_t group = cols / table.groups;
  for (int64_t i = 0; i < static_cast<int64_t>(indices.numel()); ++i) {
    const int64_t row = index_at(indices, i);
    if (row < 0 || row >= weight.size(0)) return index_error("indices", row, weight.size(0));
    for (int64_t g = 0; g < table.groups; ++g) {
      const auto scale = load_one<float>(scales.dtype(), scales.data(), row * table.groups + g);
      const float zero = zero_points != nullptr ? load_one<float>(zero_points->dtype(), zero_points->data(), row * table.groups + g) : 0.0f;
      for (int64_t c = g * group; c < (g + 1) * group; ++c) {
        store_one(out.dtype(), (static_cast<float>(table.value(row, c)) - zero) * scale, out.data(), i * cols + c);
      }
    }
  }
  return {};
}

template <int kBits>
Status quantized(KernelContext&, const Tensor& weight, const Tensor& scales, const Tensor* zero_points, int64_t quant_min,
                 int64_t quant_max, const Tensor& indices, Tensor& out) {
  return quantized_embedding(kBits, weight, scales, zero_points, quant_min, quant_max, indices, std::nullopt, out);
}
template <int kBits>
Status quantized_as(KernelContext&, const Tensor& weight, const Tensor& scales, const Tensor* zero_points, int64_t quant_min,
                    int64_t quant_max, const Tensor& indices, std::optional<int64_t> dtype, Tensor& out) {
  return quantized_embedding(kBits, weight, scales, zero_points, quant_min, quant_max, indices, dtype, out);
}

constexpr Kernel kKernels[] = {
    make_kernel<&embedding>("aten::embedding.out"),
    make_kernel<&quantized<8>>("quantized_decomposed::embedding_byte.out"),
    make_kernel<&quantized_as<8>>("quantized_decomposed::embedding_byte.dtype_out"),
    make_kernel<&quantized<4>>("quantized_decomposed::embedding_4bit.out"),
    make_kernel<&quantized_as<4>>("quantized_decomposed::embedding_4bit.dtype_out"),
    make_kernel<&quantized<2>>("quantized_decomposed::embedding_2bit.out"),
    make_kernel<&quantized_as<2>>("quantized_decomposed::embedding_2bit.dtype_out"),
};

}  // namespace

std::span<const Kernel> embedding_kernels() { return kKernels; }

}  // namespace pteron::portable
