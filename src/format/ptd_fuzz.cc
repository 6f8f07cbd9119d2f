// Opens arbitrary bytes as a `.ptd` and, where that works, reads every entry and writes them again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "format/flat_tensor.h"

using namespace pteron;
using namespace pteron::format;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<std::byte> bytes(size);  // at an aligned address
  if (size > 0) std::memcpy(bytes.data(), data, size);
  auto file = FlatTensorFile::open(FileBytes::borrow(bytes));
  if (!file.ok()) return 0;
  std::vector<FlatTensorToWrite> tensors;
  uint64_t total = 0;
  for (const FlatTensor& entry : file->entries()) {
    if (file->find(entry.key) != &entry) std::abort();
    tensors.push_back({entry.key, entry.layout, borrowed_blob(entry.bytes)});
    total += entry.bytes.size();
  }
  if (total > size * 16) return 0;  // many keys of one segment: legal, but slow to hash here
  std::vector<std::byte> again;
  const Status status = write_flat_tensors(tensors, [&](ByteSpan piece) {
    again.insert(again.end(), piece.begin(), piece.end());
    return Status();
  });
  if (!status.ok() || !FlatTensorFile::open(FileBytes::borrow(again)).ok()) std::abort();
  return 0;
}
