#include "manifest/pem.h"

#include "manifest/vectors.h"

namespace pteron::manifest {
namespace {

TEST(Pem, TellsKindsApart) {
  EXPECT_EQ(read_pem(vector_text("ed25519.pub.pem"))->kind, PemBlock::Kind::public_key);
  EXPECT_EQ(read_pem(vector_text("ed25519.key.pem"))->kind, PemBlock::Kind::private_key);
  EXPECT_EQ(read_pem(vector_text("pkcs1.key.pem"))->kind, PemBlock::Kind::private_key);
  EXPECT_EQ(read_pem(vector_text("sec1.key.pem"))->kind, PemBlock::Kind::private_key);  // parameters come first
  EXPECT_EQ(read_pem(vector_text("ed25519.encrypted.pem"))->kind, PemBlock::Kind::encrypted_private_key);
}

TEST(Pem, TextAroundTheBlockIsAllowed) {
  const std::string text = "# key of the build server\n" + vector_text("ed25519.pub.pem") + "\nend\n";
  ASSERT_TRUE(read_pem(text).ok());
  EXPECT_EQ(read_pem(text)->der.size(), 44);
}

TEST(Pem, OtherThingsAreNamed) {
  EXPECT_EQ(read_pem("").status().detail().found, "none");
  EXPECT_EQ(read_pem("hello").status().detail().found, "none");
  EXPECT_EQ(read_pem(vector_text("certificate.pem")).status().detail().found, "a block \"CERTIFICATE\"");
  EXPECT_EQ(read_pem(vector_text("legacy.encrypted.pem")).code(), Code::unsupported);
  EXPECT_EQ(read_pem(std::string(100000, 'x')).status().detail().found, "100000 bytes, more than a key can have");
}

TEST(Pem, TruncatedTextIsAnError) {
  const std::string text = vector_text("ecdsa-p256.pub.pem");
  for (size_t cut = 0; cut + 1 < text.size(); ++cut) {
    const auto key = PublicKey::from_pem(std::string_view(text).substr(0, cut));
    EXPECT_FALSE(key.ok()) << cut;
  }
}

}  // namespace
}  // namespace pteron::manifest
