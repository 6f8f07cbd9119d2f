#include "manifest/footer.h"

#include <random>

#include "manifest/vectors.h"

namespace pteron::manifest {
namespace {

// What the published Python reader does, after its description: numbers at fixed places from the end, the signature in front of them, no
// look at anything further up.
struct PublishedReader {
  ByteSpan signature;
  uint32_t padding = 0, length = 0;
  uint64_t program_offset = 0;
  bool valid = false;

  explicit PublishedReader(ByteSpan file) {
    if (file.size() <= 24) return;
    const std::byte* end = file.data() + file.size();
    length = load_unaligned<uint32_t>(end - 8);
    program_offset = load_unaligned<uint64_t>(end - 16);
    padding = load_unaligned<uint32_t>(end - 20);
    const auto size = load_unaligned<uint32_t>(end - 24);
    if (size > file.size() - 24) return;
    signature = file.last(24 + size).first(size);
    valid = as_text(file.last(4)) == "em00" && length >= 24 && length <= 536 && size <= 512;
  }
};

std::vector<std::byte> with_footer(size_t program, ByteSpan extension, ByteSpan signature) {
  std::vector<std::byte> file(program, std::byte{0x5a});
  const std::vector<std::byte> footer = write_footer(program, extension, signature);
  file.insert(file.end(), footer.begin(), footer.end());
  return file;
}

Result<std::optional<Footer>> parse(const std::vector<std::byte>& file) {
  const ByteSpan all = file;
  return parse_footer(all.last(std::min(all.size(), kTailBytes)), all.size());
}

template <class T>
std::vector<std::byte> patched(std::vector<std::byte> file, size_t from_end, T value) {
  store_unaligned(file.data() + file.size() - from_end, value);
  return file;
}

TEST(Footer, ReadsThePublishedLayout) {
  const std::vector<std::byte> file = vector_bytes("plain_footer.bin");
  const auto footer = parse(file);
  ASSERT_TRUE(footer.ok()) << footer.status().message();
  ASSERT_TRUE(footer->has_value());
  EXPECT_EQ((*footer)->signed_bytes, 5003u);
  EXPECT_EQ((*footer)->padding, 5u);
  EXPECT_TRUE((*footer)->extension.empty());
  ASSERT_EQ((*footer)->signature.size(), 100u);
  EXPECT_EQ((*footer)->signature[99], std::byte{99});
}

TEST(Footer, WritesThePublishedLayout) {
  std::vector<std::byte> file = vector_bytes("program.bin");
  std::vector<std::byte> signature;
  for (int i = 0; i < 100; ++i) signature.push_back(static_cast<std::byte>(i));
  const std::vector<std::byte> footer = write_footer(file.size(), {}, signature);
  file.insert(file.end(), footer.begin(), footer.end());
  EXPECT_EQ(file, vector_bytes("plain_footer.bin"));
}

TEST(Footer, PublishedReaderFindsSignatureBelowAnExtension) {
  const std::vector<std::byte> extension(448, std::byte{0xee}), signature(64, std::byte{0x11});
  for (size_t program : {0u, 1u, 15u, 16u, 1000u}) {
    const std::vector<std::byte> file = with_footer(program, extension, signature);
    const PublishedReader reader(file);
    ASSERT_TRUE(reader.valid);
    EXPECT_EQ(reader.program_offset, program);
    EXPECT_EQ(reader.length, 536u);
    EXPECT_TRUE(std::equal(reader.signature.begin(), reader.signature.end(), signature.begin(), signature.end()));
    EXPECT_EQ(file.size() % 16, (536u) % 16);
    const auto footer = parse(file);
    ASSERT_TRUE(footer.ok() && footer->has_value());
    EXPECT_EQ((*footer)->extension.size(), 448u);
    EXPECT_EQ((*footer)->signature.size(), 64u);
  }
}

TEST(Footer, NoMagicIsNoManifest) {
  std::vector<std::byte> file = with_footer(100, {}, std::vector<std::byte>(64));
  file.push_back(std::byte{0});
  EXPECT_FALSE(parse(file)->has_value());
  EXPECT_FALSE(parse({})->has_value());
  EXPECT_FALSE(parse(std::vector<std::byte>(3))->has_value());
}

TEST(Footer, EachDefectIsItsOwnError) {
  const std::vector<std::byte> good = with_footer(100, {}, std::vector<std::byte>(64));
  const auto field = [](const std::vector<std::byte>& file) {
    const auto result = parse(file);
    EXPECT_EQ(result.code(), Code::invalid_data);
    return result.status().detail().field;
  };
  EXPECT_EQ(field(patched(good, 8, uint32_t{23})), "manifest.length");
  EXPECT_EQ(field(patched(good, 8, uint32_t{537})), "manifest.length");
  EXPECT_EQ(field(patched(good, 8, uint32_t{300})), "manifest.length");
  EXPECT_EQ(field(patched(good, 24, uint32_t{65})), "manifest.signature_size");
  EXPECT_EQ(field(patched(good, 24, uint32_t{0xffffffff})), "manifest.signature_size");
  EXPECT_EQ(field(patched(good, 20, uint32_t{16})), "manifest.padding_size");
  EXPECT_EQ(field(patched(good, 20, uint32_t{11})), "manifest.program_offset");
  EXPECT_EQ(field(patched(good, 16, uint64_t{99})), "manifest.program_offset");
  EXPECT_EQ(field(patched(good, 16, UINT64_MAX)), "manifest.program_offset");
  EXPECT_EQ(field(patched(good, 24 + 64 + 1, uint8_t{1})), "manifest.padding");
  const ByteSpan text = as_bytes("em00");
  EXPECT_EQ(field({text.begin(), text.end()}), "manifest.size");
  // The messages say what was expected and found.
  EXPECT_EQ(parse(patched(good, 8, uint32_t{23})).status().message(),
            "the manifest's length is out of range (manifest.length): expected 24 to 536 bytes, found 23");
}

// With the padding in front of a footer of full length, the zeros still lie within what a reader fetches.
TEST(Footer, PaddingBeforeTheLongestFooterIsSeen) {
  std::vector<std::byte> file = with_footer(1001, {}, std::vector<std::byte>(512));
  EXPECT_TRUE(parse(file).ok());
  file[1001] = std::byte{1};
  EXPECT_EQ(parse(file).status().detail().field, "manifest.padding");
}

TEST(Footer, RandomFootersAreRefusedOrAddUp) {
  std::mt19937 random(6);
  size_t refused = 0;
  for (int i = 0; i < 100000; ++i) {
    std::vector<std::byte> file(600);
    for (size_t at = 0; at < file.size() - 4; at += 4) store_unaligned(file.data() + at, static_cast<uint32_t>(random()));
    // Half of them with fields of plausible size.
    if (i % 2 == 0) {
      file = patched(std::move(file), 8, static_cast<uint32_t>(random() % 600));
      file = patched(std::move(file), 16, uint64_t{random() % 600});
      file = patched(std::move(file), 20, static_cast<uint32_t>(random() % 20));
      file = patched(std::move(file), 24, static_cast<uint32_t>(random() % 600));
    }
    std::memcpy(file.data() + file.size() - 4, "em00", 4);
    const auto footer = parse(file);
    if (!footer.ok()) {
      ++refused;
      continue;
    }
    ASSERT_TRUE(footer->has_value());
    const Footer& f = **footer;
    ASSERT_EQ(f.signed_bytes + f.padding + f.extension.size() + f.signature.size() + 24, file.size());
  }
  EXPECT_GT(refused, 99000u);
}

}  // namespace
}  // namespace pteron::manifest
