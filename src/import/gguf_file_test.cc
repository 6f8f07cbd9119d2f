#include "import/gguf_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "import/test_files.h"

namespace pteron::importer {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::GgufWriter;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::raw;
using testing::streamed_floats;

// Keeps the bytes that the parsed file refers to.
struct Parsed {
  explicit Parsed(std::string text) : bytes(std::move(text)), file(GgufFile::parse(FileBytes::borrow(as_bytes(bytes)))) {}
  explicit Parsed(const GgufWriter& writer) : Parsed(writer.bytes()) {}
  std::string bytes;
  Result<GgufFile> file;
};

std::string refusal(const GgufWriter& writer, Code code = Code::invalid_data) {
  const Parsed parsed(writer);
  EXPECT_FALSE(parsed.file.ok());
  EXPECT_EQ(parsed.file.code(), code) << parsed.file.status().message();
  return parsed.file.status().message();
}

GgufWriter with_scalars() {
  GgufWriter writer;
  writer.raw_value("u8", 0, raw(uint8_t{200}))
      .raw_value("i8", 1, raw(int8_t{-100}))
      .raw_value("u16", 2, raw(uint16_t{60000}))
      .raw_value("i16", 3, raw(int16_t{-30000}));
  writer.u32("u32", 4000000000u).raw_value("i32", 5, raw(-2000000000)).f32("f32", 1e-6f).boolean("bool", true).string("string", "text");
  writer.raw_value("u64", 10, raw(uint64_t{1} << 40))
      .raw_value("i64", 11, raw(-(int64_t{1} << 40)))
      .raw_value("f64", 12, raw(0.1))
      .raw_value("huge", 10, raw(UINT64_MAX));
  return writer;
}

TEST(GgufFile, ReadsScalarsOfEveryType) {
  const Parsed parsed(with_scalars());
  ASSERT_TRUE(parsed.file.ok()) << parsed.file.status().message();
  const GgufFile& file = *parsed.file;
  EXPECT_EQ(file.version(), 3u);
  EXPECT_EQ(file.integer("u8").value(), 200);
  EXPECT_EQ(file.integer("i8").value(), -100);
  EXPECT_EQ(file.integer("u16").value(), 60000);
  EXPECT_EQ(file.integer("i16").value(), -30000);
  EXPECT_EQ(file.integer("u32").value(), 4000000000);
  EXPECT_EQ(file.integer("i32").value(), -2000000000);
  EXPECT_EQ(file.integer("u64").value(), int64_t{1} << 40);
  EXPECT_EQ(file.integer("i64").value(), -(int64_t{1} << 40));
  EXPECT_EQ(file.number("f32").value(), 1e-6);  // not 9.99999997e-07
  EXPECT_EQ(file.number("f64").value(), 0.1);
  EXPECT_EQ(file.number("u16").value(), 60000.0);
  EXPECT_EQ(file.boolean("bool").value(), true);
  EXPECT_EQ(file.string("string").value(), "text");
  EXPECT_EQ(file.integer("none").value(), std::nullopt);
  EXPECT_EQ(file.string("none").value(), std::nullopt);
  EXPECT_EQ(file.metadata().size(), 13u);
}

TEST(GgufFile, WrongKindsNameTheKey) {
  const Parsed parsed(with_scalars().strings("list", {"a"}));
  ASSERT_TRUE(parsed.file.ok());
  const GgufFile& file = *parsed.file;
  EXPECT_THAT(file.integer("string").status().message(), HasSubstr("(string): expected an integer below 2^63, found string"));
  EXPECT_EQ(file.integer("huge").code(), Code::invalid_data);
  EXPECT_EQ(file.integer("f32").code(), Code::invalid_data);
  EXPECT_EQ(file.integer("list").code(), Code::invalid_data);
  EXPECT_EQ(file.number("bool").code(), Code::invalid_data);
  EXPECT_EQ(file.boolean("u8").code(), Code::invalid_data);
  EXPECT_EQ(file.string("u8").code(), Code::invalid_data);
  EXPECT_EQ(file.strings("string").code(), Code::invalid_data);
  EXPECT_THAT(file.floats("list").status().message(), HasSubstr("found an array of string"));
  EXPECT_EQ(file.integers("list").code(), Code::invalid_data);
  EXPECT_EQ(file.integers("f32").code(), Code::invalid_data);
}

TEST(GgufFile, ReadsLists) {
  GgufWriter writer;
  writer.strings("words", {"a", "", "b\xff"})
      .array<float>("floats", 6, {1.5f, -2.0f})
      .array<int32_t>("ints", 5, {-1, 2})
      .array<uint8_t>("flags", 7, {1, 0})
      .u32("one", 9);
  writer.array<uint64_t>("empty", 10, {}).array<double>("doubles", 12, {0.5});
  const Parsed parsed(writer);
  ASSERT_TRUE(parsed.file.ok()) << parsed.file.status().message();
  const GgufFile& file = *parsed.file;
  EXPECT_THAT(file.strings("words").value(), ElementsAre("a", "", "b\xff"));
  EXPECT_THAT(file.floats("floats").value(), ElementsAre(1.5f, -2.0f));
  EXPECT_THAT(file.floats("doubles").value(), ElementsAre(0.5f));
  EXPECT_THAT(file.floats("ints").value(), ElementsAre(-1.0f, 2.0f));
  EXPECT_THAT(file.integers("ints").value(), ElementsAre(-1, 2));
  EXPECT_THAT(file.integers("flags").value(), ElementsAre(1, 0));
  EXPECT_THAT(file.integers("one").value(), ElementsAre(9));
  EXPECT_THAT(file.integers("empty").value(), IsEmpty());
  EXPECT_THAT(file.strings("none").value(), IsEmpty());
}

std::string nested(int levels) {
  std::string payload = raw(uint32_t{0}) + raw(uint64_t{1}) + "x";
  for (int i = 1; i < levels; ++i) payload = raw(uint32_t{9}) + raw(uint64_t{1}) + payload;
  return payload;
}

TEST(GgufFile, NestedListsAreSkippedUpToALimit) {
  EXPECT_TRUE(Parsed(GgufWriter().raw_value("n", 9, nested(4)).u32("after", 1)).file.ok());
  EXPECT_THAT(refusal(GgufWriter().raw_value("n", 9, nested(5))), HasSubstr("(n.array)"));
  EXPECT_THAT(refusal(GgufWriter().raw_value("n", 9, nested(10000))), HasSubstr("at most 4 levels"));
}

TEST(GgufFile, ReadsTensors) {
  GgufWriter writer;
  writer.u32("general.alignment", 64);
  writer.alignment = 64;
  writer.floats("w", {3, 2}, 10)
      .tensor("h", {2}, 1, std::string("\x00\x3c\x00\xc0", 4))
      .tensor("b", {1, 2}, 30, std::string("\x80\x3f\x00\x40", 4))
      .tensor("d", {1}, 28, raw(0.25));
  writer.tensor("q", {32, 2}, 8, std::string(68, '\x01')).tensor("s", {}, 0, raw(3.0f));
  const Parsed parsed(writer);
  ASSERT_TRUE(parsed.file.ok()) << parsed.file.status().message();
  const GgufFile& file = *parsed.file;
  ASSERT_EQ(file.tensors().size(), 6u);
  EXPECT_EQ(file.find_tensor("nothing"), nullptr);
  const ConstantPtr w = file.source(*file.find_tensor("w")).value();
  EXPECT_THAT(w->shape(), ElementsAre(2, 3));  // outermost first
  EXPECT_THAT(streamed_floats(*w), ElementsAre(10, 11, 12, 13, 14, 15));
  float pair[2];
  ASSERT_TRUE((*file.source(*file.find_tensor("h")))->read_rows_f32(0, 2, pair).ok());
  EXPECT_THAT(pair, ElementsAre(1.0f, -2.0f));
  ASSERT_TRUE((*file.source(*file.find_tensor("b")))->read_rows_f32(0, 2, pair).ok());
  EXPECT_THAT(pair, ElementsAre(1.0f, 2.0f));
  EXPECT_EQ((*file.source(*file.find_tensor("d")))->dtype(), ScalarType::Double);
  EXPECT_EQ((*file.source(*file.find_tensor("q")))->encoding(), BlockEncoding::q8_0);
  EXPECT_THAT(streamed_floats(**file.source(*file.find_tensor("s"))), ElementsAre(3));
}

TEST(GgufFile, VersionsAreChecked) {
  GgufWriter writer;
  writer.version = 2;
  EXPECT_TRUE(Parsed(writer).file.ok());
  writer.version = 1;
  EXPECT_THAT(refusal(writer, Code::unsupported), HasSubstr("version 1"));
  writer.version = 4;
  EXPECT_THAT(refusal(writer, Code::unsupported), HasSubstr("found 4"));
  writer.version = 0x03000000;
  EXPECT_THAT(refusal(writer, Code::unsupported), HasSubstr("big-endian GGUF"));
  writer.version = 3;
  writer.magic = 0x67676a74;
  EXPECT_THAT(refusal(writer), HasSubstr("(magic)"));
}

TEST(GgufFile, SplitFilesAreRefusedByName) {
  EXPECT_THAT(refusal(GgufWriter().raw_value("split.count", 2, raw(uint16_t{3})), Code::unsupported),
              AllOf(HasSubstr("split in several"), HasSubstr("(split.count): expected 1, found 3")));
  EXPECT_TRUE(Parsed(GgufWriter().raw_value("split.count", 2, raw(uint16_t{1}))).file.ok());
}

TEST(GgufFile, CountsThatLieAreRefused) {
  for (const uint64_t lie : {uint64_t{1}, uint64_t{1} << 40, UINT64_MAX - 5}) {
    GgufWriter values;
    values.u32("a", 1).value_count_lie = lie;
    EXPECT_FALSE(Parsed(values).file.ok());
    GgufWriter tensors;
    tensors.floats("w", {8}).tensor_count_lie = lie;
    EXPECT_FALSE(Parsed(tensors).file.ok());
  }
  EXPECT_THAT(refusal(GgufWriter().raw_value("s", 8, raw(UINT64_MAX))), HasSubstr("(s.string)"));
  EXPECT_THAT(refusal(GgufWriter().raw_value("a", 9, raw(uint32_t{6}) + raw(uint64_t{1} << 62))), HasSubstr("(a.array length)"));
  EXPECT_THAT(refusal(GgufWriter().raw_value("a", 9, raw(uint32_t{0}) + raw(uint64_t{1} << 62))), HasSubstr("(a.array)"));
  EXPECT_THAT(refusal(GgufWriter().raw_value("a", 9, raw(uint32_t{8}) + raw(UINT64_MAX))), HasSubstr("a."));
}

TEST(GgufFile, KeysAndTypesAreChecked) {
  EXPECT_THAT(refusal(GgufWriter().u32("a", 1).u32("a", 2)), HasSubstr("(a): expected each key once"));
  EXPECT_THAT(refusal(GgufWriter().u32("", 1)), HasSubstr("metadata 0"));
  EXPECT_THAT(refusal(GgufWriter().u32(std::string(70000, 'k'), 1)), HasSubstr("found 70000"));
  EXPECT_THAT(refusal(GgufWriter().raw_value("a", 13, "")), HasSubstr("(a.value type)"));
  EXPECT_THAT(refusal(GgufWriter().raw_value("a", 9, raw(uint32_t{13}) + raw(uint64_t{0}))), HasSubstr("(a.element type)"));
  for (const uint32_t alignment : {0u, 3u, 48u, 0x80000000u})
    EXPECT_THAT(refusal(GgufWriter().u32("general.alignment", alignment)), HasSubstr("(general.alignment)"));
  EXPECT_THAT(refusal(GgufWriter().string("general.alignment", "32")), HasSubstr("wrong type (general.alignment)"));
}

TEST(GgufFile, TensorFieldsAreChecked) {
  EXPECT_THAT(refusal(GgufWriter().floats("w", {2}).floats("w", {2})), HasSubstr("(w): expected each tensor once"));
  EXPECT_THAT(refusal(GgufWriter().floats("w", {1, 1, 1, 1, 1})), HasSubstr("(w.dimensions)"));
  EXPECT_THAT(refusal(GgufWriter().floats("w", {2, 0})), HasSubstr("(w.shape)"));
  EXPECT_THAT(refusal(GgufWriter().tensor("w", {UINT64_MAX}, 0, "")), HasSubstr("(w.shape)"));
  const uint64_t big = uint64_t{1} << 33;
  EXPECT_THAT(refusal(GgufWriter().tensor("w", {big, big}, 0, "")), HasSubstr("overflows (w.shape)"));
  EXPECT_THAT(refusal(GgufWriter().tensor("w", {uint64_t{1} << 62, 4}, 2, "")), HasSubstr("overflows (w.shape)"));
  EXPECT_THAT(refusal(GgufWriter().tensor("w", {16, 4}, 2, std::string(36, 'x'))), HasSubstr("a multiple of 32 for Q4_0"));
  EXPECT_THAT(refusal(GgufWriter().tensor("w", {256}, 10, "x"), Code::unsupported), AllOf(HasSubstr("(w.type)"), HasSubstr("found Q2_K")));
  EXPECT_THAT(refusal(GgufWriter().tensor("w", {256}, 20, "x"), Code::unsupported), HasSubstr("found IQ4_NL"));
  EXPECT_THAT(refusal(GgufWriter().tensor("w", {256}, 4, "x"), Code::unsupported), HasSubstr("found ggml type 4"));
}

TEST(GgufFile, PlacesAreChecked) {
  EXPECT_THAT(refusal(GgufWriter().tensor_at("w", {8}, 0, std::string(32, 'x'), 8)),
              HasSubstr("(w.offset): expected a multiple of 32, found 8"));
  EXPECT_THAT(refusal(GgufWriter().tensor_at("w", {8}, 0, std::string(32, 'x'), 32)), HasSubstr("lies outside the file (w)"));
  EXPECT_THAT(refusal(GgufWriter().tensor_at("w", {8}, 0, std::string(32, 'x'), UINT64_MAX - 31)), HasSubstr("lies outside the file (w)"));
  EXPECT_THAT(refusal(GgufWriter().tensor("w", {uint64_t{1} << 40}, 0, "x")), HasSubstr("lies outside the file (w)"));
  EXPECT_THAT(refusal(GgufWriter().floats("a", {16}).tensor_at("b", {8}, 0, std::string(32, 'x'), 32)),
              HasSubstr("two tensors overlap (b): expected an offset of at least 64, where a ends, found 32"));
  EXPECT_THAT(refusal(GgufWriter().floats("a", {8}).tensor_at("b", {8}, 0, "", 0)), HasSubstr("two tensors overlap"));
}

TEST(GgufFile, EveryTruncationIsRefused) {
  const std::string bytes = with_scalars()
                                .strings("words", {"alpha", "beta"})
                                .floats("a", {16, 2})
                                .tensor("q", {32, 4}, 8, std::string(136, '\x01'))
                                .floats("z", {8})
                                .bytes();
  ASSERT_TRUE(Parsed(bytes).file.ok());
  for (size_t length = 0; length < bytes.size(); ++length) {
    const Parsed parsed(bytes.substr(0, length));
    EXPECT_EQ(parsed.file.code(), Code::invalid_data) << length;
  }
}

TEST(GgufFile, AFileIsNamedInItsErrors) {
  testing::TempFolder folder;
  const std::string path = folder.write("m.gguf", "GGU");
  EXPECT_EQ(GgufFile::open(path).status().detail().file, path);
  const std::string good = folder.write("good.gguf", with_scalars().bytes());
  EXPECT_EQ(GgufFile::open(good)->string("u8").status().detail().file, good);
  EXPECT_FALSE(GgufFile::open(folder.path()).ok());
}

}  // namespace
}  // namespace pteron::importer
