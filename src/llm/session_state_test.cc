#include "llm/session_state.h"

#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "llm/testing/tiny_program.h"

namespace pteron::llm {
namespace {

struct Saved {
  Saved() {
    testing::TinyProgram program{testing::TinyConfig()};
    contract = *IoManagerRegistry::with_defaults().open(program);
    auto manager = *contract->new_manager(program, {});
    session.program = program.identity();
    session.tokens = {3, 1, 4};
    session.pending = 5;
    session.logits.assign(13, 0.5f);
    EXPECT_TRUE(manager->run(Step::decode, std::span(session.tokens).first(1), 0).ok());
    EXPECT_TRUE(manager->run(Step::prefill, std::span(session.tokens).subspan(1), 1).ok());
    EXPECT_TRUE(write_session(session, *manager, [&](ByteSpan part) {
      bytes.insert(bytes.end(), part.begin(), part.end());
      return Status();
    }).ok());
  }
  std::string field(const std::vector<std::byte>& changed) const { return read_session(changed, session.program, contract->limits()).status().detail().field; }
  // The digest made right again, so that what was changed is seen.
  std::vector<std::byte> with(size_t at, int64_t value) const {
    std::vector<std::byte> out = bytes;
    std::memcpy(out.data() + at, &value, sizeof value);
    const Digest digest = sha256(ByteSpan(out).first(out.size() - 32));
    std::memcpy(out.data() + out.size() - 32, digest.data(), 32);
    return out;
  }
  std::unique_ptr<IoContract> contract;
  SavedSession session;
  std::vector<std::byte> bytes;
};

TEST(SessionState, ComesBackAsItWas) {
  const Saved saved;
  const auto read = read_session(saved.bytes, saved.session.program, saved.contract->limits());
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->session.tokens, saved.session.tokens);
  EXPECT_EQ(read->session.pending, saved.session.pending);
  EXPECT_EQ(read->session.logits, saved.session.logits);
  EXPECT_FALSE(read->caches.empty());
}

TEST(SessionState, EachMismatchIsNamed) {
  const Saved saved;
  EXPECT_EQ(saved.field({}), "size");
  EXPECT_EQ(saved.field(saved.with(0, 0)), "magic");
  EXPECT_EQ(saved.field(saved.with(8, 77)), "program");
  EXPECT_EQ(saved.field(saved.with(40, 25)), "tokens") << "more than the context holds";
  EXPECT_EQ(saved.field(saved.with(40, -1)), "tokens");
  EXPECT_EQ(saved.field(saved.with(48, 12)), "logits") << "of another vocabulary";
  EXPECT_EQ(saved.field(saved.with(56, 13)), "pending");
  EXPECT_EQ(saved.field(saved.with(64, -1)), "tokens") << "an id outside the vocabulary";
}

TEST(SessionState, EveryTruncationAndEveryChangedByteIsRefused) {
  const Saved saved;
  for (size_t size = 0; size < saved.bytes.size(); size += 7) {
    EXPECT_FALSE(read_session(ByteSpan(saved.bytes).first(size), saved.session.program, saved.contract->limits()).ok()) << size;
  }
  for (size_t at = 0; at < saved.bytes.size(); at += 11) {
    std::vector<std::byte> changed = saved.bytes;
    changed[at] ^= std::byte{0x10};
    EXPECT_FALSE(read_session(changed, saved.session.program, saved.contract->limits()).ok()) << at;
  }
}

}  // namespace
}  // namespace pteron::llm
