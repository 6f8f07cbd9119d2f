#include "package/open.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "base/file.h"

namespace pteron::package {
namespace {

std::string data(const std::string& name) { return std::string(PTERON_TEST_DATA) + "/pte/" + name; }

TEST(Open, MapsOrCopies) {
  for (LoadMode mode : {LoadMode::map, LoadMode::copy}) {
    LoadPolicy policy;
    policy.mode = mode;
    auto opened = open(data("valid/bundled.mlp.pte"), policy);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    EXPECT_EQ(opened->trust.state, Trust::State::unsigned_file);
    EXPECT_NE(opened->program.find_plan("forward"), nullptr);
  }
}

TEST(Open, TakesTheProgramOutOfABundle) {
  auto bundled = open(data("valid/bundled.mlp.bpte"));
  auto plain = open(data("valid/bundled.mlp.pte"));
  ASSERT_TRUE(bundled.ok()) << bundled.status().message();
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(bundled->program.program().plans, plain->program.program().plans);
  EXPECT_EQ(bundled->program.file().size(), plain->program.file().size());
}

TEST(Open, ErrorsNameTheFile) {
  const Status absent = open(data("valid/absent.pte")).status();
  EXPECT_EQ(absent.code(), Code::not_found);
  const Status broken = open(data("negative/version_1.pte")).status();
  EXPECT_EQ(broken.code(), Code::unsupported);
  EXPECT_TRUE(broken.detail().file.ends_with("version_1.pte"));
  const Status bundle = open(data("negative/bundle_truncated_half.bpte")).status();
  EXPECT_TRUE(bundle.detail().file.ends_with("bundle_truncated_half.bpte")) << bundle.message();
}

TEST(Open, ReadsDataFiles) {
  const std::vector<std::string> files = {data("valid/mlp.external_constants.ptd")};
  auto opened = open(data("valid/mlp.external_constants.pte"), {}, files);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  ASSERT_EQ(opened->external.size(), 1u);
  EXPECT_FALSE(opened->external[0].entries().empty());

  const std::vector<std::string> twice = {files[0], files[0]};
  EXPECT_EQ(open(data("valid/mlp.external_constants.pte"), {}, twice).status().detail().field, "named_data");
  const std::vector<std::string> broken = {data("negative/ptd_magic.ptd")};
  EXPECT_TRUE(open(data("valid/mlp.external_constants.pte"), {}, broken).status().detail().file.ends_with("ptd_magic.ptd"));
}

TEST(FromBytes, BorrowsTheBytes) {
  auto file = FileBytes::copy(data("valid/asm.loop_sum.pte"));
  ASSERT_TRUE(file.ok());
  auto opened = from_bytes(file->bytes());
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  EXPECT_EQ(opened->program.file().data(), file->bytes().data());
  EXPECT_EQ(opened->program.path(), "");
}

class OpenSigned : public testing::Test {
 protected:
  void SetUp() override {
    auto key = PrivateKey::generate(Algorithm::ed25519);
    ASSERT_TRUE(key.ok()) << key.status().message();
    key_.emplace(std::move(key).value());
    trusted_ = {key_->public_key()};
    policy_.trusted = trusted_;
    policy_.require_signed = true;
  }
  std::string sign_copy(const std::string& name, const std::vector<std::string>& external = {}) {
    const std::string path = testing::TempDir() + "/open_signed.pte";
    SignOptions options;
    options.external_data = external;
    const Status status = sign(data(name), path, *key_, options);
    EXPECT_TRUE(status.ok()) << status.message();
    return path;
  }
  static void change_byte(const std::string& path, std::streamoff at) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(at);
    const int byte = file.get();
    file.seekp(at);
    file.put(static_cast<char>(byte ^ 1));
  }
  std::optional<PrivateKey> key_;
  std::vector<PublicKey> trusted_;
  LoadPolicy policy_;
};

TEST_F(OpenSigned, LetsVouchedBytesThrough) {
  const std::string path = sign_copy("valid/bundled.mlp.pte");
  auto opened = open(path, policy_);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  EXPECT_EQ(opened->trust.state, Trust::State::valid);
  EXPECT_TRUE(open(path).ok());  // without keys: nothing is asked
  auto bundle = open(sign_copy("valid/bundled.mlp.bpte"), policy_);
  EXPECT_TRUE(bundle.ok()) << bundle.status().message();
}

TEST_F(OpenSigned, RefusesWhatThePolicyForbids) {
  EXPECT_EQ(open(data("valid/bundled.mlp.pte"), policy_).status().code(), Code::refused);
  auto other = PrivateKey::generate(Algorithm::ed25519);
  ASSERT_TRUE(other.ok());
  const std::vector<PublicKey> others = {other->public_key()};
  const std::string path = sign_copy("valid/bundled.mlp.pte");
  policy_.trusted = others;
  EXPECT_EQ(open(path, policy_).status().code(), Code::refused);
}

TEST_F(OpenSigned, ChecksBeforeItParses) {
  // Broken tables and a broken signature: the signature is what is reported, because nothing was parsed.
  const std::string path = sign_copy("valid/bundled.mlp.pte");
  change_byte(path, 4);  // of the identifier
  const Status status = open(path, policy_).status();
  EXPECT_EQ(status.code(), Code::refused) << status.message();
  EXPECT_EQ(status.detail().file, path);
  // An unsigned malformed file is refused by the policy first, too.
  EXPECT_EQ(open(data("negative/version_1.pte"), policy_).status().code(), Code::refused);
}

TEST_F(OpenSigned, TablesAreCheckedAlone) {
  // A hole of 4 MiB behind the program stands for weights: four chunks that nobody looks at.
  const std::string padded = testing::TempDir() + "/open_padded.pte";
  std::filesystem::copy_file(data("valid/bundled.mlp.pte"), padded, std::filesystem::copy_options::overwrite_existing);
  std::filesystem::resize_file(padded, 4 << 20);
  const std::string path = testing::TempDir() + "/open_tables.pte";
  ASSERT_TRUE(sign(padded, path, *key_).ok());
  change_byte(path, 3 << 20);
  EXPECT_EQ(open(path, policy_).status().code(), Code::refused);
  auto tables = open_tables(path, policy_);
  ASSERT_TRUE(tables.ok()) << tables.status().message();
  EXPECT_FALSE(tables->complete);
  EXPECT_NE(tables->program.find_plan("forward"), nullptr);
  change_byte(path, 100);
  EXPECT_EQ(open_tables(path, policy_).status().code(), Code::refused);
}

TEST_F(OpenSigned, DataFilesMustBeListed) {
  const std::string listed = data("valid/mlp.external_constants.ptd"), other = data("valid/mlp.external_some.ptd");
  const std::string path = sign_copy("valid/mlp.external_constants.pte", {listed});
  const std::vector<std::string> good = {listed}, bad = {other};
  auto opened = open(path, policy_, good);
  EXPECT_TRUE(opened.ok()) << opened.status().message();
  EXPECT_EQ(open(path, policy_, bad).status().code(), Code::refused);
}

}  // namespace
}  // namespace pteron::package
