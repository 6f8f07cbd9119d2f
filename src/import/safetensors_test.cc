#include "import/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "import/test_files.h"

namespace pteron::importer {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::raw_floats;
using testing::safetensors;
using testing::streamed_floats;
using testing::TempFolder;

Result<std::vector<SafetensorsEntry>> parse(const std::string& bytes) { return parse_safetensors(FileBytes::borrow(as_bytes(bytes))); }

std::string refusal(const std::string& bytes) {
  const auto result = parse(bytes);
  EXPECT_FALSE(result.ok());
  return result.status().message();
}

std::string one(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"w":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
}

TEST(Safetensors, ReadsTensorsInPlace) {
  const std::string bytes = safetensors(
      R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[2,2],"data_offsets":[4,20]},"a":{"dtype":"F16","shape":[2],"data_offsets":[0,4]}}  )",
      std::string("\x00\x3c\x00\xc0", 4) + raw_floats({1, 2, 3, 4}));
  const auto entries = parse(bytes);
  ASSERT_TRUE(entries.ok()) << entries.status().message();
  ASSERT_EQ(entries->size(), 2u);
  EXPECT_EQ((*entries)[0].name, "a");
  EXPECT_EQ((*entries)[0].source->dtype(), ScalarType::Half);
  float half[2];
  ASSERT_TRUE((*entries)[0].source->read_rows_f32(0, 2, half).ok());
  EXPECT_THAT(half, ElementsAre(1.0f, -2.0f));
  EXPECT_THAT((*entries)[1].source->shape(), ElementsAre(2, 2));
  EXPECT_THAT(streamed_floats(*(*entries)[1].source), ElementsAre(1, 2, 3, 4));
}

TEST(Safetensors, ScalarsAndEmptyTensorsAreFine) {
  const std::string bytes = safetensors(
      R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[0,3],"data_offsets":[4,4]}})", raw_floats({5}));
  const auto entries = parse(bytes);
  ASSERT_TRUE(entries.ok()) << entries.status().message();
  EXPECT_THAT(streamed_floats(*(*entries)[0].source), ElementsAre(5));
}

TEST(Safetensors, EveryFloatAndIntegerTypeIsRead) {
  for (const auto& [name, size] : std::vector<std::pair<std::string, int>>{{"F64", 8},
                                                                           {"F32", 4},
                                                                           {"F16", 2},
                                                                           {"BF16", 2},
                                                                           {"I64", 8},
                                                                           {"I32", 4},
                                                                           {"I16", 2},
                                                                           {"I8", 1},
                                                                           {"U64", 8},
                                                                           {"U32", 4},
                                                                           {"U16", 2},
                                                                           {"U8", 1},
                                                                           {"BOOL", 1}}) {
    EXPECT_TRUE(
        parse(safetensors(one(name, "[3]", "[0," + std::to_string(3 * size) + "]"), std::string(static_cast<size_t>(3 * size), '\0'))).ok())
        << name;
  }
}

TEST(Safetensors, OtherTypesAreNamed) {
  for (const char* name : {"F8_E4M3", "F8_E5M2", "F4", "Q4"}) {
    const auto result = parse(safetensors(one(name, "[1]", "[0,1]"), "x"));
    EXPECT_EQ(result.code(), Code::unsupported);
    EXPECT_THAT(result.status().message(), AllOf(HasSubstr("w.dtype"), HasSubstr(std::string("found ") + name)));
  }
}

TEST(Safetensors, HeaderSizesAreChecked) {
  EXPECT_THAT(refusal(""), HasSubstr("0 bytes in the file"));
  EXPECT_THAT(refusal("1234567"), HasSubstr("7 bytes in the file"));
  EXPECT_THAT(refusal(testing::raw(UINT64_MAX)), HasSubstr("header size): expected at most 0"));
  EXPECT_THAT(refusal(testing::raw(uint64_t{3}) + "{}"), HasSubstr("expected at most 2, found 3"));
  EXPECT_THAT(refusal(safetensors("{\"a\":")), HasSubstr("not valid JSON (header.byte"));
  EXPECT_THAT(refusal(safetensors("[]")), HasSubstr("expected an object, found array"));
}

