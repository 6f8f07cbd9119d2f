#include "manifest/check.h"

#include <cstdio>
#include <random>

#include "manifest/sign.h"
#include "manifest/vectors.h"

namespace pteron::manifest {
namespace {

using State = Trust::State;

Trust load_check(ByteSpan file, const LoadPolicy& policy) {
  CheckedFile checked = CheckedFile::open(file, policy);
  if (checked.trust().verdict.ok()) (void)checked.check_program(nullptr).ok();
  return checked.trust();
}

class CheckTest : public FolderTest {
 protected:
  std::vector<std::byte> signed_file(const std::string& algorithm, size_t size, const SignOptions& options = {}) {
    std::mt19937 random(1);
    std::vector<std::byte> program(size);
    for (std::byte& b : program) b = static_cast<std::byte>(random());
    EXPECT_TRUE(sign(write("in", program), path("out"), private_key(algorithm), options).ok());
    return read("out");
  }
};

TEST_F(CheckTest, PolicyOnUnsignedFiles) {
  const std::vector<std::byte> file = vector_bytes("program.bin");
  const PublicKey trusted[] = {public_key("ed25519")};
  EXPECT_EQ(load_check(file, {}).state, State::unsigned_file);
  EXPECT_TRUE(load_check(file, {}).verdict.ok());
  EXPECT_TRUE(load_check(file, {.trusted = trusted}).verdict.ok());
  const Trust trust = load_check(file, {.trusted = trusted, .require_signed = true});
  EXPECT_EQ(trust.state, State::unsigned_file);
  EXPECT_EQ(trust.verdict.code(), Code::refused);
  EXPECT_EQ(trust.verdict.message(), "the file is not signed (manifest): expected a signature by a trusted key, found no manifest");
  EXPECT_EQ(trust.program_bytes, file.size());
}

TEST_F(CheckTest, PolicyOnUnknownKeys) {
  const PublicKey other[] = {public_key("other")};
  for (const char* name : kAlgorithmNames) {
    const std::vector<std::byte> file = signed_file(name, 100);
    const Trust alone = load_check(file, {});
    EXPECT_EQ(alone.state, State::unknown_key);
    EXPECT_TRUE(alone.verdict.ok());
    EXPECT_EQ(alone.key, public_key(name).id());
    EXPECT_EQ(load_check(file, {.require_signed = true}).verdict.code(), Code::refused);
    const Trust trust = load_check(file, {.trusted = other});
    EXPECT_EQ(trust.state, State::unknown_key);
    EXPECT_EQ(trust.verdict.code(), Code::refused);
  }
}

TEST_F(CheckTest, ExpiryAndRollBack) {
  SignOptions options;
  options.not_after = Time(std::chrono::seconds(1000));
  options.counter = 5;
  const std::vector<std::byte> file = signed_file("ed25519", 100, options);
  const PublicKey trusted[] = {public_key("ed25519")};
  LoadPolicy policy{.trusted = trusted, .require_signed = true, .now = Time(std::chrono::seconds(1000))};
  EXPECT_EQ(load_check(file, policy).state, State::valid);
  policy.now = Time(std::chrono::seconds(1001));
  EXPECT_EQ(load_check(file, policy).state, State::expired);
  EXPECT_EQ(load_check(file, policy).verdict.code(), Code::refused);
  policy.allow_expired = true;
  EXPECT_EQ(load_check(file, policy).state, State::expired);
  EXPECT_TRUE(load_check(file, policy).verdict.ok());
  policy.minimum_counter = 5;
  EXPECT_TRUE(load_check(file, policy).verdict.ok());
  policy.minimum_counter = 6;
  EXPECT_EQ(load_check(file, policy).state, State::rolled_back);
  EXPECT_EQ(load_check(file, policy).verdict.code(), Code::refused);
}

// Every bit of footer and digest block, many of the program: refused. Where the magic is hit, a signature is missed.
TEST_F(CheckTest, EveryBitFlipIsRefused) {
  for (const char* name : kAlgorithmNames) {
    const PublicKey trusted[] = {public_key(name)};
    const LoadPolicy policy{.trusted = trusted, .require_signed = true};
    SignOptions options;
    options.signed_at = options.not_after = Time(std::chrono::seconds(4'000'000'000));
    options.external_data = {write("weights.ptd", as_bytes("weights"))};
    std::vector<std::byte> file = signed_file(name, 5001, options);
    ASSERT_EQ(load_check(file, policy).state, State::valid);
    for (size_t i = 5001; i < file.size(); ++i) {
      for (int bit = 0; bit < 8; ++bit) {
        file[i] ^= std::byte{1} << bit;
        const Trust trust = load_check(file, policy);
        ASSERT_FALSE(trust.verdict.ok()) << name << " byte " << i << " bit " << bit;
        ASSERT_TRUE(i + 4 < file.size() || trust.state == State::unsigned_file);
        ASSERT_TRUE(i + 4 >= file.size() || trust.state != State::unsigned_file);
        file[i] ^= std::byte{1} << bit;
      }
    }
    std::mt19937 random(2);
    for (int i = 0; i < 5000; ++i) {
      const size_t at = random() % 5001, bit = random() % 8;
      file[at] ^= std::byte{1} << bit;
      ASSERT_EQ(load_check(file, policy).state, State::invalid) << at;
      file[at] ^= std::byte{1} << bit;
    }
  }
}

TEST_F(CheckTest, OpaqueSignaturesHoldForEveryBit) {
  ASSERT_TRUE(append_manifest(vector_path("program.bin"), path("out"), vector_bytes("program.ed25519.sig")).ok());
  std::vector<std::byte> file = read("out");
  const PublicKey trusted[] = {public_key("ed25519")};
  const LoadPolicy policy{.trusted = trusted, .require_signed = true};
  ASSERT_EQ(load_check(file, policy).state, State::valid);
  for (size_t i = 0; i < file.size(); ++i) {
    file[i] ^= std::byte{16};
    ASSERT_FALSE(load_check(file, policy).verdict.ok()) << i;
    file[i] ^= std::byte{16};
  }
}

TEST_F(CheckTest, EveryTruncationIsRefused) {
  for (const char* name : kAlgorithmNames) {
    const PublicKey trusted[] = {public_key(name)};
    const LoadPolicy policy{.trusted = trusted, .require_signed = true};
    const std::vector<std::byte> file = signed_file(name, 5001);
    for (size_t cut = 1; cut <= 2048; ++cut) ASSERT_FALSE(load_check(ByteSpan(file).first(file.size() - cut), policy).verdict.ok()) << cut;
  }
}

TEST_F(CheckTest, RandomFootersAreRefused) {
  const std::vector<std::byte> program = vector_bytes("program.bin");
  const PublicKey trusted[] = {public_key("ed25519"), public_key("ecdsa-p256"), public_key("rsa-pss-3072")};
  const LoadPolicy policy{.trusted = trusted, .require_signed = true};
  std::mt19937 random(3);
  std::vector<std::byte> file(1000 + 536);
  for (int i = 0; i < 100'000; ++i) {
    for (size_t at = 1000; at + 4 <= file.size(); at += 4) store_unaligned(file.data() + at, static_cast<uint32_t>(random()));
    if (i % 4 != 0) {  // a footer that adds up around nonsense, every second one with an extension
      const uint32_t length = 24 + static_cast<uint32_t>(random() % 513), padding = 0;
      std::byte* end = file.data() + file.size();
      store_unaligned(end - 24, i % 2 == 0 ? length - 24 : static_cast<uint32_t>(random() % (length - 23)));
      store_unaligned(end - 20, padding);
      store_unaligned(end - 16, uint64_t{file.size() - length});
      store_unaligned(end - 8, length);
    }
    std::memcpy(file.data() + file.size() - 4, "em00", 4);
    ASSERT_FALSE(load_check(file, policy).verdict.ok());
  }
}

// A statement cannot be moved to another program, nor two signed files be mixed.
TEST_F(CheckTest, PartsOfOtherFilesDoNotFit) {
  for (const char* name : kAlgorithmNames) {
    const PublicKey trusted[] = {public_key(name)};
    const LoadPolicy policy{.trusted = trusted, .require_signed = true};
    SignOptions one, two;
    one.counter = 1;
    two.counter = 2;
    const std::vector<std::byte> a = signed_file(name, 4000, one), b = signed_file(name, 4001, two);
    const FileLayout layout = **read_layout(a), other = **read_layout(b);
    // The statement of b over the signature of a.
    std::vector<std::byte> mixed(a.begin(), a.begin() + static_cast<ptrdiff_t>(layout.footer.signed_bytes));
    const std::vector<std::byte> footer = write_footer(mixed.size(), other.footer.extension, layout.footer.signature);
    mixed.insert(mixed.end(), footer.begin(), footer.end());
    EXPECT_EQ(load_check(mixed, policy).state, State::invalid) << name;
    // Without its extension a file would lose counter and not-after, though its plain signature holds.
    std::vector<std::byte> bare(a.begin(), a.begin() + static_cast<ptrdiff_t>(layout.footer.signed_bytes));
    const std::vector<std::byte> bare_footer = write_footer(bare.size(), {}, layout.footer.signature);
    bare.insert(bare.end(), bare_footer.begin(), bare_footer.end());
    const Trust trust = load_check(bare, policy);
    EXPECT_EQ(trust.state, State::invalid) << name;
    EXPECT_EQ(trust.verdict.detail().field, "manifest.extension");
  }
}

TEST_F(CheckTest, AStatementIsNoFile) {
  const std::vector<std::byte> file = signed_file("ed25519", 100);
  const FileLayout layout = **read_layout(file);
  std::vector<std::byte> forged = inline_message(layout.extension->fields, layout.footer.signature, layout.footer.covered_fields);
  const PublicKey trusted[] = {public_key("ed25519")};
  ASSERT_TRUE(signature_holds(trusted[0], forged, layout.extension->proof));
  const std::vector<std::byte> footer = write_footer(forged.size(), {}, layout.extension->proof);
  forged.insert(forged.end(), footer.begin(), footer.end());
  EXPECT_EQ(load_check(forged, {.trusted = trusted}).state, State::invalid);
}

TEST_F(CheckTest, RangesAreCheckedAlone) {
  std::vector<std::byte> file = signed_file("ed25519", 5 << 20);
  const PublicKey trusted[] = {public_key("ed25519")};
  const LoadPolicy policy{.trusted = trusted};
  file[3 << 20] ^= std::byte{1};
  CheckedFile checked = CheckedFile::open(file, policy);
  ASSERT_TRUE(checked.trust().verdict.ok());
  EXPECT_TRUE(checked.check_range(0, 3 << 20).ok());
  EXPECT_TRUE(checked.check_range(4 << 20, 1 << 20).ok());
  EXPECT_TRUE(checked.check_range(5 << 20, 0).ok());
  EXPECT_EQ(checked.check_range(5 << 20, 1).code(), Code::invalid_argument);
  EXPECT_EQ(checked.check_range(UINT64_MAX, 2).code(), Code::invalid_argument);
  EXPECT_EQ(checked.trust().state, State::valid);
  EXPECT_EQ(checked.check_range((3 << 20) - 1, 2).code(), Code::refused);
  EXPECT_EQ(checked.trust().state, State::invalid);
}

TEST_F(CheckTest, VerifyFindsWhatLoadingLeavesOut) {
  // No key: loading establishes nothing; verifying finds damage.
  std::vector<std::byte> file = signed_file("ed25519", 5000);
  file[100] ^= std::byte{1};
  write("damaged", file);
  EXPECT_EQ(check(path("damaged"), {})->state, State::unknown_key);
  EXPECT_EQ(verify_manifest(path("damaged"), {})->state, State::invalid);
  const PublicKey other[] = {public_key("other")};
  EXPECT_EQ(verify_manifest(path("damaged"), {.trusted = other})->state, State::invalid);
}

// A sealed file whose plain signature was replaced together with its seal: the program is what was signed, so it loads; `verify` objects.
TEST_F(CheckTest, SealIsNoSignature) {
  const std::vector<std::byte> file = signed_file("rsa-pss-3072", 5000);
  const FileLayout layout = **read_layout(file);
  ASSERT_TRUE(layout.extension->sealed);
  const std::vector<std::byte> nonsense(384, std::byte{1});
  std::vector<std::byte> extension(layout.extension->fields.begin(), layout.extension->fields.end());
  append_proof(extension, true, seal_of(extension, nonsense, layout.footer.covered_fields));
  std::vector<std::byte> forged(file.begin(), file.begin() + static_cast<ptrdiff_t>(layout.footer.signed_bytes));
  const std::vector<std::byte> footer = write_footer(forged.size(), extension, nonsense);
  forged.insert(forged.end(), footer.begin(), footer.end());
  const PublicKey trusted[] = {public_key("rsa-pss-3072")};
  const LoadPolicy policy{.trusted = trusted};
  EXPECT_EQ(load_check(forged, policy).state, State::valid);
  const auto verified = verify_manifest(write("forged", forged), policy);
  EXPECT_EQ(verified->state, State::invalid);
  EXPECT_EQ(verified->verdict.detail().field, "manifest.signature");
  EXPECT_EQ(verified->verdict.detail().file, path("forged"));
}

TEST_F(CheckTest, CopyModeAndMissingFiles) {
  const PublicKey trusted[] = {public_key("ecdsa-p256")};
  const LoadPolicy policy{.trusted = trusted, .mode = LoadMode::copy};
  EXPECT_EQ(check(vector_path("signed.ecdsa-p256.bin"), policy)->state, State::valid);
  EXPECT_EQ(check(path("none"), policy).code(), Code::not_found);
}

TEST_F(CheckTest, AFileThatIsWrittenToMeanwhileIsRefused) {
  signed_file("ed25519", 5000);
  const PublicKey trusted[] = {public_key("ed25519")};
  const FileBytes mapped = *FileBytes::map(path("out"));
  CheckedFile checked = CheckedFile::open(mapped.bytes(), {.trusted = trusted});
  EXPECT_TRUE(checked.check_unchanged(mapped).ok());
  std::FILE* file = std::fopen(path("out").c_str(), "ab");
  std::fputs("more", file);
  std::fclose(file);
  EXPECT_EQ(checked.check_unchanged(mapped).code(), Code::refused);
  EXPECT_EQ(checked.trust().state, State::invalid);
  CheckedFile nobody = CheckedFile::open(mapped.bytes(), {});
  EXPECT_TRUE(nobody.check_unchanged(mapped).ok());
}

TEST(TrustState, Names) {
  EXPECT_EQ(trust_state_name(State::unsigned_file), "unsigned");
  EXPECT_EQ(trust_state_name(State::unknown_key), "unknown-key");
  EXPECT_EQ(trust_state_name(State::rolled_back), "rolled-back");
}

}  // namespace
}  // namespace pteron::manifest
