// PEM text to DER, for keys: one block, bounded input, and what it holds told apart before anything is decoded.
#pragma once

#include <string_view>
#include <vector>

#include "base/status.h"
#include "manifest/openssl.h"

namespace pteron::manifest {

constexpr size_t kMaxPemBytes = size_t{64} << 10;

// Bytes that are wiped when they go.
class SecretBytes {
 public:
  SecretBytes() = default;
  SecretBytes(const unsigned char* data, size_t size) : bytes_(data, data + size) {}
  SecretBytes(SecretBytes&&) noexcept = default;
  SecretBytes& operator=(SecretBytes&&) = delete;
  ~SecretBytes() { OPENSSL_cleanse(bytes_.data(), bytes_.size()); }
  const unsigned char* data() const { return bytes_.data(); }
  long size() const { return static_cast<long>(bytes_.size()); }

 private:
  std::vector<unsigned char> bytes_;
};

struct PemBlock {
  enum class Kind { public_key, private_key, encrypted_private_key };
  Kind kind = Kind::public_key;
  SecretBytes der;
};

// The first block of `pem` that is a key. Parameters in front of it are skipped; certificates, requests and keys under the old PEM
// encryption are errors that say so.
Result<PemBlock> read_pem(std::string_view pem);

}  // namespace pteron::manifest
