#include "kernels/portable/convert.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/portable/isa.h"

namespace pteron::portable {
namespace {

// 16-bit floats as types of their own, so that a template can tell them from integers.
struct HalfBits { uint16_t bits; };
struct BFloat16Bits { uint16_t bits; };

template <class Int, class Float>
Int float_to_int(Float value) {
  if constexpr (sizeof(Int) < 4 || std::is_same_v<Int, uint32_t>) {
    return static_cast<Int>(float_to_int<std::conditional_t<std::is_same_v<Int, uint32_t>, int64_t, int32_t>>(value));
  } else if constexpr (std::is_same_v<Int, uint64_t>) {
    if (value >= Float(0x1p63)) return value < Float(0x1p64) ? static_cast<uint64_t>(value) : uint64_t{1} << 63;
    return static_cast<uint64_t>(float_to_int<int64_t>(value));
  } else {
    constexpr Float kLimit = sizeof(Int) == 4 ? Float(0x1p31) : Float(0x1p63);
    return value >= -kLimit && value < kLimit ? static_cast<Int>(value) : std::numeric_limits<Int>::min();
  }
}

template <class To, class From>
To convert(From from) {
  if constexpr (std::is_same_v<From, HalfBits>) {
    return convert<To>(half_to_float(from.bits));
  } else if constexpr (std::is_same_v<From, BFloat16Bits>) {
    return convert<To>(bfloat16_to_float(from.bits));
  } else if constexpr (std::is_same_v<To, HalfBits>) {
    return {float_to_half(static_cast<float>(from))};
  } else if constexpr (std::is_same_v<To, BFloat16Bits>) {
    return {float_to_bfloat16(static_cast<float>(from))};
  } else if constexpr (std::is_same_v<To, bool>) {
    return from != From{};
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return float_to_int<To>(from);
  } else {
    return static_cast<To>(from);
  }
}

// Calls f with a null pointer of the storage type of `dtype`.
template <class F>
void with_storage(ScalarType dtype, F&& f) {
  switch (dtype) {
    case ScalarType::Byte: return f(static_cast<uint8_t*>(nullptr));
    case ScalarType::Char: return f(static_cast<int8_t*>(nullptr));
    case ScalarType::Short: return f(static_cast<int16_t*>(nullptr));
    case ScalarType::Int: return f(static_cast<int32_t*>(nullptr));
    case ScalarType::Long: return f(static_cast<int64_t*>(nullptr));
    case ScalarType::Half: return f(static_cast<HalfBits*>(nullptr));
    case ScalarType::Float: return f(static_cast<float*>(nullptr));
    case ScalarType::Double: return f(static_cast<double*>(nullptr));
    case ScalarType::Bool: return f(static_cast<bool*>(nullptr));
    case ScalarType::BFloat16: return f(static_cast<BFloat16Bits*>(nullptr));
    case ScalarType::UInt16: return f(static_cast<uint16_t*>(nullptr));
    case ScalarType::UInt32: return f(static_cast<uint32_t*>(nullptr));
    case ScalarType::UInt64: return f(static_cast<uint64_t*>(nullptr));
    default: return;  // kernels refuse the other types before they come here
  }
}

}  // namespace

template <class T>
void load_run(ScalarType dtype, const void* from, int64_t offset, int64_t stride, int64_t n, T* to) {
  if constexpr (std::is_same_v<T, float>) {
    if (dtype == ScalarType::Half && stride == 1 && n > 8) {
      isa().half_to_float(static_cast<const uint16_t*>(from) + offset, to, static_cast<size_t>(n));
      return;
    }
  }
  with_storage(dtype, [&](auto* storage) {
    using S = std::remove_pointer_t<decltype(storage)>;
    if constexpr (std::is_same_v<S, bool>) {  // bytes other than 0 and 1 may stand in a file
      const uint8_t* in = static_cast<const uint8_t*>(from) + offset;
      for (int64_t i = 0; i < n; ++i) to[i] = in[i * stride] != 0 ? T(1) : T(0);
    } else {
      const S* in = static_cast<const S*>(from) + offset;
      if (stride == 1) {
        for (int64_t i = 0; i < n; ++i) to[i] = convert<T>(in[i]);
      } else if (stride == 0) {
        const T value = n > 0 ? convert<T>(*in) : T(0);
        for (int64_t i = 0; i < n; ++i) to[i] = value;
      } else {
        for (int64_t i = 0; i < n; ++i) to[i] = convert<T>(in[i * stride]);
      }
    }
  });
}

template <class T>
void store_run(ScalarType dtype, const T* from, int64_t n, void* to, int64_t offset, int64_t stride) {
  if constexpr (std::is_same_v<T, float>) {
    if (dtype == ScalarType::Half && stride == 1 && n > 8) {
      isa().float_to_half(from, static_cast<uint16_t*>(to) + offset, static_cast<size_t>(n));
      return;
    }
  }
  with_storage(dtype, [&](auto* storage) {
    using S = std::remove_pointer_t<decltype(storage)>;
    S* out = static_cast<S*>(to) + offset;
    for (int64_t i = 0; i < n; ++i) out[i * stride] = convert<S>(from[i]);
  });
}

template <class T>
void round_run(ScalarType dtype, T* values, int64_t n) {
  with_storage(dtype, [&](auto* storage) {
    using S = std::remove_pointer_t<decltype(storage)>;
    for (int64_t i = 0; i < n; ++i) values[i] = convert<T>(convert<S>(values[i]));
  });
}

template void load_run<float>(ScalarType, const void*, int64_t, int64_t, int64_t, float*);
template void load_run<double>(ScalarType, const void*, int64_t, int64_t, int64_t, double*);
template void load_run<int64_t>(ScalarType, const void*, int64_t, int64_t, int64_t, int64_t*);
template void store_run<float>(ScalarType, const float*, int64_t, void*, int64_t, int64_t);
template void store_run<double>(ScalarType, const double*, int64_t, void*, int64_t, int64_t);
template void store_run<int64_t>(ScalarType, const int64_t*, int64_t, void*, int64_t, int64_t);
template void round_run<float>(ScalarType, float*, int64_t);
template void round_run<double>(ScalarType, double*, int64_t);
template void round_run<int64_t>(ScalarType, int64_t*, int64_t);

}  // namespace pteron::portable
