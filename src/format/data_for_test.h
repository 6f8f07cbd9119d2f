// For tests: the programs in tests/data/pte and what its index says of them.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace pteron::format {

inline std::string data_path(const std::string& name) { return std::string(PTERON_TEST_DATA) + "/pte/" + name; }

// The entries of a section: "valid" or "negative".
inline nlohmann::json data_index(const std::string& section) {
  std::ifstream in(data_path("index.json"));
  return nlohmann::json::parse(in)[section];
}

// A file in memory of exactly its size, so that a sanitizer sees a read past the end.
inline std::vector<std::byte> file_bytes(const std::string& name) {
  std::ifstream in(data_path(name), std::ios::binary);
  EXPECT_TRUE(in.good()) << name;
  const std::vector<char> chars((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  std::vector<std::byte> bytes(chars.size());
  if (!chars.empty()) std::memcpy(bytes.data(), chars.data(), chars.size());
  return bytes;
}

}  // namespace pteron::format
