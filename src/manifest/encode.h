// Numbers and bytes onto the end of what will be written.
#pragma once

#include <cstring>
#include <vector>

#include "base/bytes.h"

namespace pteron::manifest {

template <class T>
void append_value(std::vector<std::byte>& out, const T& value) {
  const size_t at = out.size();
  out.resize(at + sizeof value);
  store_unaligned(out.data() + at, value);
}

inline void append_bytes(std::vector<std::byte>& out, ByteSpan bytes) {
  const size_t at = out.size();
  out.resize(at + bytes.size());
  if (!bytes.empty()) std::memcpy(out.data() + at, bytes.data(), bytes.size());
}

}  // namespace pteron::manifest