TEST(Safetensors, FieldsAreChecked) {
  EXPECT_THAT(refusal(safetensors(R"({"w":1})")), HasSubstr("(w): expected an object, found number"));
  EXPECT_THAT(refusal(safetensors(R"({"w":{"shape":[1],"data_offsets":[0,4]}})", "1234")),
              HasSubstr("(w.dtype): expected a string, found nothing"));
  EXPECT_THAT(refusal(safetensors(R"({"w":{"dtype":"F32","data_offsets":[0,4]}})", "1234")),
              HasSubstr("(w.shape): expected a list, found nothing"));
  EXPECT_THAT(refusal(safetensors(one("F32", "[-1]", "[0,4]"), "1234")), HasSubstr("(w.shape): expected non-negative integers, found -1"));
  EXPECT_THAT(refusal(safetensors(one("F32", "[1.5]", "[0,4]"), "1234")), HasSubstr("w.shape"));
  EXPECT_THAT(refusal(safetensors(one("F32", "[18446744073709551615]", "[0,4]"), "1234")), HasSubstr("w.shape"));
  EXPECT_THAT(refusal(safetensors(one("F32", "[1]", "[0]"), "1234")), HasSubstr("w.data_offsets"));
  EXPECT_THAT(refusal(safetensors(one("F32", "[1]", "[4,0]"), "1234")), HasSubstr("w.data_offsets"));
  EXPECT_THAT(refusal(safetensors(one("F32", "[1]", "[0,8]"), "1234")), HasSubstr("within the 4 bytes of data, found [0, 8]"));
  EXPECT_THAT(refusal(safetensors(one("F32", "[2]", "[0,4]"), "1234")), HasSubstr("(w): expected 8 bytes for float32 [2], found 4"));
  EXPECT_THAT(refusal(safetensors(one("F32", "[4611686018427387904, 4]", "[0,4]"), "1234")), HasSubstr("overflows"));
  EXPECT_THAT(refusal(safetensors(one("F32", "[2305843009213693952]", "[0,4]"), "1234")), HasSubstr("overflows"));
}

TEST(Safetensors, NamesAreUnique) {
  const std::string entry = R"("w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  EXPECT_THAT(refusal(safetensors("{" + entry + "," + entry + "}", "1234")), HasSubstr("twice (header.w)"));
}

TEST(Safetensors, OverlapsAndHolesAreRefused) {
  const auto two = [](const std::string& a, const std::string& b) {
    return R"({"a":{"dtype":"F32","shape":[1],"data_offsets":)" + a + R"(},"b":{"dtype":"F32","shape":[1],"data_offsets":)" + b + "}}";
  };
  EXPECT_TRUE(parse(safetensors(two("[4,8]", "[0,4]"), "12345678")).ok());
  EXPECT_THAT(refusal(safetensors(two("[0,4]", "[0,4]"), "1234")), HasSubstr("two tensors overlap (b)"));
  EXPECT_THAT(refusal(safetensors(two("[0,4]", "[2,6]"), "123456")),
              HasSubstr("two tensors overlap (b): expected to begin at byte 4, where a ends, found 2"));
  EXPECT_THAT(refusal(safetensors(two("[0,4]", "[5,9]"), "123456789")), HasSubstr("a hole between tensors (b)"));
  EXPECT_THAT(refusal(safetensors(two("[0,4]", "[4,8]"), "123456789")), HasSubstr("bytes after the last tensor"));
}

TEST(Safetensors, EveryTruncationIsRefused) {
  const std::string bytes =
      safetensors(R"({"a":{"dtype":"F32","shape":[100],"data_offsets":[0,400]},"b":{"dtype":"F32","shape":[10],"data_offsets":[400,440]}})",
                  raw_floats(testing::counting(110)));
  ASSERT_TRUE(parse(bytes).ok());
  for (size_t length = 0; length < bytes.size(); ++length) {
    const std::string part = bytes.substr(0, length);
    EXPECT_EQ(parse(part).code(), Code::invalid_data) << length;
  }
}

