#include "format/flatbuffer_reader.h"

#include <gtest/gtest.h>

namespace pteron::format {
namespace {

using Numbers = flatbuffers::Vector<int32_t>;

// A buffer whose root is a vector of these numbers.
struct VectorBuffer {
  explicit VectorBuffer(const std::vector<int32_t>& numbers) { builder.Finish(builder.CreateVector(numbers)); }
  const Numbers* root() { return flatbuffers::GetRoot<Numbers>(builder.GetBufferPointer()); }
  flatbuffers::FlatBufferBuilder builder;
};

TEST(FieldReader, CopiesNumbers) {
  VectorBuffer buffer({3, -1, 7});
  FieldReader fields(100);
  std::vector<int32_t> numbers;
  ASSERT_TRUE(fields.numbers(buffer.root(), "sizes", numbers).ok());
  EXPECT_EQ(numbers, (std::vector<int32_t>{3, -1, 7}));
  std::vector<int32_t> none;
  ASSERT_TRUE(fields.numbers(static_cast<const Numbers*>(nullptr), "sizes", none).ok());
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(fields.present(static_cast<const Numbers*>(nullptr), "sizes").detail().field, "sizes");
}

TEST(FieldReader, GivesUpWhenPartsAreSharedWithoutEnd) {
  VectorBuffer buffer(std::vector<int32_t>(1000, 1));
  FieldReader fields(4004);  // the size of such a file
  Status status;
  int copies = 0;
  for (; status.ok() && copies < 1000; ++copies) {
    std::vector<int32_t> numbers;
    status = fields.numbers(buffer.root(), "items", numbers);
  }
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.detail().field, "items");
  EXPECT_EQ(copies, 10);
}

TEST(VerifiedRoot, RefusesBytesThatAreNoTables) {
  alignas(16) std::byte bytes[64] = {};
  std::memcpy(bytes + 4, "TEST", 4);
  struct Root : flatbuffers::Table {
    bool Verify(flatbuffers::Verifier& verifier) const { return VerifyTableStart(verifier) && verifier.EndTable(); }
  };
  EXPECT_EQ(verified_root<Root>(ByteSpan(bytes), "TEST").status().detail().field, "tables");
  EXPECT_EQ(verified_root<Root>(ByteSpan(bytes).first(7), "TEST").status().detail().field, "size");
  EXPECT_EQ(verified_root<Root>(ByteSpan(bytes).subspan(8), "TEST").status().detail().field, "address");
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(flatbuffers::Offset<Root>(builder.EndTable(builder.StartTable())), "TEST");
  std::memcpy(bytes, builder.GetBufferPointer(), builder.GetSize());
  EXPECT_TRUE(verified_root<Root>(ByteSpan(bytes), "TEST").ok());
  EXPECT_FALSE(verified_root<Root>(ByteSpan(bytes), "ELSE").ok());
}

}  // namespace
}  // namespace pteron::format
