// What a file's manifest establishes under a policy, step by step and over bytes in memory.
//
// Whoever opens a program calls, in this order and before it parses anything else:
//   CheckedFile file = CheckedFile::open(bytes, policy);      // footer, keys, statement, digests
//   PTERON_TRY(file.trust().verdict);                         // does the policy let it through?
//   PTERON_TRY(file.check_program(pool));                     // all bytes; or check_range before each part that is used
//   PTERON_TRY(file.check_unchanged(mapping));                // nobody wrote to the file meanwhile
//   ... parse file.program() ...
#pragma once

#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/file.h"
#include "base/status.h"
#include "base/thread_pool.h"
#include "manifest/extension.h"
#include "manifest/leaves.h"
#include "pteron/manifest.h"

namespace pteron::manifest {

// Where the parts of a file are, without a judgement.
struct FileLayout {
  Footer footer;
  std::optional<Extension> extension;  // none: the published footer with an opaque signature
  BlockLayout block;

  ByteSpan program(ByteSpan file) const { return file.first(block.program_bytes); }
  ByteSpan leaves(ByteSpan file) const { return file.subspan(block.program_bytes, block.leaf_bytes); }
  ByteSpan external(ByteSpan file) const { return file.subspan(block.program_bytes + block.leaf_bytes, block.external_bytes); }
  ByteSpan block_signature(ByteSpan file) const {
    return file.subspan(block.program_bytes + block.leaf_bytes + block.external_bytes, block.signature_bytes);
  }
};

// The layout of a file in memory (a mapping will do: only its end is read). Nothing if it has no manifest.
Result<std::optional<FileLayout>> read_layout(ByteSpan file);

class CheckedFile {
 public:
  // `file` and the policy's keys must outlive the object. Never fails: what is wrong stands in the trust and its verdict. Reads none of
  // the program's bytes, but for an opaque signature that a trusted key may have made: only a pass over all of them can tell.
  static CheckedFile open(ByteSpan file, const LoadPolicy& policy);

  const Trust& trust() const { return trust_; }

  // The file without its manifest.
  ByteSpan program() const { return file_.first(trust_.program_bytes); }

  // Checks every chunk against its leaf, with all threads of the pool (null: this one). Does nothing for files that no trusted key vouches
  // for, and for those whose opaque signature held. A failure turns the trust to `invalid`.
  Status check_program(ThreadPool* pool);

  // The same for the chunks that [offset, offset + size) of the program touches, each of them once. One caller at a time.
  Status check_range(uint64_t offset, uint64_t size);

  // Checks a data file against the list in the statement: a name that is not there is refused. Does nothing where no trusted key vouches.
  Status check_external(std::string_view name, ByteSpan bytes, ThreadPool* pool);

  // Refuses a mapped file (of the program or of its data) that was written to since it was mapped. Does nothing where no trusted key
  // vouches.
  Status check_unchanged(const FileBytes& file);

  // What `check_program` leaves out: the plain signature, and leaves of a file whose key is unknown.
  Status check_rest(ThreadPool* pool);

 private:
  explicit CheckedFile(ByteSpan file) : file_(file) { trust_.program_bytes = file.size(); }
  Status establish(const LoadPolicy& policy);
  Status establish_statement(const LoadPolicy& policy);
  Status establish_opaque(const LoadPolicy& policy);
  void judge(const LoadPolicy& policy);
  bool statement_holds(const PublicKey& key) const;
  Status check_seal() const;
  Status check_root() const;
  Status check_leaves(size_t first, size_t last, ThreadPool* pool);
  Status keep(Status status);

  ByteSpan file_;
  Trust trust_;
  std::optional<FileLayout> layout_;
  const PublicKey* key_ = nullptr;  // the trusted key that signed
  std::vector<bool> checked_;       // chunks that equal their leaves
};

}  // namespace pteron::manifest
