#include "base/sha256.h"

#include <gtest/gtest.h>

namespace pteron {
namespace {

// Vectors of FIPS 180-4's examples.
TEST(Sha256, KnownDigests) {
  EXPECT_EQ(to_hex(sha256({})), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(to_hex(sha256(as_bytes("abc"))), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Sha256, PiecesEqualTheWhole) {
  Sha256 hash;
  hash.update(as_bytes("a"));
  hash.update(as_bytes("bc"));
  EXPECT_EQ(hash.finish(), sha256(as_bytes("abc")));
}

}  // namespace
}  // namespace pteron
