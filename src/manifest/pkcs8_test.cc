#include "manifest/pkcs8.h"

#include "manifest/vectors.h"

namespace pteron::manifest {
namespace {

Passphrase say(std::string text) {
  return [text]() -> Result<std::string> { return text; };
}

TEST(Pkcs8, ReadsWhatOpensslEncrypted) {
  const std::string pem = vector_text("ed25519.encrypted.pem");
  const auto key = PrivateKey::from_pem(pem, say("pteron"));
  ASSERT_TRUE(key.ok()) << key.status().message();
  EXPECT_EQ(key->public_key().id(), public_key("ed25519").id());
}

TEST(Pkcs8, PassphraseErrors) {
  const std::string pem = vector_text("ed25519.encrypted.pem");
  const auto wrong = PrivateKey::from_pem(pem, say("wrong"));
  EXPECT_EQ(wrong.code(), Code::invalid_argument);
  EXPECT_NE(wrong.status().message().find("wrong passphrase"), std::string::npos);
  EXPECT_EQ(PrivateKey::from_pem(pem).status().message(), "the private key is encrypted: expected a passphrase, found none");
  EXPECT_EQ(PrivateKey::from_pem(pem, say("")).code(), Code::invalid_argument);
  EXPECT_EQ(PrivateKey::from_pem(pem, say(std::string(2000, 'x'))).code(), Code::invalid_argument);
  const Passphrase refuse = []() -> Result<std::string> { return Status::error(Code::cancelled, "not now"); };
  EXPECT_EQ(PrivateKey::from_pem(pem, refuse).code(), Code::cancelled);
}

// Whoever hands over a key file must not decide how long we compute.
TEST(Pkcs8, UnboundedWorkIsRefusedBeforeThePassphrase) {
  const Passphrase never = []() -> Result<std::string> {
    ADD_FAILURE() << "asked for a passphrase";
    return std::string("pteron");
  };
  const auto iterations = PrivateKey::from_pem(vector_text("iterations.encrypted.pem"), never);
  EXPECT_EQ(iterations.code(), Code::unsupported);
  EXPECT_EQ(iterations.status().detail().found, "100000000 iterations");
  EXPECT_EQ(PrivateKey::from_pem(vector_text("scrypt.encrypted.pem"), never).status().detail().found, "another key derivation");
}

TEST(Pkcs8, UnencryptedKeysAskForNothing) {
  const Passphrase never = []() -> Result<std::string> {
    ADD_FAILURE() << "asked for a passphrase";
    return std::string();
  };
  EXPECT_TRUE(PrivateKey::from_pem(vector_text("ed25519.key.pem"), never).ok());
}

}  // namespace
}  // namespace pteron::manifest
