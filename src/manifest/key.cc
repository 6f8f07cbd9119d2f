#include "manifest/key.h"

#include <fcntl.h>
#include <openssl/core_names.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/file.h"
#include "base/sha256.h"
#include "manifest/pem.h"
#include "manifest/pkcs8.h"

namespace pteron {

struct PrivateKey::Secret {
  manifest::PkeyPtr pkey;  // OpenSSL wipes the private numbers when it goes
};

// What the free functions of this folder may see of the keys.
struct KeyAccess {
  static EVP_PKEY* pkey(const PublicKey& key) { return key.impl_->pkey.get(); }
  static EVP_PKEY* pkey(const PrivateKey& key) { return key.secret_->pkey.get(); }
  static PublicKey make(std::shared_ptr<const PublicKey::Impl> impl) { return PublicKey(std::move(impl)); }
  static Result<PrivateKey> make_private(manifest::PkeyPtr pkey);
};

namespace {

using manifest::BioPtr;
using manifest::DigestContextPtr;
using manifest::ErrorQueueGuard;
using manifest::PemBlock;
using manifest::PkeyContextPtr;
using manifest::PkeyPtr;

constexpr int kRsaBits = 3072;
constexpr size_t kEd25519Bytes = 64;
constexpr size_t kMaxDerP256Bytes = 72;

struct NamedAlgorithm {
  Algorithm algorithm;
  std::string_view name;
  size_t max_signature;
};
constexpr NamedAlgorithm kAlgorithms[] = {
    {Algorithm::ed25519, "ed25519", kEd25519Bytes},
    {Algorithm::ecdsa_p256, "ecdsa-p256", kMaxDerP256Bytes},
    {Algorithm::rsa_pss_3072, "rsa-pss-3072", kRsaBits / 8},
};

Status unsupported_key(std::string found) {
  return Status::error(Code::unsupported, "this kind of key cannot sign programs",
                       {.file = {}, .field = {}, .expected = "Ed25519, ECDSA P-256 or RSA with 3072 bits", .found = std::move(found)});
}

Status not_that_key(std::string_view expected, std::string_view found) {
  return Status::error(Code::invalid_argument, "the wrong half of a key",
                       {.file = {}, .field = {}, .expected = std::string(expected), .found = std::string(found)});
}

Status out_of_memory(std::string_view what) { return Status::error(Code::out_of_memory, what); }

Result<Algorithm> algorithm_of(EVP_PKEY* pkey) {
  switch (EVP_PKEY_get_base_id(pkey)) {
    case EVP_PKEY_ED25519: return Algorithm::ed25519;
    case EVP_PKEY_EC: {
      char group[64] = {};
      int is_explicit = 0;
      EVP_PKEY_get_int_param(pkey, OSSL_PKEY_PARAM_EC_DECODED_FROM_EXPLICIT_PARAMS, &is_explicit);
      if (is_explicit != 0) return unsupported_key("an elliptic curve given by its parameters");
      if (EVP_PKEY_get_utf8_string_param(pkey, OSSL_PKEY_PARAM_GROUP_NAME, group, sizeof group, nullptr) != 1)
        return unsupported_key("an unnamed elliptic curve");
      if (std::string_view(group) != "prime256v1") return unsupported_key("elliptic curve " + std::string(group));
      return Algorithm::ecdsa_p256;
    }
    case EVP_PKEY_RSA:
    case EVP_PKEY_RSA_PSS: {
      const int bits = EVP_PKEY_get_bits(pkey);
      if (bits != kRsaBits) return unsupported_key("RSA with " + std::to_string(bits) + " bits");
      return Algorithm::rsa_pss_3072;
    }
    default: break;
  }
  const char* name = EVP_PKEY_get0_type_name(pkey);
  return unsupported_key(name == nullptr ? "an unknown kind" : name);
}

Result<PublicKey> public_from_der(const unsigned char* der, long size) {
  const unsigned char* at = der;
  PkeyPtr pkey(d2i_PUBKEY(nullptr, &at, size));
  if (pkey == nullptr || at != der + size) {
    return Status::error(Code::invalid_data, "malformed public key",
                         {.file = {}, .field = {}, .expected = "SubjectPublicKeyInfo of a known kind", .found = {}});
  }
  PTERON_ASSIGN(const Algorithm algorithm, algorithm_of(pkey.get()));
  // The id is over what OpenSSL writes for the key, so that one key has one id however its file was encoded.
  unsigned char* spki = nullptr;
  const int spki_size = i2d_PUBKEY(pkey.get(), &spki);
  if (spki_size <= 0) return out_of_memory("cannot encode a public key");
  const Digest digest = sha256({reinterpret_cast<const std::byte*>(spki), static_cast<size_t>(spki_size)});
  OPENSSL_free(spki);
  auto impl = std::make_shared<PublicKey::Impl>();
  impl->pkey = std::move(pkey);
  impl->algorithm = algorithm;
  std::memcpy(impl->id.bytes.data(), digest.data(), impl->id.bytes.size());
  return KeyAccess::make(std::move(impl));
}

// Text of a small file in memory that is wiped.
Result<manifest::SecretBytes> read_secret_file(const std::string& path) {
  PTERON_ASSIGN(std::string text, read_text_file(path, manifest::kMaxPemBytes));
  manifest::SecretBytes bytes(reinterpret_cast<const unsigned char*>(text.data()), text.size());
  OPENSSL_cleanse(text.data(), text.size());
  return bytes;
}

std::string_view as_text(const manifest::SecretBytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), static_cast<size_t>(bytes.size())};
}

