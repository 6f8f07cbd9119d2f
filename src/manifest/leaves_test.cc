#include "manifest/leaves.h"

#include <random>

#include "manifest/vectors.h"

namespace pteron::manifest {
namespace {

constexpr uint32_t kChunk = 1u << 16;

std::vector<std::byte> noise(size_t size) {
  std::mt19937 random(static_cast<unsigned>(size));
  std::vector<std::byte> bytes(size);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  return bytes;
}

TEST(Leaves, AreDigestsOfChunks) {
  const std::vector<std::byte> program = noise(2 * kChunk + 100);
  ThreadPool pool(3);
  const std::vector<std::byte> leaves = hash_leaves(program, kChunk, &pool);
  ASSERT_EQ(leaves.size(), 96u);
  const ByteSpan bytes = program;
  EXPECT_EQ(load_unaligned<Digest>(leaves.data()), sha256(bytes.first(kChunk)));
  EXPECT_EQ(load_unaligned<Digest>(leaves.data() + 64), sha256(bytes.last(100)));
  EXPECT_EQ(leaves, hash_leaves(program, kChunk, nullptr));
  EXPECT_TRUE(hash_leaves({}, kChunk, &pool).empty());
}

// The root in other words: what a script computes with a SHA-256 tool.
TEST(Leaves, RootIsTheDigestOfSizesAndLeaves) {
  const std::vector<std::byte> program = noise(kChunk + 1);
  const std::vector<std::byte> leaves = hash_leaves(program, kChunk, nullptr);
  std::string text = "pteron manifest tree\n";
  const auto number = [&](auto value) { text.append(reinterpret_cast<const char*>(&value), sizeof value); };
  number(uint64_t{kChunk + 1});
  number(uint32_t{kChunk});
  number(uint32_t{2});
  text += as_text(leaves);
  EXPECT_EQ(tree_digest(program, kChunk, nullptr), sha256(as_bytes(text)));
  EXPECT_EQ(tree_root(program.size(), kChunk, leaves, as_bytes("list")), sha256(as_bytes(text + "list")));
}

TEST(Leaves, TheFirstWrongChunkIsNamed) {
  std::vector<std::byte> program = noise(5 * kChunk);
  ThreadPool pool(2);
  const std::vector<std::byte> leaves = hash_leaves(program, kChunk, &pool);
  EXPECT_TRUE(check_chunks(program, kChunk, leaves, 0, 5, &pool).ok());
  program[3 * kChunk + 7] ^= std::byte{1};
  program[4 * kChunk] ^= std::byte{1};
  EXPECT_TRUE(check_chunks(program, kChunk, leaves, 0, 3, &pool).ok());
  const Status status = check_chunks(program, kChunk, leaves, 0, 5, &pool);
  EXPECT_EQ(status.code(), Code::refused);
  EXPECT_EQ(status.detail().field, "bytes 196608 to 262144");
}

TEST(Leaves, LayoutMustAddUp) {
  SignedStatement statement;
  statement.chunk_bytes = kChunk;
  statement.leaf_count = 2;
  statement.external_bytes = 10;
  const auto layout = block_layout(kChunk + 5 + 64 + 10 + 384 + 16, statement, 384);
  ASSERT_TRUE(layout.ok());
  EXPECT_EQ(layout->program_bytes, kChunk + 5);
  EXPECT_EQ(block_layout(kChunk + 64 + 10 + 384 + 16, statement, 384).code(), Code::invalid_data);  // one chunk, two leaves
  EXPECT_EQ(block_layout(64 + 9 + 16, statement, 0).code(), Code::invalid_data);
  statement.leaf_count = UINT32_MAX;
  statement.external_bytes = UINT32_MAX;
  EXPECT_EQ(block_layout(1 << 20, statement, 384).code(), Code::invalid_data);
  statement.leaf_count = statement.external_bytes = 0;
  EXPECT_TRUE(block_layout(16, statement, 0).ok());
}

TEST(Leaves, ExternalList) {
  const std::vector<ExternalData> entries = {{"a.ptd", 5, sha256(as_bytes("a"))}, {"b.ptd", 7, sha256(as_bytes("b"))}};
  const std::vector<std::byte> list = write_external(entries);
  const auto read = parse_external(list);
  ASSERT_TRUE(read.ok());
  ASSERT_EQ(read->size(), 2u);
  EXPECT_EQ((*read)[1].name, "b.ptd");
  EXPECT_EQ((*read)[1].size, 7u);
  EXPECT_EQ((*read)[1].digest, entries[1].digest);
  for (size_t cut = 1; cut < list.size(); ++cut) {
    if (cut == list.size() / 2) continue;  // exactly one entry
    EXPECT_FALSE(parse_external(ByteSpan(list).first(cut)).ok()) << cut;
  }
  for (const char* name : {"", ".", "..", "../a.ptd", "/etc/passwd", "a\nb"}) {
    const std::vector<ExternalData> one = {{name, 5, {}}};
    EXPECT_FALSE(parse_external(write_external(one)).ok()) << name;
  }
  const std::vector<ExternalData> twice = {entries[0], entries[0]};
  EXPECT_FALSE(parse_external(write_external(twice)).ok());
}

}  // namespace
}  // namespace pteron::manifest
