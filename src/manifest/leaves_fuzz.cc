// Any bytes as program and digest block, with counts from the first 12 bytes: layout, list of external data, chunk checks.
#include "manifest/leaves.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pteron;
  using namespace pteron::manifest;
  if (size < 12) return 0;
  const ByteSpan file(reinterpret_cast<const std::byte*>(data) + 12, size - 12);
  SignedStatement statement;
  statement.chunk_bytes = 1u << (6 + data[0] % 8);  // small ones, so that small inputs have many
  statement.leaf_count = load_unaligned<uint32_t>(data + 1);
  statement.external_bytes = load_unaligned<uint32_t>(data + 5);
  const auto layout = block_layout(file.size(), statement, data[9]);
  if (!layout.ok()) return 0;
  const ByteSpan program = file.first(layout->program_bytes), leaves = file.subspan(layout->program_bytes, layout->leaf_bytes),
                 list = file.subspan(layout->program_bytes + layout->leaf_bytes, layout->external_bytes);
  if (hash_leaves(program, statement.chunk_bytes, nullptr).size() != leaves.size()) __builtin_trap();
  (void)check_chunks(program, statement.chunk_bytes, leaves, 0, statement.leaf_count, nullptr).ok();
  const auto entries = parse_external(list);
  if (entries.ok() && write_external(*entries) != std::vector<std::byte>(list.begin(), list.end())) __builtin_trap();
  return 0;
}