// A private key's file: made by us, for its owner alone, complete or not there.
Status write_secret_file(const std::string& path, ByteSpan bytes, bool replace) {
  const auto failed = [&](std::string_view what, int error) {
    return Status::error(Code::io_error, what, {.file = path, .field = {}, .expected = {}, .found = errno_text(error)});
  };
  std::string target = path;
  if (replace) target += ".new";
  const int fd = ::open(target.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
  if (fd < 0 && errno == EEXIST) {
    return Status::error(Code::invalid_argument, "a private key is not overwritten",
                         {.file = target, .field = {}, .expected = "no file of that name", .found = "one"});
  }
  if (fd < 0) return failed("cannot create", errno);
  int error = ::fchmod(fd, S_IRUSR | S_IWUSR) == 0 ? 0 : errno;  // whatever the umask or an inherited access list says
  while (error == 0 && !bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put >= 0) bytes = bytes.subspan(static_cast<size_t>(put));
    else if (errno != EINTR) error = errno;
  }
  if (error == 0 && ::fsync(fd) != 0 && errno != EINVAL) error = errno;
  if (::close(fd) != 0 && error == 0) error = errno;
  if (error == 0 && replace && ::rename(target.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return {};
  ::unlink(target.c_str());
  return failed("cannot write", error);
}

const EVP_MD* digest_of(Algorithm algorithm) { return algorithm == Algorithm::ed25519 ? nullptr : EVP_sha256(); }

bool set_padding(EVP_PKEY_CTX* context, Algorithm algorithm, int salt) {
  return algorithm != Algorithm::rsa_pss_3072 ||
         (EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PSS_PADDING) == 1 && EVP_PKEY_CTX_set_rsa_pss_saltlen(context, salt) == 1);
}

}  // namespace

std::string_view algorithm_name(Algorithm algorithm) {
  for (const NamedAlgorithm& named : kAlgorithms) {
    if (named.algorithm == algorithm) return named.name;
  }
  return {};
}

Result<Algorithm> parse_algorithm(std::string_view name) {
  std::string known;
  for (const NamedAlgorithm& named : kAlgorithms) {
    if (named.name == name) return named.algorithm;
    known += (known.empty() ? "" : ", ") + std::string(named.name);
  }
  return Status::error(Code::invalid_argument, "unknown signature algorithm",
                       {.file = {}, .field = "algorithm", .expected = known, .found = std::string(name)});
}

