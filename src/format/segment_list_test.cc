#include "format/segment_list.h"

#include <gtest/gtest.h>

namespace pteron::format {
namespace {

Blob text_blob(std::string_view text) { return borrowed_blob(as_bytes(text)); }

std::string streamed(const SegmentList& list) {
  std::string text;
  const Status status = list.stream([&](ByteSpan bytes) {
    text += as_text(bytes);
    return Status();
  });
  EXPECT_TRUE(status.ok()) << status.message();
  return text;
}

TEST(SegmentList, RoundsUpToBothAlignments) {
  SegmentList list(4);
  EXPECT_EQ(list.append(text_blob("abcde"), "a"), 0u);
  const Blob three = text_blob("xyz"), two = text_blob("uv");
  auto indices = list.append_shared({{&three, 3, "b"}, {&two, 16, "c"}});
  ASSERT_TRUE(indices.ok());
  EXPECT_EQ(*indices, (std::vector<uint32_t>{1, 2}));
  ASSERT_TRUE(list.place().ok());
  EXPECT_EQ(list.segments(), (std::vector<Segment>{{0, 5}, {12, 3}, {16, 2}}));
  EXPECT_EQ(list.data_size(), 18u);
  EXPECT_EQ(streamed(list), std::string("abcde\0\0\0\0\0\0\0xyz\0uv", 18));
}

TEST(SegmentList, StoresEqualBytesOnce) {
  SegmentList list(1);
  const Blob a = text_blob("same"), b = text_blob("diff"), c = text_blob("same"), d = text_blob("other length");
  auto indices = list.append_shared({{&a, 1, "a"}, {&b, 1, "b"}, {&c, 8, "c"}, {&d, 1, "d"}, {&a, 1, "e"}});
  ASSERT_TRUE(indices.ok());
  EXPECT_EQ(*indices, (std::vector<uint32_t>{0, 1, 0, 2, 0}));
  ASSERT_TRUE(list.place().ok());
  EXPECT_EQ(streamed(list), "samediffother length");
}

TEST(SegmentList, ProducesOnlyWhatItMustCompare) {
  int produced = 0;
  const auto counted = [&](uint64_t size, bool distinct) {
    Blob blob;
    blob.size = size;
    blob.distinct = distinct;
    blob.stream = [&produced, size](const ByteSink& sink) {
      ++produced;
      return sink(std::vector<std::byte>(size));
    };
    return blob;
  };
  const Blob a = counted(5, false), b = counted(6, true), c = counted(6, true), d = counted(6, false);
  SegmentList list(1);
  auto indices = list.append_shared({{&a, 1, "a"}, {&b, 1, "b"}, {&c, 1, "c"}, {&d, 1, "d"}});
  ASSERT_TRUE(indices.ok());
  EXPECT_EQ(produced, 0);
  EXPECT_EQ(*indices, (std::vector<uint32_t>{0, 1, 2, 3}));
}

TEST(SegmentList, EmptySegmentsTakeNoPlace) {
  SegmentList list(128);
  list.append(Blob(), "constants");
  list.append(text_blob("ab"), "x");
  list.append(Blob(), "y");
  ASSERT_TRUE(list.place().ok());
  EXPECT_EQ(list.segments(), (std::vector<Segment>{{0, 0}, {0, 2}, {0, 0}}));
  EXPECT_EQ(list.data_size(), 2u);
}

TEST(SegmentList, RefusesAlignmentsAndSizesOutOfRange) {
  const Blob blob = text_blob("ab"), other = text_blob("cd");
  for (uint64_t alignment : {uint64_t{0}, uint64_t{1} << 31}) {
    SegmentList list(128);
    EXPECT_EQ(list.append_shared({{&blob, alignment, "named_data.key"}}).status().detail().field, "named_data.key");
  }
  SegmentList coprime(128);
  EXPECT_FALSE(coprime.append_shared({{&blob, 999'999'937, "a"}}).ok());
  SegmentList list(128);
  Blob huge;
  huge.size = ~uint64_t{0} - 5;
  list.append(other, "a");
  list.append(huge, "constants");
  EXPECT_EQ(list.place().detail().field, "constants");
}

}  // namespace
}  // namespace pteron::format
