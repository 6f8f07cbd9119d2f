#include "manifest/key.h"

#include <sys/stat.h>

#include "manifest/vectors.h"

namespace pteron::manifest {
namespace {

TEST(Key, Ids) {
  // sha256sum of the DER that `openssl pkey -pubin -outform DER` writes.
  EXPECT_EQ(public_key("ed25519").id().hex(), "59222bfbd2da67ed");
  EXPECT_EQ(public_key("ecdsa-p256").id().hex(), "55497d976db29299");
  EXPECT_EQ(public_key("rsa-pss-3072").id().hex(), "af19ffbee98bdddd");
}

TEST(Key, AlgorithmNames) {
  for (const char* name : kAlgorithmNames) {
    EXPECT_EQ(algorithm_name(public_key(name).algorithm()), name);
    EXPECT_EQ(*parse_algorithm(name), public_key(name).algorithm());
  }
  EXPECT_EQ(parse_algorithm("rot13").status().message(),
            "unknown signature algorithm (algorithm): expected ed25519, ecdsa-p256, rsa-pss-3072, found rot13");
}

TEST(Key, SignaturesByOpensslHold) {
  const std::vector<std::byte> program = vector_bytes("program.bin");
  for (const char* name : kAlgorithmNames) {
    std::vector<std::byte> signature = vector_bytes("program." + std::string(name) + ".sig");
    EXPECT_TRUE(signature_holds(public_key(name), program, signature)) << name;
    EXPECT_FALSE(signature_holds(public_key("other"), program, signature)) << name;
    EXPECT_FALSE(signature_holds(public_key(name), ByteSpan(program).first(5002), signature)) << name;
    for (size_t i = 0; i < signature.size(); ++i) {
      signature[i] ^= std::byte{4};
      EXPECT_FALSE(signature_holds(public_key(name), program, signature)) << name << " byte " << i;
      signature[i] ^= std::byte{4};
    }
    signature.pop_back();
    EXPECT_FALSE(signature_holds(public_key(name), program, signature)) << name;
  }
  EXPECT_TRUE(signature_holds(public_key("rsa-pss-3072"), program, vector_bytes("program.rsa-pss-3072-longest-salt.sig")));
}

TEST(Key, OwnSignaturesHold) {
  for (const char* name : {"ed25519", "ecdsa-p256", "rsa-pss-3072", "rsa-pss-typed"}) {
    const PrivateKey key = private_key(name);
    const auto signature = make_signature(key, as_bytes("message"));
    ASSERT_TRUE(signature.ok());
    EXPECT_TRUE(can_be_signature(key.algorithm(), signature->size()));
    EXPECT_TRUE(signature_holds(key.public_key(), as_bytes("message"), *signature)) << name;
    EXPECT_FALSE(signature_holds(key.public_key(), as_bytes("massage"), *signature)) << name;
  }
  // Ed25519 is deterministic.
  EXPECT_EQ(*make_signature(private_key("ed25519"), vector_bytes("program.bin")), vector_bytes("program.ed25519.sig"));
}

TEST(Key, OlderEncodingsAreTheSameKey) {
  EXPECT_EQ(PrivateKey::from_file(vector_path("sec1.key.pem"))->public_key().id(), public_key("ecdsa-p256").id());
  EXPECT_EQ(PrivateKey::from_file(vector_path("pkcs1.key.pem"))->public_key().id(), public_key("rsa-pss-3072").id());
}

TEST(Key, TheWrongHalfIsSaid) {
  EXPECT_EQ(PublicKey::from_pem(vector_text("ed25519.key.pem")).status().message(),
            "the wrong half of a key: expected a public key, found a private key");
  EXPECT_EQ(PrivateKey::from_pem(vector_text("ed25519.pub.pem")).status().message(),
            "the wrong half of a key: expected a private key, found a public key");
  EXPECT_EQ(PublicKey::from_file(vector_path("ed25519.key.pem")).status().detail().file, vector_path("ed25519.key.pem"));
  EXPECT_EQ(PublicKey::from_file(vector_path("none.pem")).code(), Code::not_found);
}

TEST(Key, OtherKindsAreUnsupported) {
  const auto found = [](const char* name) {
    const auto key = PrivateKey::from_file(vector_path(name));
    EXPECT_EQ(key.code(), Code::unsupported);
    return key.status().detail().found;
  };
  EXPECT_EQ(found("rsa2048.key.pem"), "RSA with 2048 bits");
  EXPECT_EQ(found("secp384r1.key.pem"), "elliptic curve secp384r1");
  EXPECT_EQ(found("explicit.key.pem"), "an elliptic curve given by its parameters");
}

using KeyFile = FolderTest;

TEST_F(KeyFile, SavedKeysAreForTheirOwnerAlone) {
  const auto key = PrivateKey::generate(Algorithm::ed25519);
  ASSERT_TRUE(key.ok());
  ASSERT_TRUE(key->save(path("k.pem")).ok());
  struct stat info {};
  ASSERT_EQ(::stat(path("k.pem").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0600u);
  EXPECT_EQ(PrivateKey::from_file(path("k.pem"))->public_key().id(), key->public_key().id());

  const Status again = key->save(path("k.pem"));
  EXPECT_EQ(again.code(), Code::invalid_argument);
  EXPECT_EQ(again.detail().file, path("k.pem"));
  const auto second = PrivateKey::generate(Algorithm::ecdsa_p256);
  ASSERT_TRUE(second->save(path("k.pem"), {}, true).ok());
  EXPECT_EQ(PrivateKey::from_file(path("k.pem"))->public_key().id(), second->public_key().id());
  EXPECT_EQ(key->save(path("none/k.pem")).code(), Code::io_error);
}

TEST_F(KeyFile, EncryptedWithAPassphraseFromAFile) {
  const auto key = PrivateKey::generate(Algorithm::ed25519);
  write("pass", as_bytes("correct horse\nsecond line\n"));
  ASSERT_TRUE(key->save(path("k.pem"), passphrase_from_file(path("pass"))).ok());
  EXPECT_TRUE(read_text_file(path("k.pem"))->starts_with("-----BEGIN ENCRYPTED PRIVATE KEY-----"));
  EXPECT_TRUE(PrivateKey::from_file(path("k.pem"), [] { return Result<std::string>("correct horse"); }).ok());
  EXPECT_TRUE(PrivateKey::from_file(path("k.pem"), passphrase_from_file(path("pass"))).ok());
  EXPECT_EQ(PrivateKey::from_file(path("k.pem"), passphrase_from_file(path("none"))).code(), Code::not_found);
}

TEST(Key, GeneratedKeysOfEachKind) {
  for (const char* name : kAlgorithmNames) {
    const auto key = PrivateKey::generate(*parse_algorithm(name));
    ASSERT_TRUE(key.ok()) << name;
    EXPECT_EQ(algorithm_name(key->algorithm()), name);
    EXPECT_EQ(PublicKey::from_pem(key->public_key().to_pem())->id(), key->public_key().id());
  }
}

}  // namespace
}  // namespace pteron::manifest
