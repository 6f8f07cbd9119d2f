// Test vectors: keys, signatures and files of tests/data/manifest, and a folder to write in.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "manifest/key.h"

namespace pteron::manifest {

inline std::string vector_path(const std::string& name) { return std::string(PTERON_TEST_DATA) + "/manifest/" + name; }
inline std::string vector_text(const std::string& name) { return *read_text_file(vector_path(name)); }
inline std::vector<std::byte> vector_bytes(const std::string& name) {
  const std::string text = vector_text(name);
  const ByteSpan bytes = as_bytes(text);
  return {bytes.begin(), bytes.end()};
}
inline PublicKey public_key(const std::string& name) { return *PublicKey::from_file(vector_path(name + ".pub.pem")); }
inline PrivateKey private_key(const std::string& name) { return *PrivateKey::from_file(vector_path(name + ".key.pem")); }

inline constexpr const char* kAlgorithmNames[] = {"ed25519", "ecdsa-p256", "rsa-pss-3072"};

class FolderTest : public testing::Test {
 protected:
  FolderTest() {
    std::string name = (std::filesystem::temp_directory_path() / "manifest_test_XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~FolderTest() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string write(const std::string& name, ByteSpan bytes) const {
    EXPECT_TRUE(write_file(path(name), bytes).ok());
    return path(name);
  }
  std::vector<std::byte> read(const std::string& name) const {
    const FileBytes file = *FileBytes::copy(path(name));
    return {file.bytes().begin(), file.bytes().end()};
  }

 private:
  std::string folder_;
};

}  // namespace pteron::manifest