std::string KeyId::hex() const { return to_hex(std::as_bytes(std::span(bytes))); }

Passphrase passphrase_from_file(std::string path) {
  return [path = std::move(path)]() -> Result<std::string> {
    PTERON_ASSIGN(const manifest::SecretBytes text, read_secret_file(path));
    const std::string_view line = as_text(text).substr(0, as_text(text).find_first_of("\r\n"));
    return std::string(line);
  };
}

Result<PublicKey> PublicKey::from_pem(std::string_view pem) {
  const ErrorQueueGuard errors;
  PTERON_ASSIGN(const PemBlock block, manifest::read_pem(pem));
  if (block.kind != PemBlock::Kind::public_key) return not_that_key("a public key", "a private key");
  return public_from_der(block.der.data(), block.der.size());
}

Result<PublicKey> PublicKey::from_file(const std::string& path) {
  PTERON_ASSIGN(const std::string text, read_text_file(path, manifest::kMaxPemBytes));
  Result<PublicKey> key = from_pem(text);
  if (!key.ok()) return std::move(key).status().in_file(path);
  return key;
}

KeyId PublicKey::id() const { return impl_->id; }
Algorithm PublicKey::algorithm() const { return impl_->algorithm; }

std::string PublicKey::to_pem() const {
  const ErrorQueueGuard errors;
  const BioPtr bio(BIO_new(BIO_s_mem()));
  if (bio == nullptr || PEM_write_bio_PUBKEY(bio.get(), impl_->pkey.get()) != 1) return {};
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &text);
  return {text, static_cast<size_t>(size)};
}

PrivateKey::PrivateKey(PublicKey key, std::unique_ptr<Secret> secret) : public_(std::move(key)), secret_(std::move(secret)) {}
PrivateKey::PrivateKey(PrivateKey&&) noexcept = default;
PrivateKey& PrivateKey::operator=(PrivateKey&&) noexcept = default;
PrivateKey::~PrivateKey() = default;

Result<PrivateKey> KeyAccess::make_private(PkeyPtr pkey) {
  PTERON_TRY(algorithm_of(pkey.get()).status());
  unsigned char* spki = nullptr;
  const int size = i2d_PUBKEY(pkey.get(), &spki);
  if (size <= 0)
    return Status::error(Code::invalid_data, "malformed private key",
                         {.file = {}, .field = {}, .expected = "a key with its public part", .found = {}});
  Result<PublicKey> half = public_from_der(spki, size);
  OPENSSL_free(spki);
  if (!half.ok()) return std::move(half).status();
  auto secret = std::make_unique<PrivateKey::Secret>();
  secret->pkey = std::move(pkey);
  return PrivateKey(std::move(*half), std::move(secret));
}

Result<PrivateKey> PrivateKey::from_pem(std::string_view pem, const Passphrase& passphrase) {
  const ErrorQueueGuard errors;
  PTERON_ASSIGN(const PemBlock block, manifest::read_pem(pem));
  if (block.kind == PemBlock::Kind::public_key) return not_that_key("a private key", "a public key");
  if (block.kind == PemBlock::Kind::encrypted_private_key) {
    PTERON_ASSIGN(PkeyPtr pkey, manifest::decrypt_pkcs8(block.der, passphrase));
    return KeyAccess::make_private(std::move(pkey));
  }
  const unsigned char* at = block.der.data();
  PkeyPtr pkey(d2i_AutoPrivateKey(nullptr, &at, block.der.size()));
  if (pkey == nullptr)
    return Status::error(Code::invalid_data, "malformed private key",
                         {.file = {}, .field = {}, .expected = "PKCS#8 of a known kind", .found = {}});
  return KeyAccess::make_private(std::move(pkey));
}

