#include "format/blob.h"

#include <gtest/gtest.h>

#include <string>

namespace pteron::format {
namespace {

std::vector<std::byte> bytes(std::string_view text) {
  const ByteSpan span = as_bytes(text);
  return {span.begin(), span.end()};
}

ByteSink append_to(std::string& text) {
  return [&text](ByteSpan piece) {
    text += as_text(piece);
    return Status();
  };
}

TEST(Blob, StreamsWhatItHolds) {
  std::string text;
  const Blob blob = owned_blob(bytes("hello"));
  EXPECT_EQ(blob.size, 5u);
  EXPECT_TRUE(stream_exactly(blob, "f", append_to(text)).ok());
  EXPECT_TRUE(stream_exactly(borrowed_blob(as_bytes(" you")), "f", append_to(text)).ok());
  EXPECT_TRUE(stream_exactly(Blob(), "f", append_to(text)).ok());
  EXPECT_EQ(text, "hello you");
}

TEST(Blob, HoldsProducersToTheirSize) {
  for (uint64_t claimed : {4u, 6u}) {
    Blob blob = owned_blob(bytes("hello"));
    blob.size = claimed;
    std::string text;
    const Status status = stream_exactly(blob, "constants[3]", append_to(text));
    EXPECT_EQ(status.code(), Code::internal);
    EXPECT_EQ(status.detail().field, "constants[3]");
    EXPECT_LE(text.size(), claimed);
  }
}

TEST(Blob, PacksWithPadding) {
  std::vector<uint64_t> offsets = {0};
  const Blob blob = packed_blob({owned_blob(bytes("abc")), Blob(), owned_blob(bytes("d")), Blob()}, 4, "constants", offsets);
  EXPECT_EQ(offsets, (std::vector<uint64_t>{0, 0, 4, 4, 8}));
  EXPECT_EQ(blob.size, 8u);
  std::string text;
  ASSERT_TRUE(stream_exactly(blob, "f", append_to(text)).ok());
  EXPECT_EQ(text, std::string("abc\0d\0\0\0", 8));
}

TEST(Blob, PackedErrorsNameTheEntry) {
  Blob broken = owned_blob(bytes("x"));
  broken.size = 2;
  std::vector<uint64_t> offsets;
  const Blob blob = packed_blob({owned_blob(bytes("abc")), broken}, 1, "mutable_data", offsets);
  std::string text;
  EXPECT_EQ(stream_exactly(blob, "f", append_to(text)).detail().field, "mutable_data[1]");
}

TEST(Output, CountsPadsAndPassesErrorsOn) {
  std::string text;
  const ByteSink sink = append_to(text);
  Output out(sink);
  ASSERT_TRUE(out.write(as_bytes("ab")).ok());
  ASSERT_TRUE(out.pad_to(10000).ok());
  EXPECT_EQ(out.position(), 10000u);
  EXPECT_EQ(text, "ab" + std::string(9998, '\0'));
  const ByteSink full = [](ByteSpan) { return Status::error(Code::io_error, "no space"); };
  Output failing(full);
  EXPECT_EQ(failing.pad_to(1).code(), Code::io_error);
  EXPECT_EQ(stream_exactly(borrowed_blob(as_bytes("ab")), "f", failing.sink()).code(), Code::io_error);
}

TEST(Output, PutsAHeaderBehindTheIdentifier) {
  std::string text;
  const ByteSink sink = append_to(text);
  Output out(sink);
  ASSERT_TRUE(write_with_header(as_bytes(std::string_view("\x0c\0\0\0ABCDrest", 12)), as_bytes("0123456789abcdef"), out).ok());
  EXPECT_EQ(text, std::string("\x1c\0\0\0ABCD0123456789abcdefrest", 28));
}

}  // namespace
}  // namespace pteron::format
