// Private keys as PKCS#8, encrypted with a passphrase or plain.
#pragma once

#include "base/status.h"
#include "manifest/openssl.h"
#include "manifest/pem.h"
#include "pteron/manifest.h"

namespace pteron::manifest {

// Work that an encrypted key may ask of its reader: some seconds. What `write_pkcs8` asks takes a fraction of one.
constexpr long kMaxIterations = 10'000'000;
constexpr int kIterations = 600'000;

// An encrypted key (PBES2 with PBKDF2) in DER. The passphrase is asked for only when all else about the file is in order.
Result<PkeyPtr> decrypt_pkcs8(const SecretBytes& der, const Passphrase& passphrase);

// PEM of a key: "ENCRYPTED PRIVATE KEY" (AES-256-CBC, PBKDF2 with HMAC-SHA-256) if there is a passphrase, else "PRIVATE KEY".
Status write_pkcs8(BIO* out, EVP_PKEY* pkey, const Passphrase& passphrase);

}  // namespace pteron::manifest
