#include "partition/named_data.h"

#include <gtest/gtest.h>

namespace pteron::partition {
namespace {

std::vector<std::byte> bytes(size_t n) { return std::vector<std::byte>(n, std::byte{7}); }

TEST(NamedData, OneEntryAKeyInOrderOfInsertion) {
  NamedDataStore store;
  ASSERT_TRUE(store.add_bytes("b", bytes(3)).ok());
  ASSERT_TRUE(store.add_bytes("a", bytes(2), 16).ok());
  ASSERT_TRUE(store.add_bytes("b", bytes(3)).ok()) << "the same again is no error";
  ASSERT_EQ(store.entries().size(), 2u);
  EXPECT_EQ(store.entries()[0].key, "b");
  EXPECT_EQ(store.entries()[1].alignment, 16u);
  EXPECT_TRUE(store.contains("a"));
  EXPECT_FALSE(store.contains("c"));
  EXPECT_EQ(store.find("c"), nullptr);
  ASSERT_TRUE(store.add("q", {1, {}}, 64, 0.25f).ok());
  ASSERT_TRUE(store.add("q", {1, {}}, 64).ok());
  EXPECT_EQ(store.find("q")->error, 0.25f) << "what came first counts";
  size_t sent = 0;
  ASSERT_TRUE(store.entries()[0].bytes.stream([&](ByteSpan piece) {
    sent += piece.size();
    return Status();
  }).ok());
  EXPECT_EQ(sent, 3u);
}

TEST(NamedData, AnotherSizeUnderOneKeyIsAnError) {
  NamedDataStore store;
  ASSERT_TRUE(store.add_bytes("w", bytes(3)).ok());
  const Status status = store.add_bytes("w", bytes(4));
  EXPECT_EQ(status.detail().field, "w");
  EXPECT_FALSE(store.add_bytes("w", bytes(3), 32).ok());
  EXPECT_FALSE(store.add_bytes("", bytes(1)).ok());
}

}  // namespace
}  // namespace pteron::partition
