#include "manifest/pkcs8.h"

#include <openssl/pem.h>
#include <openssl/pkcs12.h>

#include <string>

namespace pteron::manifest {
namespace {

constexpr int kMaxPassphraseBytes = 1024;

using Pbes2Ptr = std::unique_ptr<PBE2PARAM, Freer<PBE2PARAM_free>>;
using Pbkdf2Ptr = std::unique_ptr<PBKDF2PARAM, Freer<PBKDF2PARAM_free>>;

Status unsupported(std::string found) {
  return Status::error(Code::unsupported, "the key is encrypted in a way that is not read",
                       {.file = {},
                        .field = {},
                        .expected = "PBES2 with PBKDF2 and at most " + std::to_string(kMaxIterations) + " iterations",
                        .found = std::move(found)});
}

Status malformed() { return Status::error(Code::invalid_data, "malformed encrypted private key"); }

// Refuses what would keep the processor busy for hours before it fails.
Status check_work(const X509_SIG* encrypted) {
  const X509_ALGOR* algorithm = nullptr;
  X509_SIG_get0(encrypted, &algorithm, nullptr);
  if (algorithm == nullptr || OBJ_obj2nid(algorithm->algorithm) != NID_pbes2) return unsupported("another scheme");
  const Pbes2Ptr scheme(static_cast<PBE2PARAM*>(ASN1_TYPE_unpack_sequence(ASN1_ITEM_rptr(PBE2PARAM), algorithm->parameter)));
  if (scheme == nullptr || scheme->keyfunc == nullptr) return malformed();
  if (OBJ_obj2nid(scheme->keyfunc->algorithm) != NID_id_pbkdf2) return unsupported("another key derivation");
  const Pbkdf2Ptr derivation(static_cast<PBKDF2PARAM*>(ASN1_TYPE_unpack_sequence(ASN1_ITEM_rptr(PBKDF2PARAM), scheme->keyfunc->parameter)));
  if (derivation == nullptr || derivation->iter == nullptr) return malformed();
  int64_t iterations = 0;
  if (ASN1_INTEGER_get_int64(&iterations, derivation->iter) != 1 || iterations < 1 || iterations > kMaxIterations) {
    return unsupported(iterations == 0 ? "a number out of range" : std::to_string(iterations) + " iterations");
  }
  return {};
}

// A passphrase that is wiped when it goes.
class Secret {
 public:
  explicit Secret(const Passphrase& ask) : text_(ask()) {}
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;
  ~Secret() {
    if (text_.ok()) OPENSSL_cleanse(text_->data(), text_->size());
  }
  Status check() const {
    if (!text_.ok()) return text_.status();
    if (text_->empty() || text_->size() > kMaxPassphraseBytes) {
      return Status::error(Code::invalid_argument, "unusable passphrase",
                           {.file = {},
                            .field = {},
                            .expected = "1 to " + std::to_string(kMaxPassphraseBytes) + " bytes",
                            .found = std::to_string(text_->size())});
    }
    return {};
  }
  const char* data() const { return text_->data(); }
  int size() const { return static_cast<int>(text_->size()); }

 private:
  Result<std::string> text_;
};

}  // namespace

Result<PkeyPtr> decrypt_pkcs8(const SecretBytes& der, const Passphrase& passphrase) {
  const unsigned char* at = der.data();
  const EncryptedPtr encrypted(d2i_X509_SIG(nullptr, &at, der.size()));
  if (encrypted == nullptr) return malformed();
  PTERON_TRY(check_work(encrypted.get()));
  if (passphrase == nullptr) {
    return Status::error(Code::invalid_argument, "the private key is encrypted",
                         {.file = {}, .field = {}, .expected = "a passphrase", .found = "none"});
  }
  const Secret secret(passphrase);
  PTERON_TRY(secret.check());
  const Pkcs8Ptr plain(PKCS8_decrypt(encrypted.get(), secret.data(), secret.size()));
  if (plain == nullptr) return Status::error(Code::invalid_argument, "wrong passphrase for the private key");
  PkeyPtr pkey(EVP_PKCS82PKEY(plain.get()));
  // One wrong passphrase in 256 decrypts to something with proper padding, which then is no key.
  if (pkey == nullptr)
    return Status::error(Code::invalid_argument, "wrong passphrase for the private key, or a kind of key that is not known");
  return pkey;
}

Status write_pkcs8(BIO* out, EVP_PKEY* pkey, const Passphrase& passphrase) {
  const Status failed = Status::error(Code::internal, "cannot encode the private key");
  const Pkcs8Ptr plain(EVP_PKEY2PKCS8(pkey));
  if (plain == nullptr) return failed;
  if (passphrase == nullptr) return PEM_write_bio_PKCS8_PRIV_KEY_INFO(out, plain.get()) == 1 ? Status() : failed;
  const Secret secret(passphrase);
  PTERON_TRY(secret.check());
  const EncryptedPtr encrypted(PKCS8_encrypt(-1, EVP_aes_256_cbc(), secret.data(), secret.size(), nullptr, 0, kIterations, plain.get()));
  return encrypted != nullptr && PEM_write_bio_PKCS8(out, encrypted.get()) == 1 ? Status() : failed;
}

}  // namespace pteron::manifest
