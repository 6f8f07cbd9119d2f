// Element types: sizes, names and the 16-bit float formats.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>

#include "pteron/tensor.h"

namespace pteron {

// The type of a user-facing name ("float32", "bfloat16", "int64", "bool", ...).
std::optional<ScalarType> dtype_from_name(std::string_view name);
// Whether a number from a file is an element type.
bool is_scalar_type(int value);
inline bool is_float(ScalarType t) { return t == ScalarType::Float || t == ScalarType::Half || t == ScalarType::BFloat16 || t == ScalarType::Double; }

// IEEE binary16 and bfloat16 as bits; conversions round to nearest even and keep NaN.
float half_to_float(uint16_t bits);
uint16_t float_to_half(float value);
inline float bfloat16_to_float(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
uint16_t float_to_bfloat16(float value);

}  // namespace pteron
