#include "manifest/pem.h"

#include <openssl/pem.h>

#include <cstring>
#include <string>

namespace pteron::manifest {
namespace {

constexpr std::string_view kExpected = "a PEM block \"PUBLIC KEY\" or \"PRIVATE KEY\"";

// The three buffers that OpenSSL hands out for a block.
struct RawBlock {
  char* name = nullptr;
  char* header = nullptr;
  unsigned char* data = nullptr;
  long size = 0;
  RawBlock() = default;
  RawBlock(const RawBlock&) = delete;
  RawBlock& operator=(const RawBlock&) = delete;
  ~RawBlock() {
    OPENSSL_free(name);
    OPENSSL_free(header);
    OPENSSL_clear_free(data, static_cast<size_t>(size));
  }
};

Status bad(std::string found) {
  return Status::error(Code::invalid_data, "not a key",
                       {.file = {}, .field = {}, .expected = std::string(kExpected), .found = std::move(found)});
}

}  // namespace

Result<PemBlock> read_pem(std::string_view pem) {
  const ErrorQueueGuard errors;
  if (pem.size() > kMaxPemBytes) return bad(std::to_string(pem.size()) + " bytes, more than a key can have");
  const BioPtr bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  if (bio == nullptr) return Status::error(Code::out_of_memory, "cannot read a key");
  while (true) {
    RawBlock block;
    if (PEM_read_bio(bio.get(), &block.name, &block.header, &block.data, &block.size) != 1) return bad("none");
    const std::string_view name = block.name;
    if (name == "EC PARAMETERS") continue;
    PemBlock::Kind kind;
    if (name == PEM_STRING_PUBLIC) kind = PemBlock::Kind::public_key;
    else if (name == PEM_STRING_PKCS8) kind = PemBlock::Kind::encrypted_private_key;
    else if (name == PEM_STRING_PKCS8INF || name == PEM_STRING_ECPRIVATEKEY || name == PEM_STRING_RSA) kind = PemBlock::Kind::private_key;
    else return bad("a block \"" + std::string(name) + "\"");
    if (block.header != nullptr && *block.header != '\0') {
      return Status::error(
          Code::unsupported, "the key is encrypted in the old way of PEM",
          {.file = {}, .field = {}, .expected = "PKCS#8 (openssl pkcs8 -topk8)", .found = "\"" + std::string(name) + "\" with headers"});
    }
    return PemBlock{kind, SecretBytes(block.data, static_cast<size_t>(block.size))};
  }
}

}  // namespace pteron::manifest
