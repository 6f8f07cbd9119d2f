// Arithmetic on sizes that come from files: every result says whether it overflowed.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>

namespace pteron {

template <std::integral T>
[[nodiscard]] constexpr std::optional<T> checked_add(T a, T b) {
  T out{};
  if (__builtin_add_overflow(a, b, &out)) return std::nullopt;
  return out;
}

template <std::integral T>
[[nodiscard]] constexpr std::optional<T> checked_mul(T a, T b) {
  T out{};
  if (__builtin_mul_overflow(a, b, &out)) return std::nullopt;
  return out;
}

// The product of sizes, each of which must be non-negative.
template <std::integral T>
[[nodiscard]] constexpr std::optional<size_t> checked_product(std::span<const T> sizes) {
  size_t product = 1;
  for (T size : sizes) {
    if (std::cmp_less(size, 0) || __builtin_mul_overflow(product, static_cast<size_t>(size), &product)) return std::nullopt;
  }
  return product;
}

// `value` rounded up to a multiple of `alignment` (any positive number).
[[nodiscard]] constexpr std::optional<uint64_t> checked_align(uint64_t value, uint64_t alignment) {
  const uint64_t rest = value % alignment;
  return rest == 0 ? std::optional<uint64_t>(value) : checked_add<uint64_t>(value, alignment - rest);
}

// Whether [offset, offset + size) lies inside [0, limit).
[[nodiscard]] constexpr bool range_inside(uint64_t offset, uint64_t size, uint64_t limit) {
  return offset <= limit && size <= limit - offset;
}

// For sizes that are known to be small: plain rounding up.
constexpr size_t align_up(size_t value, size_t alignment) { return (value + alignment - 1) / alignment * alignment; }

}  // namespace pteron
