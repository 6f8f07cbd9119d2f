#include "manifest/sign.h"

#include <sys/stat.h>

#include <cstdlib>

#include "manifest/check.h"
#include "manifest/vectors.h"

namespace pteron::manifest {
namespace {

SignOptions vector_options() {
  SignOptions options;
  options.signed_at = Time(std::chrono::seconds(1'700'000'000));
  options.not_after = Time(std::chrono::seconds(4'000'000'000));
  options.counter = 7;
  return options;
}

class SignTest : public FolderTest {
 protected:
  // A file of `size` bytes, not all alike.
  std::string program(const std::string& name, size_t size) {
    std::vector<std::byte> bytes(size);
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 2654435761u >> 13);
    return write(name, bytes);
  }
};

TEST_F(SignTest, SignsAndStripsToTheSameBytes) {
  for (const char* name : kAlgorithmNames) {
    const PrivateKey key = private_key(name);
    const PublicKey trusted[] = {public_key(name)};
    for (size_t size : {0u, 1u, 16u, 5003u, (1u << 20), (1u << 20) + 1, 3'500'000u}) {
      const std::string in = program("in", size);
      ASSERT_TRUE(sign(in, path("out"), key, vector_options()).ok());
      const auto trust = verify_manifest(path("out"), {.trusted = trusted, .require_signed = true});
      ASSERT_TRUE(trust.ok());
      EXPECT_TRUE(trust->verdict.ok()) << name << " " << size << " " << trust->verdict.message();
      EXPECT_EQ(trust->state, Trust::State::valid);
      EXPECT_EQ(trust->program_bytes, size);
      EXPECT_EQ(trust->counter, 7u);
      EXPECT_EQ(trust->key, trusted[0].id());
      EXPECT_EQ(trust->signed_at, vector_options().signed_at);
      ASSERT_TRUE(strip_manifest(path("out"), path("stripped")).ok());
      EXPECT_EQ(read("stripped"), read("in"));
    }
  }
}

TEST_F(SignTest, ManifestSaysWhatIsThere) {
  ASSERT_TRUE(sign(program("in", 2'500'000), path("out"), private_key("ed25519"), vector_options()).ok());
  const auto manifest = read_manifest(path("out"));
  ASSERT_TRUE(manifest.ok());
  EXPECT_EQ(manifest->program_bytes, 2'500'000u);
  EXPECT_EQ(manifest->signed_bytes, 2'500'000u + 3 * 32 + 16);
  EXPECT_EQ(manifest->signature.size(), 64u);
  ASSERT_TRUE(manifest->statement.has_value());
  EXPECT_EQ(manifest->statement->leaf_count, 3u);
  EXPECT_EQ(manifest->statement->chunk_bytes, 1u << 20);
  EXPECT_EQ(manifest->statement->key, public_key("ed25519").id());
}

TEST_F(SignTest, SigningAgainReplaces) {
  const std::string in = program("f", 70'001);
  const std::vector<std::byte> original = read("f");
  ASSERT_EQ(::chmod(in.c_str(), 0640), 0);
  ASSERT_TRUE(sign(in, in, private_key("rsa-pss-3072")).ok());
  ASSERT_TRUE(sign(in, in, private_key("ed25519")).ok());
  const std::vector<std::byte> once = read("f");
  ASSERT_TRUE(sign(in, in, private_key("ed25519")).ok());
  EXPECT_EQ(read("f"), once);  // Ed25519 is deterministic, and no time is stated unless asked for
  struct stat info {};
  ASSERT_EQ(::stat(in.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0640u);
  ASSERT_TRUE(append_manifest(in, in, vector_bytes("program.ed25519.sig")).ok());
  ASSERT_TRUE(strip_manifest(in, in).ok());
  EXPECT_EQ(read("f"), original);
  EXPECT_EQ(strip_manifest(in, in).code(), Code::not_found);
  EXPECT_EQ(read_manifest(in).code(), Code::not_found);
}

TEST_F(SignTest, CommittedFilesStayValid) {
  for (const char* name : kAlgorithmNames) {
    const PublicKey trusted[] = {public_key(name)};
    const auto trust = verify_manifest(vector_path("signed." + std::string(name) + ".bin"), {.trusted = trusted, .require_signed = true});
    ASSERT_TRUE(trust.ok());
    EXPECT_TRUE(trust->verdict.ok()) << trust->verdict.message();
  }
  ASSERT_TRUE(sign(vector_path("program.bin"), path("out"), private_key("ed25519"), vector_options()).ok());
  EXPECT_EQ(read("out"), vector_bytes("signed.ed25519.bin"));
}

// The plain signature covers all bytes before the padding, so the openssl command accepts it.
TEST_F(SignTest, OpensslAcceptsThePlainSignature) {
  if (std::system("openssl version >/dev/null 2>&1") != 0) GTEST_SKIP() << "no openssl command";
  const std::string commands[] = {"openssl pkeyutl -verify -rawin -pubin -inkey KEY -in DATA -sigfile SIG",
                                  "openssl dgst -sha256 -verify KEY -signature SIG DATA",
                                  "openssl dgst -sha256 -sigopt rsa_padding_mode:pss -verify KEY -signature SIG DATA"};
  for (size_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(sign(program("in", 1'200'000), path("out"), private_key(kAlgorithmNames[i])).ok());
    const auto manifest = read_manifest(path("out"));
    const std::vector<std::byte> all = read("out");
    write("data", ByteSpan(all).first(manifest->signed_bytes));
    write("sig", manifest->signature);
    std::string command = commands[i];
    for (const auto& [name, value] : {std::pair<std::string, std::string>{"KEY", vector_path(kAlgorithmNames[i]) + ".pub.pem"},
                                      {"DATA", path("data")},
                                      {"SIG", path("sig")}}) {
      command.replace(command.find(name), name.size(), value);
    }
    EXPECT_EQ(std::system((command + " >/dev/null 2>&1").c_str()), 0) << command;
  }
}

TEST_F(SignTest, OpaqueSignaturesByOthers) {
  for (const char* name : kAlgorithmNames) {
    const PublicKey trusted[] = {public_key("other"), public_key(name)};
    ASSERT_TRUE(append_manifest(vector_path("program.bin"), path("out"), vector_bytes("program." + std::string(name) + ".sig")).ok());
    const auto trust = check(path("out"), {.trusted = trusted, .require_signed = true});
    ASSERT_TRUE(trust.ok());
    EXPECT_EQ(trust->state, Trust::State::valid) << trust->verdict.message();
    EXPECT_EQ(trust->key, trusted[1].id());
    EXPECT_EQ(trust->program_bytes, 5003u);
  }
  EXPECT_EQ(append_manifest(vector_path("program.bin"), path("out"), {}).code(), Code::invalid_argument);
  EXPECT_EQ(append_manifest(vector_path("program.bin"), path("out"), std::vector<std::byte>(513)).code(), Code::invalid_argument);
}

TEST_F(SignTest, ExternalDataIsCovered) {
  const std::string in = program("in", 1000), a = program("a.ptd", 3'000'000), b = program("b.ptd", 10);
  SignOptions options;
  options.external_data = {b, a};
  for (const char* name : kAlgorithmNames) {
    ASSERT_TRUE(sign(in, path("out"), private_key(name), options).ok());
    const auto manifest = read_manifest(path("out"));
    ASSERT_EQ(manifest->external_data.size(), 2u);
    EXPECT_EQ(manifest->external_data[0].name, "a.ptd");
    const PublicKey trusted[] = {public_key(name)};
    const LoadPolicy policy{.trusted = trusted, .require_signed = true};
    const std::string both[] = {a, b};
    EXPECT_TRUE(check(path("out"), policy, both)->verdict.ok());

    std::vector<std::byte> changed = read("a.ptd");
    changed[2'999'999] ^= std::byte{1};
    std::filesystem::create_directories(path("x"));
    const std::string other[] = {write("x/a.ptd", changed)};
    const auto wrong = check(path("out"), policy, other);
    EXPECT_EQ(wrong->state, Trust::State::invalid);
    EXPECT_EQ(wrong->verdict.code(), Code::refused);
    EXPECT_EQ(wrong->verdict.detail().field, "external data a.ptd");
    const std::string unlisted[] = {program("c.ptd", 10)};
    EXPECT_EQ(check(path("out"), policy, unlisted)->verdict.code(), Code::refused);
    const std::string missing[] = {path("d.ptd")};
    EXPECT_EQ(check(path("out"), policy, missing).code(), Code::not_found);
  }
  options.external_data = {a, a};
  EXPECT_EQ(sign(in, path("out"), private_key("ed25519"), options).code(), Code::invalid_data);
}

TEST_F(SignTest, WhatCannotBeSigned) {
  const PrivateKey key = private_key("ed25519");
  EXPECT_EQ(sign(path("none"), path("out"), key).code(), Code::not_found);
  EXPECT_EQ(sign(program("in", 10), path("none/out"), key).code(), Code::not_found);
  EXPECT_EQ(sign(path("in"), "-", key).code(), Code::invalid_argument);
  SignOptions options;
  options.not_after = Time(std::chrono::seconds(-5));
  EXPECT_FALSE(sign(path("in"), path("out"), key, options).ok());
  EXPECT_FALSE(std::filesystem::exists(path("out")));
  // Its plain signature would be a signed statement of the file author's choice.
  EXPECT_EQ(sign(write("trick", as_bytes("pteron manifest statement\ninline...")), path("out"), key).code(), Code::invalid_data);
  // A malformed manifest hides where the original ends.
  std::vector<std::byte> broken = vector_bytes("signed.ed25519.bin");
  broken[broken.size() - 8] = std::byte{1};
  EXPECT_EQ(sign(write("broken", broken), path("out"), key).code(), Code::invalid_data);
  EXPECT_EQ(strip_manifest(path("broken"), path("out")).code(), Code::invalid_data);
}

}  // namespace
}  // namespace pteron::manifest
