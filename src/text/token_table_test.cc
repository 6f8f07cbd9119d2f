#include "text/token_table.h"

#include <random>

#include "text/tokenizer_fixture.h"

namespace pteron::text {
namespace {

TokenizerContent small() {
  TokenizerContent content;
  for (const char* text : {"a", "b", "ab", ""}) content.tokens.push_back({text, kTokenExists | kTokenInModel});
  content.tokens[3].flags = 0;
  content.merges = {{0, 1, 2}};
  return content;
}

TEST(TokenTable, ReadsWhatWasWritten) {
  const auto bytes = table_with(small());
  const auto table = TokenTable::open(bytes);
  ASSERT_TRUE(table.ok()) << table.status().message();
  EXPECT_EQ(table->size(), 4u);
  EXPECT_EQ(table->token(2), "ab");
  EXPECT_EQ(table->token(4), "");
  EXPECT_EQ(table->flags(3), 0);
  EXPECT_EQ(table->flags(100), 0);
  EXPECT_EQ(table->find("b"), 1u);
  EXPECT_EQ(table->find("c"), kNoId);
  EXPECT_EQ(table->merge(0, 1).result, 2u);
  EXPECT_EQ(table->merge(1, 0).rank, kNoId);
  EXPECT_EQ(table->added(0).id, kNoId);
  EXPECT_EQ(table->text(0xffffffff, 1), "");
  EXPECT_EQ(table->byte_id(5), kNoId);
  EXPECT_EQ(table->score(1), 0.0);
}

TEST(TokenTable, RefusesBrokenFrames) {
  const auto good = table_with(small());
  const auto expect = [&](size_t offset, uint32_t value, std::string_view field) {
    auto bytes = good;
    store_unaligned(bytes.data() + offset, value);
    const auto table = TokenTable::open(bytes);
    ASSERT_FALSE(table.ok()) << field;
    EXPECT_EQ(table.status().detail().field, field);
  };
  expect(0, 5, "magic");
  expect(8, 99, "version");
  expect(offsetof(TableHeader, model), 9, "model");
  expect(offsetof(TableHeader, size), 1u << 30, "size");
  expect(offsetof(TableHeader, size), 7, "token_offsets");
  expect(offsetof(TableHeader, bos), 4, "special id");
  expect(offsetof(TableHeader, max_merge_probes), 1u << 20, "probes");
  expect(offsetof(TableHeader, sections) + 4, 1, "section 0");
  for (size_t size = 0; size < good.size(); size += 7) EXPECT_FALSE(TokenTable::open(ByteSpan(good).first(size)).ok() && size < sizeof(TableHeader));
}

TEST(TokenTable, AnyBytesBehindTheFrameAreSafe) {
  const auto good = table_with(small());
  std::minstd_rand random(2);
  for (int round = 0; round < 2000; ++round) {
    auto bytes = good;
    for (int k = 0; k < 4; ++k) bytes[sizeof(TableHeader) + random() % (bytes.size() - sizeof(TableHeader))] = static_cast<std::byte>(random());
    const auto table = TokenTable::open(bytes);
    if (!table.ok()) continue;
    for (uint32_t id = 0; id < 6; ++id) {
      (void)table->token(id);
      EXPECT_TRUE(table->find(table->token(id)) == kNoId || table->find(table->token(id)) < table->size());
      for (uint32_t other = 0; other < 6; ++other) {
        const Merge merge = table->merge(id, other);
        EXPECT_TRUE(merge.rank == kNoId || merge.result < table->size());
      }
    }
  }
}

TEST(TokenTable, GlueIsASortedSet) {
  TokenizerContent content;
  for (const char* text : {"a", "b", "_", "a_", "z"}) content.tokens.push_back({text, kTokenExists | kTokenInModel});
  content.merges = {{0, 2, 3}};
  content.space_character = '_';
  content.model_unk = 4;
  const auto bytes = table_with(content);
  const auto table = TokenTable::open(bytes);
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(table->header().boundary, static_cast<uint32_t>('_'));
  EXPECT_TRUE(table->is_glue('a'));
  EXPECT_FALSE(table->is_glue('b'));
  EXPECT_FALSE(table->is_glue('_'));
}

TEST(TokenTable, HashesDependOnEveryByte) {
  EXPECT_NE(hash_bytes("abcdefgh1"), hash_bytes("abcdefgh2"));
  EXPECT_NE(hash_bytes("a"), hash_bytes(std::string_view("a\0", 2)));
  EXPECT_NE(hash_pair(1, 2), hash_pair(2, 1));
  for (size_t slots : {1u, 7u, 1000u}) EXPECT_LT(slot_of(0xffffffffffffffffu, slots), slots);
}

}  // namespace
}  // namespace pteron::text
