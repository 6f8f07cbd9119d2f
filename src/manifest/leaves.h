// The digest block behind the program, and what its digests say about bytes.
//
//   [leaf digests: 32 bytes for each chunk of the program][external data list][statement signature, if the extension is sealed][marker]
//
// The marker is covered by the plain signature: it shows that a statement belongs to the file, so that nobody can take the extension away
// and pass the file off as one with an opaque signature, without counter and not-after.
//
// A leaf is the SHA-256 of its chunk (the last one may be short). The root is SHA-256 of kTreeDomain, program size (u64), chunk size (u32),
// leaf count (u32), leaves and external data list. An entry of the list is [name size u16][name][file size u64][tree digest], where the
// tree digest of a file is the root of a tree over its bytes with no list.
#pragma once

#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/sha256.h"
#include "base/status.h"
#include "base/thread_pool.h"
#include "pteron/manifest.h"

namespace pteron::manifest {

constexpr std::string_view kTreeDomain = "pteron manifest tree\n";
constexpr std::string_view kBlockMarker = "pteron digests.\n";

// Where the parts of the signed bytes are.
struct BlockLayout {
  uint64_t program_bytes = 0;
  uint64_t leaf_bytes = 0, external_bytes = 0, signature_bytes = 0;  // behind the program, in this order, then the marker
};

// Whether the signed bytes end in a digest block.
bool has_marker(ByteSpan signed_bytes);

// Checks that the counts of a statement fit `signed_bytes` and each other.
Result<BlockLayout> block_layout(uint64_t signed_bytes, const SignedStatement& statement, size_t block_signature_bytes);

// Number of chunks of a program.
constexpr uint64_t chunk_count(uint64_t bytes, uint32_t chunk_bytes) { return bytes / chunk_bytes + (bytes % chunk_bytes != 0 ? 1 : 0); }

Digest tree_root(uint64_t program_bytes, uint32_t chunk_bytes, ByteSpan leaves, ByteSpan external);

// All leaves of a program, with all threads of the pool (null: this one).
std::vector<std::byte> hash_leaves(ByteSpan program, uint32_t chunk_bytes, ThreadPool* pool);

// The root over `bytes` with no list.
Digest tree_digest(ByteSpan bytes, uint32_t chunk_bytes, ThreadPool* pool);

// Checks chunks [first, last) of the program against their leaves. The error names the first range of bytes that differs.
Status check_chunks(ByteSpan program, uint32_t chunk_bytes, ByteSpan leaves, size_t first, size_t last, ThreadPool* pool);

Result<std::vector<ExternalData>> parse_external(ByteSpan list);
std::vector<std::byte> write_external(std::span<const ExternalData> entries);

}  // namespace pteron::manifest
