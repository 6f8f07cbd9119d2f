// Named data of a program: bytes under keys, shared by all methods and delegates, produced when they are written.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "core/constant_source.h"

namespace pteron::partition {

// Bytes that can be produced again and again, without being held in between.
struct ByteRecipe {
  uint64_t nbytes = 0;
  std::function<Status(const ByteSink&)> stream;
};

class NamedDataStore {
 public:
  struct Entry {
    std::string key;
    ByteRecipe bytes;
    uint32_t alignment = 64;  // any positive number
    float error = 0;          // relative error of a weight that was quantised; 0 for everything else
  };

  // Adds an entry. A key that is there already must mean the same bytes: its size and alignment are compared, its recipe is kept.
  Status add(std::string key, ByteRecipe bytes, uint32_t alignment = 64, float error = 0);
  // The same for bytes at hand.
  Status add_bytes(std::string key, std::vector<std::byte> bytes, uint32_t alignment = 64);
  bool contains(std::string_view key) const { return find(key) != nullptr; }
  // The entry of a key, or null; in place until the next one is added.
  const Entry* find(std::string_view key) const {
    const auto it = index_.find(key);
    return it == index_.end() ? nullptr : &entries_[it->second];
  }
  const std::vector<Entry>& entries() const { return entries_; }  // in order of insertion

 private:
  std::vector<Entry> entries_;
  std::map<std::string, size_t, std::less<>> index_;
};

}  // namespace pteron::partition