Result<PrivateKey> PrivateKey::from_file(const std::string& path, const Passphrase& passphrase) {
  PTERON_ASSIGN(const manifest::SecretBytes text, read_secret_file(path));
  Result<PrivateKey> key = from_pem(as_text(text), passphrase);
  if (!key.ok()) return std::move(key).status().in_file(path);
  return key;
}

Result<PrivateKey> PrivateKey::generate(Algorithm algorithm) {
  const ErrorQueueGuard errors;
  EVP_PKEY* made = nullptr;
  switch (algorithm) {
    case Algorithm::ed25519: made = EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"); break;
    case Algorithm::ecdsa_p256: made = EVP_EC_gen("prime256v1"); break;
    case Algorithm::rsa_pss_3072: made = EVP_RSA_gen(kRsaBits); break;
    default: return Status::error(Code::invalid_argument, "unknown signature algorithm");
  }
  if (made == nullptr)
    return Status::error(Code::internal, "cannot generate a key",
                         {.file = {}, .field = {}, .expected = "a source of random numbers", .found = {}});
  return KeyAccess::make_private(PkeyPtr(made));
}

Status PrivateKey::save(const std::string& path, const Passphrase& passphrase, bool replace) const {
  const ErrorQueueGuard errors;
  const BioPtr bio(BIO_new(BIO_s_secmem()));
  if (bio == nullptr) return out_of_memory("cannot encode a private key");
  PTERON_TRY(manifest::write_pkcs8(bio.get(), secret_->pkey.get(), passphrase));
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &text);
  return write_secret_file(path, {reinterpret_cast<const std::byte*>(text), static_cast<size_t>(size)}, replace);
}

namespace manifest {

size_t max_signature_bytes(Algorithm algorithm) {
  for (const NamedAlgorithm& named : kAlgorithms) {
    if (named.algorithm == algorithm) return named.max_signature;
  }
  return 0;
}

bool can_be_signature(Algorithm algorithm, size_t bytes) {
  const size_t most = max_signature_bytes(algorithm);
  return algorithm == Algorithm::ecdsa_p256 ? bytes >= 8 && bytes <= most : bytes == most;
}

bool signature_holds(const PublicKey& key, ByteSpan message, ByteSpan signature) {
  const ErrorQueueGuard errors;
  if (!can_be_signature(key.algorithm(), signature.size())) return false;
  const DigestContextPtr context(EVP_MD_CTX_new());
  EVP_PKEY_CTX* parameters = nullptr;
  return context != nullptr &&
         EVP_DigestVerifyInit(context.get(), &parameters, digest_of(key.algorithm()), nullptr, KeyAccess::pkey(key)) == 1 &&
         set_padding(parameters, key.algorithm(), RSA_PSS_SALTLEN_AUTO) &&
         EVP_DigestVerify(context.get(), reinterpret_cast<const unsigned char*>(signature.data()), signature.size(),
                          reinterpret_cast<const unsigned char*>(message.data()), message.size()) == 1;
}

Result<std::vector<std::byte>> make_signature(const PrivateKey& key, ByteSpan message) {
  const ErrorQueueGuard errors;
  const DigestContextPtr context(EVP_MD_CTX_new());
  EVP_PKEY_CTX* parameters = nullptr;
  std::vector<std::byte> signature(max_signature_bytes(key.algorithm()));
  size_t size = signature.size();
  if (context == nullptr ||
      EVP_DigestSignInit(context.get(), &parameters, digest_of(key.algorithm()), nullptr, KeyAccess::pkey(key)) != 1 ||
      !set_padding(parameters, key.algorithm(), RSA_PSS_SALTLEN_DIGEST) ||
      EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                     reinterpret_cast<const unsigned char*>(message.data()), message.size()) != 1) {
    return Status::error(Code::invalid_argument, "the key cannot sign",
                         {.file = {}, .field = {}, .expected = "a complete private key", .found = {}});
  }
  signature.resize(size);
  return signature;
}

}  // namespace manifest
}  // namespace pteron
