#include "manifest/extension.h"

#include "manifest/vectors.h"

namespace pteron::manifest {
namespace {

SignedStatement example() {
  SignedStatement statement;
  statement.algorithm = Algorithm::ecdsa_p256;
  statement.key.bytes = {1, 2, 3, 4, 5, 6, 7, 8};
  statement.signed_at = Time(std::chrono::seconds(1700000000));
  statement.not_after = Time(std::chrono::seconds(1800000000));
  statement.counter = 42;
  statement.chunk_bytes = kChunkBytes;
  statement.leaf_count = 3;
  statement.external_bytes = 50;
  statement.root.fill(std::byte{0xaa});
  return statement;
}

std::vector<std::byte> with_proof(std::vector<std::byte> fields, bool sealed = false) {
  append_proof(fields, sealed, std::vector<std::byte>(sealed ? 16 : 64, std::byte{7}));
  return fields;
}

void append_field(std::vector<std::byte>& fields, uint8_t tag, std::initializer_list<uint8_t> value) {
  fields.push_back(std::byte{tag});
  fields.push_back(static_cast<std::byte>(value.size()));
  for (uint8_t v : value) fields.push_back(std::byte{v});
}

TEST(Extension, RoundTrip) {
  const SignedStatement in = example();
  const std::vector<std::byte> bytes = with_proof(write_fields(in));
  const auto extension = parse_extension(bytes);
  ASSERT_TRUE(extension.ok()) << extension.status().message();
  const SignedStatement& out = extension->statement;
  EXPECT_EQ(out.algorithm, in.algorithm);
  EXPECT_EQ(out.key, in.key);
  EXPECT_EQ(out.signed_at, in.signed_at);
  EXPECT_EQ(out.not_after, in.not_after);
  EXPECT_EQ(out.counter, 42u);
  EXPECT_EQ(out.chunk_bytes, kChunkBytes);
  EXPECT_EQ(out.leaf_count, 3u);
  EXPECT_EQ(out.external_bytes, 50u);
  EXPECT_EQ(out.root, in.root);
  EXPECT_FALSE(extension->sealed);
  EXPECT_EQ(extension->proof.size(), 64u);
}

TEST(Extension, OptionalFieldsMayBeAbsent) {
  SignedStatement in = example();
  in.signed_at = in.not_after = std::nullopt;
  in.external_bytes = 0;
  const std::vector<std::byte> bytes = with_proof(write_fields(in), true);
  const auto extension = parse_extension(bytes);
  ASSERT_TRUE(extension.ok());
  EXPECT_FALSE(extension->statement.signed_at || extension->statement.not_after);
  EXPECT_TRUE(extension->sealed);
}

// With every field, beside two signatures of the largest size (or one and a seal): still within 512 bytes.
TEST(Extension, FitsBesideEverySignature) {
  const size_t fields = write_fields(example()).size();
  EXPECT_LE(fields + proof_field_bytes(64) + 64, kMaxSignatureBytes);
  EXPECT_LE(fields + proof_field_bytes(72) + 72, kMaxSignatureBytes);
  EXPECT_LE(fields + proof_field_bytes(kSealBytes) + 384, kMaxSignatureBytes);
}

TEST(Extension, UnknownFieldsAreSkippedOnlyWhereTheTagAllowsIt) {
  std::vector<std::byte> fields = write_fields(example());
  append_field(fields, 60, {1, 2, 3});
  EXPECT_TRUE(parse_extension(with_proof(fields)).ok());
  append_field(fields, 61 | 0x80, {1});
  const auto refused = parse_extension(with_proof(fields));
  EXPECT_EQ(refused.code(), Code::unsupported);
  EXPECT_EQ(refused.status().detail().field, "manifest.extension.field 61");
}

TEST(Extension, OtherVersionsAndAlgorithmsAreUnsupported) {
  std::vector<std::byte> fields = write_fields(example());
  fields[2] = std::byte{2};
  EXPECT_EQ(parse_extension(with_proof(fields)).status().detail().field, "manifest.extension.version");
  fields = write_fields(example());
  fields[5] = std::byte{9};
  EXPECT_EQ(parse_extension(with_proof(fields)).code(), Code::unsupported);
}

TEST(Extension, DefectsAreNamed) {
  const auto message = [](const std::vector<std::byte>& bytes) { return parse_extension(bytes).status().message(); };
  std::vector<std::byte> fields = write_fields(example());
  EXPECT_EQ(message(fields), "a field is missing (manifest.extension.proof): expected statement_signature or seal, found none");
  EXPECT_EQ(message({}), "a field is missing (manifest.extension.proof): expected statement_signature or seal, found none");

  std::vector<std::byte> twice = fields;
  append_field(twice, 10 | 0x80, {1});
  EXPECT_EQ(message(with_proof(twice)), "fields are out of order (manifest.extension.field 10): expected a tag above 10");

  std::vector<std::byte> skippable = fields;
  append_field(skippable, 126, {1});
  EXPECT_EQ(message(skippable), "the proof is marked as one to skip (manifest.extension.proof)");

  std::vector<std::byte> longer = with_proof(fields);
  append_field(longer, 127 | 0x80, {1});
  EXPECT_EQ(message(longer), "something follows the proof (manifest.extension.proof): expected the last field, found 3 more bytes");

  std::vector<std::byte> cut = with_proof(fields);
  cut.pop_back();
  EXPECT_EQ(message(cut), "a field is cut off (manifest.extension.field 126): expected 64 bytes, found 63");
  cut.resize(1);
  EXPECT_EQ(message(cut), "a field is cut off (manifest.extension.field)");

  std::vector<std::byte> only_version;
  append_field(only_version, 1 | 0x80, {1});
  EXPECT_EQ(message(with_proof(only_version)), "a field is missing (manifest.extension.algorithm)");

  SignedStatement odd = example();
  odd.chunk_bytes = 1000;
  EXPECT_EQ(message(with_proof(write_fields(odd))),
            "the chunk size is out of range (manifest.extension.chunk_size): expected a power of two from 64 KiB to 64 MiB, found 1000");
  odd = example();
  odd.not_after = Time(std::chrono::seconds(-1));
  EXPECT_EQ(parse_extension(with_proof(write_fields(odd))).status().detail().field, "manifest.extension.not_after");
}

TEST(Extension, SignedMessagesDiffer) {
  const std::vector<std::byte> fields = write_fields(example()), signature(64), covered(16);
  const std::vector<std::byte> a = inline_message(fields, signature, covered), b = block_message(fields);
  EXPECT_NE(a, b);
  EXPECT_TRUE(as_text(a).starts_with("pteron manifest statement\ninline"));
  EXPECT_TRUE(as_text(b).starts_with("pteron manifest statement\nblock"));
  EXPECT_EQ(seal_of(fields, signature, covered).size(), kSealBytes);
}

}  // namespace
}  // namespace pteron::manifest
