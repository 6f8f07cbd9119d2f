#include "base/sha256.h"

#include <openssl/evp.h>

namespace pteron {

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) { EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr); }
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256::~Sha256() = default;

void Sha256::update(ByteSpan bytes) { EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()); }

Digest Sha256::finish() {
  Digest digest{};
  EVP_DigestFinal_ex(state_->context, reinterpret_cast<unsigned char*>(digest.data()), nullptr);
  return digest;
}

Digest sha256(ByteSpan bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.finish();
}

std::string to_hex(ByteSpan bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (std::byte b : bytes) {
    text += kDigits[std::to_integer<unsigned>(b) >> 4];
    text += kDigits[std::to_integer<unsigned>(b) & 15];
  }
  return text;
}

}  // namespace pteron
