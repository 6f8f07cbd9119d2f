// Any bytes as an extension block: what is accepted without fields to skip is what the writer would write.
#include <algorithm>

#include "manifest/extension.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pteron;
  const ByteSpan block(reinterpret_cast<const std::byte*>(data), size);
  const auto extension = manifest::parse_extension(block);
  if (!extension.ok()) return 0;
  if (extension->fields.size() + manifest::proof_field_bytes(extension->proof.size()) != size) __builtin_trap();
  std::vector<std::byte> again = manifest::write_fields(extension->statement);
  manifest::append_proof(again, extension->sealed, extension->proof);
  const auto reread = manifest::parse_extension(again);
  if (!reread.ok() || reread->statement.root != extension->statement.root || reread->statement.counter != extension->statement.counter)
    __builtin_trap();
  return 0;
}
