// Byte spans and little-endian numbers at any address.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

namespace pteron {

using ByteSpan = std::span<const std::byte>;
using MutableByteSpan = std::span<std::byte>;

static_assert(std::endian::native == std::endian::little, "files are little-endian and read in place");

// A trivially copyable value at an address that need not be aligned.
template <class T>
  requires std::is_trivially_copyable_v<T>
T load_unaligned(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
  requires std::is_trivially_copyable_v<T>
void store_unaligned(void* to, const T& value) {
  std::memcpy(to, &value, sizeof value);
}

inline std::string_view as_text(ByteSpan bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
inline ByteSpan as_bytes(std::string_view text) { return {reinterpret_cast<const std::byte*>(text.data()), text.size()}; }

}  // namespace pteron