// A folder with tensors "a" (shard 1) and "b" (shard 2), to be spoiled.
class Shards : public ::testing::Test {
 protected:
  void SetUp() override {
    shard("model-00001-of-00002.safetensors", "a");
    shard("model-00002-of-00002.safetensors", "b");
    index(R"({"metadata":{"total_size":8},"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}})");
  }
  void shard(const std::string& file, const std::string& tensor) {
    folder_.write(file, safetensors(R"({")" + tensor + R"(":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                                    raw_floats({static_cast<float>(tensor[0])})));
  }
  void index(const std::string& text) { folder_.write("model.safetensors.index.json", text); }
  Result<std::shared_ptr<const WeightSource>> open() {
    files_.clear();
    return open_safetensors_folder(folder_.path(), files_);
  }
  std::string refusal() {
    const auto result = open();
    EXPECT_FALSE(result.ok());
    return result.status().message();
  }
  TempFolder folder_;
  std::vector<std::string> files_;
};

TEST_F(Shards, AreReadTogether) {
  const auto weights = open();
  ASSERT_TRUE(weights.ok()) << weights.status().message();
  EXPECT_THAT((*weights)->names(), ElementsAre("a", "b"));
  EXPECT_THAT(streamed_floats(*(*weights)->find("b")), ElementsAre('b'));
  EXPECT_EQ((*weights)->location("a"), folder_.file("model-00001-of-00002.safetensors"));
  EXPECT_EQ((*weights)->location("zzz"), folder_.file("model.safetensors.index.json"));
  EXPECT_EQ(files_.size(), 3u);
}

TEST_F(Shards, ASingleFileComesFirst) {
  shard("model.safetensors", "c");
  EXPECT_THAT((*open())->names(), ElementsAre("c"));
  EXPECT_THAT(files_, ElementsAre(folder_.file("model.safetensors")));
}

TEST_F(Shards, AMissingFileIsNamed) {
  std::filesystem::remove(folder_.file("model-00002-of-00002.safetensors"));
  EXPECT_THAT(refusal(), AllOf(HasSubstr("a shard is missing"), HasSubstr("model-00002-of-00002.safetensors")));
}

TEST_F(Shards, AMissingTensorIsNamed) {
  shard("model-00002-of-00002.safetensors", "x");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("a tensor of the index is missing"), HasSubstr("json: b)")));
}

TEST_F(Shards, ATensorInAnotherShardIsNamed) {
  index(R"({"weight_map":{"a":"model-00002-of-00002.safetensors","b":"model-00001-of-00002.safetensors"}})");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("another shard than the index says"), HasSubstr("json: a)")));
}

TEST_F(Shards, ATensorInTwoShardsIsNamed) {
  shard("model-00002-of-00002.safetensors", "a");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("a tensor is there twice"), HasSubstr("model-00002-of-00002.safetensors: a)"),
                               HasSubstr("another one in " + folder_.file("model-00001-of-00002.safetensors"))));
}

TEST_F(Shards, AMalformedIndexIsAnError) {
  for (const char* text :
       {"", "{", "[]", "{}", R"({"weight_map":[]})", R"({"weight_map":{}})", R"({"weight_map":{"a":1}})", R"({"weight_map":{"a":""}})",
        R"({"weight_map":{"a":"../x.safetensors"}})", R"({"weight_map":{"a":"/etc/passwd"}})", R"({"weight_map":{"a":".."}})",
        R"({"weight_map":{"a":"x","a":"x"}})"}) {
    index(text);
    EXPECT_THAT(refusal(), HasSubstr("model.safetensors.index.json")) << text;
  }
}

TEST_F(Shards, ABrokenShardIsNamed) {
  folder_.write("model-00002-of-00002.safetensors", "junk");
  EXPECT_THAT(refusal(), HasSubstr(folder_.file("model-00002-of-00002.safetensors")));
}

TEST(SafetensorsFolder, WithoutWeightsSaysWhatIsThere) {
  TempFolder folder;
  std::vector<std::string> files;
  EXPECT_THAT(open_safetensors_folder(folder.path(), files).status().message(), HasSubstr("found an empty folder"));
  folder.write("config.json", "{}");
  EXPECT_THAT(open_safetensors_folder(folder.path(), files).status().message(),
              AllOf(HasSubstr(folder.path()), HasSubstr("expected model.safetensors or"), HasSubstr("found neither")));
  folder.write("pytorch_model.bin", "x");
  EXPECT_THAT(open_safetensors_folder(folder.path(), files).status().message(), HasSubstr("only pytorch_model.bin"));
}

}  // namespace
}  // namespace pteron::importer
