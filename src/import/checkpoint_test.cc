#include "import/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "import/test_files.h"

namespace pteron::importer {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::TempFolder;

TEST(Checkpoint, FoldersAndFilesAreToldApart) {
  TempFolder folder;
  EXPECT_THAT(open_checkpoint(folder.path()).status().message(), HasSubstr("no checkpoint in the folder"));
  EXPECT_THAT(open_checkpoint(folder.write("x.gguf", "GGUF")).status().message(), HasSubstr("truncated GGUF file"));
  EXPECT_THAT(open_checkpoint(folder.write("x.bin", "junkjunk")).status().message(), HasSubstr("x.bin: magic)"));
  EXPECT_THAT(open_checkpoint(folder.write("x.safetensors", "junk")).status().message(),
              HasSubstr("the folder that also holds config.json"));
  const Result<Checkpoint> nothing = open_checkpoint(folder.file("nothing"));
  EXPECT_EQ(nothing.code(), Code::not_found);
  EXPECT_THAT(nothing.status().message(), AllOf(HasSubstr(folder.file("nothing")), HasSubstr("found nothing")));
}

TEST(Checkpoint, AShardedFolderOpens) {
  const Result<Checkpoint> opened = open_checkpoint(PTERON_TEST_DATA "/import/sharded");
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  EXPECT_EQ(opened->name, "sharded");
  EXPECT_EQ(opened->config["rope_scaling"]["rope_type"], "llama3");
  EXPECT_EQ(opened->weights->names().size(), 30u);
  EXPECT_EQ(opened->files.size(), 8u);
  const ConstantPtr embedding = opened->weights->find("model.embed_tokens.weight");
  ASSERT_NE(embedding, nullptr);
  EXPECT_EQ(embedding->dtype(), ScalarType::BFloat16);
  EXPECT_EQ(embedding->shape(), (std::vector<int64_t>{256, 56}));
}

TEST(Checkpoint, DigestsAreThoseOfTheFiles) {
  TempFolder folder;
  Checkpoint checkpoint;
  checkpoint.files = {folder.write("a", "abc"), folder.write("b", "")};
  for (const size_t threads : {0, 1, 5}) {
    const auto digests = source_digests(checkpoint, threads);
    ASSERT_TRUE(digests.ok());
    ASSERT_EQ(digests->size(), 2u);
    EXPECT_EQ((*digests)[0].name, "a");
    EXPECT_EQ((*digests)[0].sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ((*digests)[1].sha256, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  }
  uint64_t most = 0;
  ASSERT_TRUE(source_digests(checkpoint, 1, [&](uint64_t done, uint64_t total) {
    EXPECT_LE(done, total);
    most = total;
    return Status();
  }).ok());
  EXPECT_EQ(most, 3u);
  EXPECT_EQ(source_digests(checkpoint, 2, [](uint64_t, uint64_t) { return Status::error(Code::cancelled, "stop"); }).code(), Code::cancelled);
  checkpoint.files.push_back(folder.file("gone"));
  EXPECT_FALSE(source_digests(checkpoint).ok());
}

}  // namespace
}  // namespace pteron::importer
