// Runs of elements between their storage type and the type that a kernel computes in.
#pragma once

#include <cstdint>

#include "core/dtype.h"

namespace pteron::portable {

// Compute types: float for float32, float16 and bfloat16; double for float64; int64_t for integers and bool.
template <class T>
inline constexpr ScalarType kStorageOf = ScalarType::Float;
template <>
inline constexpr ScalarType kStorageOf<double> = ScalarType::Double;
template <>
inline constexpr ScalarType kStorageOf<int64_t> = ScalarType::Long;

// Reads n elements that lie `stride` elements apart. Numbers beyond an integer's range become its smallest value, as x86 converts them.
template <class T>
void load_run(ScalarType dtype, const void* from, int64_t offset, int64_t stride, int64_t n, T* to);
// Writes n elements; integers wrap, and 16-bit floats round to nearest even.
template <class T>
void store_run(ScalarType dtype, const T* from, int64_t n, void* to, int64_t offset, int64_t stride = 1);

// One element.
template <class T>
T load_one(ScalarType dtype, const void* from, int64_t offset) {
  T value;
  load_run<T>(dtype, from, offset, 1, 1, &value);
  return value;
}
template <class T>
void store_one(ScalarType dtype, T value, void* to, int64_t offset) {
  store_run<T>(dtype, &value, 1, to, offset);
}

// Rounds n values to what `dtype` can hold.
template <class T>
void round_run(ScalarType dtype, T* values, int64_t n);

}  // namespace pteron::portable
