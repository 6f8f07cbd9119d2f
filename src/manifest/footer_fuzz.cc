// Any bytes as a file: the footer is found to add up, or refused.
#include <algorithm>

#include "manifest/footer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pteron;
  const ByteSpan file(reinterpret_cast<const std::byte*>(data), size);
  const auto footer = manifest::parse_footer(file.last(std::min(size, manifest::kTailBytes)), size);
  if (!footer.ok() || !footer->has_value()) return 0;
  const manifest::Footer& f = **footer;
  if (f.signed_bytes + f.padding + f.extension.size() + f.signature.size() + manifest::kFieldBytes != size) __builtin_trap();
  return 0;
}
