#include "manifest/leaves.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>

#include "manifest/encode.h"
#include "manifest/malformed.h"

namespace pteron::manifest {
namespace {

constexpr size_t kDigestBytes = sizeof(Digest);

ByteSpan chunk_of(ByteSpan program, uint32_t chunk_bytes, size_t index) {
  const size_t begin = index * size_t{chunk_bytes};
  return program.subspan(begin, std::min<size_t>(chunk_bytes, program.size() - begin));
}

// Maps the pages of a chunk in one step: one fault a page costs as much as a tenth of the hashing. Where the kernel cannot, pages come as
// ever.
void populate(ByteSpan chunk) {
#ifdef MADV_POPULATE_READ
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(chunk.data()) / page * page;
  ::madvise(reinterpret_cast<void*>(begin), reinterpret_cast<uintptr_t>(chunk.data() + chunk.size()) - begin, MADV_POPULATE_READ);
#endif
}

// Calls f(index) for each of [first, last); threads take the next one when they are free.
template <class F>
void for_each_chunk(size_t first, size_t last, ThreadPool* pool, F&& f) {
  std::atomic<size_t> next{first};
  auto work = [&](size_t) {
    for (size_t i = next.fetch_add(1); i < last; i = next.fetch_add(1)) f(i);
  };
  const size_t parts = pool == nullptr ? 1 : std::min(pool->size(), last - first);
  if (parts <= 1) work(0);
  else pool->run(parts, work);
}

// Takes the parts of the external data list off its front.
class ListReader {
 public:
  explicit ListReader(ByteSpan bytes) : rest_(bytes) {}
  bool done() const { return rest_.empty(); }

  Result<ByteSpan> take(size_t size) {
    if (size > rest_.size())
      return malformed("the external data list is cut off", "external", std::to_string(size) + " bytes", std::to_string(rest_.size()));
    const ByteSpan taken = rest_.first(size);
    rest_ = rest_.subspan(size);
    return taken;
  }

 private:
  ByteSpan rest_;
};

bool is_file_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         std::none_of(name.begin(), name.end(), [](char c) { return c == '/' || static_cast<unsigned char>(c) < 0x20; });
}

}  // namespace

bool has_marker(ByteSpan signed_bytes) {
  return signed_bytes.size() >= kBlockMarker.size() && as_text(signed_bytes.last(kBlockMarker.size())) == kBlockMarker;
}

Result<BlockLayout> block_layout(uint64_t signed_bytes, const SignedStatement& statement, size_t block_signature_bytes) {
  BlockLayout layout;
  layout.leaf_bytes = uint64_t{statement.leaf_count} * kDigestBytes;
  layout.external_bytes = statement.external_bytes;
  layout.signature_bytes = block_signature_bytes;
  const uint64_t block = layout.leaf_bytes + layout.external_bytes + layout.signature_bytes + kBlockMarker.size();
  if (block > signed_bytes)
    return malformed("the digests do not fit into the file", "leaf_count", "at most " + std::to_string(signed_bytes) + " bytes",
                     std::to_string(block));
  layout.program_bytes = signed_bytes - block;
  const uint64_t chunks = chunk_count(layout.program_bytes, statement.chunk_bytes);
  if (chunks != statement.leaf_count)
    return malformed("the number of leaves does not fit the program", "leaf_count", std::to_string(chunks),
                     std::to_string(statement.leaf_count));
  return layout;
}

Digest tree_root(uint64_t program_bytes, uint32_t chunk_bytes, ByteSpan leaves, ByteSpan external) {
  std::vector<std::byte> sizes;
  append_value(sizes, program_bytes);
  append_value(sizes, chunk_bytes);
  append_value(sizes, static_cast<uint32_t>(leaves.size() / kDigestBytes));
  Sha256 hash;
  hash.update(as_bytes(kTreeDomain));
  hash.update(sizes);
  hash.update(leaves);
  hash.update(external);
  return hash.finish();
}

std::vector<std::byte> hash_leaves(ByteSpan program, uint32_t chunk_bytes, ThreadPool* pool) {
  const size_t count = chunk_count(program.size(), chunk_bytes);
  std::vector<std::byte> leaves(count * kDigestBytes);
  for_each_chunk(0, count, pool, [&](size_t i) {
    const ByteSpan chunk = chunk_of(program, chunk_bytes, i);
    populate(chunk);
    const Digest digest = sha256(chunk);
    std::memcpy(leaves.data() + i * kDigestBytes, digest.data(), kDigestBytes);
  });
  return leaves;
}

Digest tree_digest(ByteSpan bytes, uint32_t chunk_bytes, ThreadPool* pool) {
  return tree_root(bytes.size(), chunk_bytes, hash_leaves(bytes, chunk_bytes, pool), {});
}

Status check_chunks(ByteSpan program, uint32_t chunk_bytes, ByteSpan leaves, size_t first, size_t last, ThreadPool* pool) {
  std::atomic<size_t> wrong{SIZE_MAX};
  for_each_chunk(first, last, pool, [&](size_t i) {
    if (wrong.load(std::memory_order_relaxed) < i) return;
    const ByteSpan chunk = chunk_of(program, chunk_bytes, i);
    populate(chunk);
    const Digest digest = sha256(chunk);
    if (std::memcmp(digest.data(), leaves.data() + i * kDigestBytes, kDigestBytes) == 0) return;
    for (size_t seen = wrong.load(); i < seen && !wrong.compare_exchange_weak(seen, i);) {
    }
  });
  const size_t index = wrong.load();
  if (index == SIZE_MAX) return {};
  const size_t begin = index * size_t{chunk_bytes};
  return Status::error(
      Code::refused, "the program is not what was signed",
      {.file = {},
       .field = "bytes " + std::to_string(begin) + " to " + std::to_string(begin + chunk_of(program, chunk_bytes, index).size()),
       .expected = "SHA-256 " + to_hex(leaves.subspan(index * kDigestBytes, kDigestBytes)),
       .found = to_hex(sha256(chunk_of(program, chunk_bytes, index)))});
}

Result<std::vector<ExternalData>> parse_external(ByteSpan list) {
  std::vector<ExternalData> entries;
  ListReader reader(list);
  while (!reader.done()) {
    PTERON_ASSIGN(const ByteSpan name_size, reader.take(sizeof(uint16_t)));
    PTERON_ASSIGN(const ByteSpan name, reader.take(load_unaligned<uint16_t>(name_size.data())));
    PTERON_ASSIGN(const ByteSpan size, reader.take(sizeof(uint64_t)));
    PTERON_ASSIGN(const ByteSpan digest, reader.take(kDigestBytes));
    if (!is_file_name(as_text(name)))
      return malformed("an external file's name is not a file name", "external", "a name without folders", std::string(as_text(name)));
    // Ascending names are unique without a search through all of them.
    if (!entries.empty() && entries.back().name >= as_text(name))
      return malformed("external files are out of order", "external", "a name above " + entries.back().name, std::string(as_text(name)));
    entries.push_back({std::string(as_text(name)), load_unaligned<uint64_t>(size.data()), load_unaligned<Digest>(digest.data())});
  }
  return entries;
}

std::vector<std::byte> write_external(std::span<const ExternalData> entries) {
  std::vector<std::byte> out;
  for (const ExternalData& entry : entries) {
    append_value(out, static_cast<uint16_t>(entry.name.size()));
    append_bytes(out, as_bytes(entry.name));
    append_value(out, entry.size);
    append_bytes(out, entry.digest);
  }
  return out;
}

}  // namespace pteron::manifest
