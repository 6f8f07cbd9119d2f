// Tensors as callers see them: element type, sizes, layout and somebody's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace pteron {

/// Element types, numbered as in ExecuTorch programs (`ScalarType` of program.fbs and the runtime's extra numbers).
enum class ScalarType : int8_t {
  Byte = 0, Char = 1, Short = 2, Int = 3, Long = 4, Half = 5, Float = 6, Double = 7,
  ComplexHalf = 8, ComplexFloat = 9, ComplexDouble = 10, Bool = 11, QInt8 = 12, QUInt8 = 13, QInt32 = 14,
  BFloat16 = 15, QUInt4x2 = 16, QUInt2x4 = 17, Bits1x8 = 18, Bits2x4 = 19, Bits4x2 = 20, Bits8 = 21, Bits16 = 22,
  Float8E5M2 = 23, Float8E4M3FN = 24, Float8E5M2FNUZ = 25, Float8E4M3FNUZ = 26, UInt16 = 27, UInt32 = 28, UInt64 = 29,
};

/// Bytes of one element; 0 for a number that is no element type.
size_t element_size(ScalarType dtype);
/// The name users type and read: "float32", "int64", "bool", ...; "invalid" for a number that is no element type.
std::string_view dtype_name(ScalarType dtype);

/// A tensor that is read. Owns nothing: sizes, dim_order and data live elsewhere.
struct TensorView {
  ScalarType dtype = ScalarType::Float;
  std::span<const int32_t> sizes;      ///< one entry a dimension; rank 0 is a scalar
  std::span<const uint8_t> dim_order;  ///< dimensions from outermost to innermost in memory; empty = contiguous
  const void* data = nullptr;
  size_t nbytes = 0;                   ///< bytes at `data`
};

/// A tensor that is written.
struct MutableTensorView {
  ScalarType dtype = ScalarType::Float;
  std::span<const int32_t> sizes;
  std::span<const uint8_t> dim_order;
  void* data = nullptr;
  size_t nbytes = 0;
};

}  // namespace pteron
