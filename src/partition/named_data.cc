#include "partition/named_data.h"

#include <memory>
#include <utility>

namespace pteron::partition {

Status NamedDataStore::add(std::string key, ByteRecipe bytes, uint32_t alignment, float error) {
  if (key.empty() || alignment == 0) return Status::error(Code::internal, "named data needs a key and an alignment", {.field = key});
  if (const auto it = index_.find(key); it != index_.end()) {
    const Entry& known = entries_[it->second];
    if (known.bytes.nbytes == bytes.nbytes && known.alignment == alignment) return {};
    return Status::error(Code::internal, "two named data have one key",
                         {.field = key, .expected = std::to_string(known.bytes.nbytes) + " bytes", .found = std::to_string(bytes.nbytes)});
  }
  index_.emplace(key, entries_.size());
  entries_.push_back({std::move(key), std::move(bytes), alignment, error});
  return {};
}

Status NamedDataStore::add_bytes(std::string key, std::vector<std::byte> bytes, uint32_t alignment) {
  const uint64_t size = bytes.size();
  auto held = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  return add(std::move(key), {size, [held](const ByteSink& sink) { return sink(*held); }}, alignment);
}

}  // namespace pteron::partition
