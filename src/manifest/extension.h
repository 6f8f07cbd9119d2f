// The extension block: the signed statement as a list of tagged fields, and the proof that the signer made it.
//
// A field is [tag u8][size u8][size bytes]; tags ascend. Bit 7 of a tag says that a reader that does not know it must refuse the file.
// The last field is the proof, one of
//   statement_signature  a signature over `inline_message`: the statement, the plain signature and the footer's fields;
//   seal                 where two signatures do not fit: the first 16 bytes of SHA-256 of `seal_message` (no key: it shows damage to the
//                        footer), while the signature over `block_message` ends the digest block, in front of the padding.
#pragma once

#include <vector>

#include "base/bytes.h"
#include "base/sha256.h"
#include "base/status.h"
#include "manifest/footer.h"
#include "pteron/manifest.h"

namespace pteron::manifest {

constexpr size_t kSealBytes = 16;
constexpr uint8_t kManifestVersion = 1;
constexpr uint32_t kChunkBytes = 1u << 20;

// What every message that is signed as a statement begins with.
constexpr std::string_view kStatementDomain = "pteron manifest statement\n";

// A file that begins so is never signed (its plain signature would be one over a statement of the file author's choice) and never taken for
// a signed one.
bool begins_like_statement(ByteSpan file);

struct Extension {
  SignedStatement statement;
  ByteSpan fields;      // all fields but the proof
  bool sealed = false;  // the proof is a seal
  ByteSpan proof;
};

// Reads an extension block. Unknown fields are skipped where their tag allows it.
Result<Extension> parse_extension(ByteSpan bytes);

// The fields of a statement, without a proof.
std::vector<std::byte> write_fields(const SignedStatement& statement);
void append_proof(std::vector<std::byte>& fields, bool sealed, ByteSpan proof);

// Bytes that the proof field of `proof_bytes` takes.
constexpr size_t proof_field_bytes(size_t proof_bytes) { return 2 + proof_bytes; }

std::vector<std::byte> inline_message(ByteSpan fields, ByteSpan signature, ByteSpan covered_fields);
std::vector<std::byte> block_message(ByteSpan fields);
std::vector<std::byte> seal_of(ByteSpan fields, ByteSpan signature, ByteSpan covered_fields);

}  // namespace pteron::manifest
