// Signed programs: keys, the policy of an application, and what a file's manifest establishes under it.
//
// A signed file ends in a small footer. docs/signing.md gives its layout and what a signature protects.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pteron/status.h"

namespace pteron {

/// How a file is signed. The values are those that the manifest stores.
enum class Algorithm : uint8_t {
  ed25519 = 1,
  ecdsa_p256 = 2,    ///< over SHA-256, signature in DER
  rsa_pss_3072 = 3,  ///< RSASSA-PSS over SHA-256, salt of 32 bytes
};

/// "ed25519", "ecdsa-p256" or "rsa-pss-3072". Static storage.
std::string_view algorithm_name(Algorithm algorithm);
/// The algorithm of that name; an unknown name is an error that lists the known ones.
Result<Algorithm> parse_algorithm(std::string_view name);

/// The first 8 bytes of the SHA-256 of a public key's SubjectPublicKeyInfo (DER).
struct KeyId {
  std::array<uint8_t, 8> bytes{};
  std::string hex() const;
  bool operator==(const KeyId&) const = default;
};

/// Seconds since 1970-01-01T00:00:00Z.
using Time = std::chrono::sys_seconds;

/// Asked for the passphrase of an encrypted private key, at most once and only if the key is encrypted.
/// The string is wiped after use. An error that it returns is handed through.
using Passphrase = std::function<Result<std::string>()>;

/// A passphrase that stands in the first line of a file.
Passphrase passphrase_from_file(std::string path);

/// A public key that signatures are checked with. Immutable; copies share it; safe to use from several threads.
class PublicKey {
 public:
  /// From PEM text of at most 64 KiB that holds one "PUBLIC KEY" block. A private key is an error, as is another kind of key.
  static Result<PublicKey> from_pem(std::string_view pem);
  static Result<PublicKey> from_file(const std::string& path);

  KeyId id() const;
  Algorithm algorithm() const;
  /// A "PUBLIC KEY" block, as openssl reads it.
  std::string to_pem() const;

  struct Impl;

