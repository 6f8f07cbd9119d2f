#include "core/dtype.h"

#include <array>
#include <cmath>

namespace pteron {
namespace {

struct Row {
  ScalarType type;
  uint8_t bytes;
  std::string_view name;
};
constexpr std::array kRows = {
    Row{ScalarType::Byte, 1, "uint8"},
    Row{ScalarType::Char, 1, "int8"},
    Row{ScalarType::Short, 2, "int16"},
    Row{ScalarType::Int, 4, "int32"},
    Row{ScalarType::Long, 8, "int64"},
    Row{ScalarType::Half, 2, "float16"},
    Row{ScalarType::Float, 4, "float32"},
    Row{ScalarType::Double, 8, "float64"},
    Row{ScalarType::ComplexHalf, 4, "complex32"},
    Row{ScalarType::ComplexFloat, 8, "complex64"},
    Row{ScalarType::ComplexDouble, 16, "complex128"},
    Row{ScalarType::Bool, 1, "bool"},
    Row{ScalarType::QInt8, 1, "qint8"},
    Row{ScalarType::QUInt8, 1, "quint8"},
    Row{ScalarType::QInt32, 4, "qint32"},
    Row{ScalarType::BFloat16, 2, "bfloat16"},
    Row{ScalarType::QUInt4x2, 1, "quint4x2"},
    Row{ScalarType::QUInt2x4, 1, "quint2x4"},
    Row{ScalarType::Bits1x8, 1, "bits1x8"},
    Row{ScalarType::Bits2x4, 1, "bits2x4"},
    Row{ScalarType::Bits4x2, 1, "bits4x2"},
    Row{ScalarType::Bits8, 1, "bits8"},
    Row{ScalarType::Bits16, 2, "bits16"},
    Row{ScalarType::Float8E5M2, 1, "float8_e5m2"},
    Row{ScalarType::Float8E4M3FN, 1, "float8_e4m3fn"},
    Row{ScalarType::Float8E5M2FNUZ, 1, "float8_e5m2fnuz"},
    Row{ScalarType::Float8E4M3FNUZ, 1, "float8_e4m3fnuz"},
    Row{ScalarType::UInt16, 2, "uint16"},
    Row{ScalarType::UInt32, 4, "uint32"},
    Row{ScalarType::UInt64, 8, "uint64"},
};

const Row* find(ScalarType type) {
  const auto index = static_cast<size_t>(type);
  return static_cast<int8_t>(type) >= 0 && index < kRows.size() ? &kRows[index] : nullptr;  // rows stand at their number
}

}  // namespace

size_t element_size(ScalarType dtype) {
  const Row* row = find(dtype);
  return row != nullptr ? row->bytes : 0;
}

std::string_view dtype_name(ScalarType dtype) {
  const Row* row = find(dtype);
  return row != nullptr ? row->name : "invalid";
}

std::optional<ScalarType> dtype_from_name(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.name == name) return row.type;
  }
  return std::nullopt;
}

bool is_scalar_type(int value) { return value >= 0 && value < static_cast<int>(kRows.size()); }

float half_to_float(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t exponent = (bits >> 10) & 31u, mantissa = bits & 1023u;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
  return sign != 0 ? -magnitude : magnitude;
}

uint16_t float_to_half(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x1ffu));
  if (magnitude >= 0x477ff000u) return sign | 0x7c00u;  // rounds beyond 65504
  if (magnitude < 0x38800000u) {                        // subnormal: let float addition round at 2^-24
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
  }
  const uint32_t odd = (magnitude >> 13) & 1u;
  return static_cast<uint16_t>(sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13));
}

uint16_t float_to_bfloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

}  // namespace pteron
