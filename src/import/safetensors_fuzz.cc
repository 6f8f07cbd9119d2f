// Any bytes as a safetensors file; every tensor of a file that passes is streamed.
#include <cstddef>
#include <cstdint>

#include "import/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pteron;
  const auto entries = importer::parse_safetensors(FileBytes::borrow({reinterpret_cast<const std::byte*>(data), size}));
  if (!entries.ok()) return 0;
  for (const importer::SafetensorsEntry& entry : *entries) {
    uint64_t bytes = 0;
    const Status status = entry.source->stream([&](ByteSpan piece) {
      bytes += piece.size();
      return Status();
    });
    if (!status.ok() || bytes != entry.source->nbytes()) __builtin_trap();
  }
  return 0;
}