 private:
  friend struct KeyAccess;
  explicit PublicKey(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

/// A private key that files are signed with. Movable only; wiped when destroyed; never turned into text but by `save`.
class PrivateKey {
 public:
  /// From PEM text of at most 64 KiB: PKCS#8 ("PRIVATE KEY"; "ENCRYPTED PRIVATE KEY" under PBES2 with PBKDF2), or the unencrypted
  /// "EC PRIVATE KEY" and "RSA PRIVATE KEY". A wrong passphrase, a public key and another kind of key are errors.
  static Result<PrivateKey> from_pem(std::string_view pem, const Passphrase& passphrase = {});
  static Result<PrivateKey> from_file(const std::string& path, const Passphrase& passphrase = {});
  static Result<PrivateKey> generate(Algorithm algorithm);

  PrivateKey(PrivateKey&&) noexcept;
  PrivateKey& operator=(PrivateKey&&) noexcept;
  ~PrivateKey();

  Algorithm algorithm() const { return public_.algorithm(); }
  const PublicKey& public_key() const { return public_; }
  /// Writes a new file that only its owner may read (mode 0600): PKCS#8 in PEM, encrypted if there is a passphrase.
  /// An existing file is an error unless `replace`; it is then replaced as a whole.
  Status save(const std::string& path, const Passphrase& passphrase = {}, bool replace = false) const;

 private:
  friend struct KeyAccess;
  struct Secret;
  PrivateKey(PublicKey key, std::unique_ptr<Secret> secret);
  PublicKey public_;
  std::unique_ptr<Secret> secret_;
};

/// How a program's bytes are held.
enum class LoadMode : uint8_t {
  map,   ///< mapped; whoever can write the file can still change what was checked
  copy,  ///< copied into private memory first, then checked there
};

/// What an application asks of a file before it is used. The keys must outlive the call that takes the policy.
struct LoadPolicy {
  std::span<const PublicKey> trusted = {};  ///< keys whose signatures count
  bool require_signed = false;              ///< refuse files without a valid signature by a trusted key
  bool allow_expired = false;               ///< let files through whose signature is valid but past its not-after
  uint64_t minimum_counter = 0;             ///< refuse validly signed files with a smaller counter
  LoadMode mode = LoadMode::map;
  std::optional<Time> now = {};  ///< when expiry is judged; the system's clock if not given
};

/// What a file's manifest established under a policy.
struct Trust {
  enum class State : uint8_t {
    unsigned_file,  ///< there is no manifest
    unknown_key,    ///< there is a signature, but no trusted key to check it with; nothing is established
    valid,          ///< a trusted key signed these bytes
    expired,        ///< a trusted key signed it, its not-after has passed
    rolled_back,    ///< a trusted key signed it, its counter is below the policy's minimum
    invalid,        ///< the manifest is malformed, or a signature or digest does not hold
  };
  State state = State::unsigned_file;
  KeyId key{};  ///< who signed, or claims to have; zero where nothing says so
  std::optional<Algorithm> algorithm;
  std::optional<Time> signed_at, not_after;
  uint64_t counter = 0;
  uint64_t program_bytes = 0;  ///< size of the program, without the manifest
  /// Success if the policy lets the file through, else the reason: `Code::refused` where the policy forbids it or a signature does not
  /// hold, `Code::invalid_data` or `Code::unsupported` where the manifest cannot be read.
  ///
  /// Policy: without a manifest a file passes unless a signature is required. With one it passes if it is valid (or expired, where that is
  /// allowed); an unknown key passes only if no signature is required and no keys are given at all. What is invalid or rolled back never
  /// passes.
  Status verdict;
};

/// "unsigned", "unknown-key", "valid", "expired", "rolled-back" or "invalid". Static storage.
std::string_view trust_state_name(Trust::State state);

/// Establishes what loading needs to know: the footer, the policy, the signed statement, and every byte of the program (and of the
/// external data files, matched by file name) against the digests that the statement vouches for, with `threads` threads (0: all that
/// this process may use). Nothing but the footer is parsed. An error only where a file cannot be read; all else is in `Trust`.
Result<Trust> check(const std::string& path, const LoadPolicy& policy, std::span<const std::string> external_data = {}, size_t threads = 0);

/// As `check`, and also what loading leaves out: the plain signature over all bytes, and the digests even where no key is known.
Result<Trust> verify_manifest(const std::string& path, const LoadPolicy& policy, std::span<const std::string> external_data = {},
                              size_t threads = 0);

/// What a signer states about a file, as the extension block holds it.
struct SignedStatement {
  uint8_t version = 1;
  Algorithm algorithm = Algorithm::ed25519;
  KeyId key{};
  std::optional<Time> signed_at, not_after;
  uint64_t counter = 0;
  uint32_t chunk_bytes = 0;     ///< bytes of program that one leaf digest covers
  uint32_t leaf_count = 0;      ///< number of leaf digests behind the program
  uint32_t external_bytes = 0;  ///< bytes of the list of external data behind the leaves
  std::array<std::byte, 32> root{};
};

/// A data file that belongs to a signed program.
struct ExternalData {
  std::string name;  ///< file name without folders
  uint64_t size = 0;
  std::array<std::byte, 32> digest{};  ///< tree digest of its bytes
};

/// The manifest of a file, as it stands there: read, not checked.
struct Manifest {
  uint64_t file_bytes = 0;
  uint64_t program_bytes = 0;  ///< the original file
  uint64_t signed_bytes = 0;   ///< what the plain signature covers: program, leaves, all before the padding
  uint64_t padding_bytes = 0;
  std::vector<std::byte> signature;
  std::optional<SignedStatement> statement;  ///< none: the published footer with an opaque signature
  std::vector<ExternalData> external_data;
};

/// Reads the manifest, which needs the last bytes of the file only. `Code::not_found` if there is none.
Result<Manifest> read_manifest(const std::string& path);

struct SignOptions {
  std::optional<Time> signed_at = {};  ///< not stated if not given, so that the same input gives the same bytes
  std::optional<Time> not_after = {};
  uint64_t counter = 0;                    ///< a number that grows with each release, against roll-back
  std::vector<std::string> external_data = {};  ///< paths of data files to list by digest; names must be unique
  size_t threads = 0;                      ///< 0: all that this process may use
};

/// Writes `in` with a manifest to `out` (the same path is fine: the file is replaced as a whole). A manifest that `in` has is replaced.
Status sign(const std::string& in, const std::string& out, const PrivateKey& key, const SignOptions& options = {});

/// Writes `in` with the published plain footer around an opaque signature of at most 512 bytes, made elsewhere over the bytes of the
/// program (what `strip_manifest` gives). A manifest that `in` has is replaced.
Status append_manifest(const std::string& in, const std::string& out, std::span<const std::byte> signature);

/// Writes the original bytes of a file, without its manifest. `Code::not_found` if there is none.
Status strip_manifest(const std::string& in, const std::string& out);

}  // namespace pteron
