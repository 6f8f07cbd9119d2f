// Signatures with the keys of the public header.
#pragma once

#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "manifest/openssl.h"
#include "pteron/manifest.h"

namespace pteron {

struct PublicKey::Impl {
  manifest::PkeyPtr pkey;
  Algorithm algorithm = Algorithm::ed25519;
  KeyId id{};
};

}  // namespace pteron

namespace pteron::manifest {

// The largest signature that a key of this algorithm makes.
size_t max_signature_bytes(Algorithm algorithm);

// Whether a signature of this size can be one of this algorithm.
bool can_be_signature(Algorithm algorithm, size_t bytes);

// Whether `signature` is the key's signature over `message`, which is read in place, once.
bool signature_holds(const PublicKey& key, ByteSpan message, ByteSpan signature);

// The key's signature over `message`, which is read in place (Ed25519 reads it twice).
Result<std::vector<std::byte>> make_signature(const PrivateKey& key, ByteSpan message);

}  // namespace pteron::manifest
