#include "llm/audit.h"

#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "llm/session.h"
#include "llm/testing/tiny_program.h"

namespace pteron::llm {
namespace {

using testing::TinyConfig;
using testing::TinyProgram;

struct Driven {
  Driven() : contract(*parse_contract(program.contract_json())), audit(program, contract), io(*IoManagerRegistry::with_defaults().open(program)) {}
  TinyProgram program{TinyConfig()};
  Contract contract;
  AuditedSource audit;
  std::unique_ptr<IoContract> io;
};

TEST(Audit, SeesCallsAndFindsNothingWrongWithARightDriver) {
  Driven driven;
  auto session = Session::create(*driven.io, driven.audit);
  ASSERT_TRUE(session.ok());
  EXPECT_EQ(driven.audit.loaded(), (std::vector<std::string>{"decode", "prefill"}));
  ASSERT_TRUE(session->append(std::vector<TokenId>{5, 6, 7, 8, 9, 10}).ok());
  const auto calls = driven.audit.take_calls();
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[1].role, MethodRole::prefill);
  EXPECT_EQ(calls[1].position, 4);
  EXPECT_EQ(calls[1].last_row, 1);
  EXPECT_EQ(calls[1].ids, (std::vector<int64_t>{9, 10, 0, 0}));
  EXPECT_TRUE(driven.audit.violations().empty());
  EXPECT_TRUE(driven.audit.take_calls().empty());
}

TEST(Audit, HooksMeddleAndFail) {
  Driven driven;
  auto session = Session::create(*driven.io, driven.audit);
  size_t after = 0;
  driven.audit.before = [](const AuditedBuffers& buffers) {
    EXPECT_NE(buffers.input(InputRole::token_ids), nullptr);
    EXPECT_EQ(buffers.input(InputRole::counter), nullptr);
    return Status::error(Code::internal, "no");
  };
  driven.audit.after = [&](const AuditedBuffers&) { ++after; };
  EXPECT_EQ(session->append(std::vector<TokenId>{1}).code(), Code::internal);
  EXPECT_EQ(after, 0u);
}

TEST(Audit, NotesWhatADriverDoesWrong) {
  Driven driven;
  auto method = driven.audit.load("decode", {});
  ASSERT_TRUE(method.ok());
  EXPECT_FALSE(driven.audit.load("nothing", {}).ok());
  std::vector<std::vector<std::byte>> memory;
  const MethodInfo& info = *find_method(driven.program.infos(), "decode");
  for (size_t i = 0; i < info.inputs.size(); ++i) {
    memory.emplace_back(info.inputs[i].nbytes);
    const TensorView view{info.inputs[i].dtype, info.inputs[i].sizes, {}, memory.back().data(), memory.back().size()};
    ASSERT_TRUE((*method)->set_input(i, view).ok());
  }
  std::vector<std::byte> logits(info.outputs[0].nbytes);
  ASSERT_TRUE((*method)->bind_output(0, {info.outputs[0].dtype, info.outputs[0].sizes, {}, logits.data(), logits.size()}).ok());
  const int64_t token = 0;
  std::memcpy(memory[0].data(), &token, sizeof token);
  ASSERT_TRUE((*method)->execute().ok());
  // A mask of zeros shows every slot, written or not.
  ASSERT_EQ(driven.audit.violations().size(), 1u);
  EXPECT_EQ(driven.audit.violations()[0].substr(0, 6), "masks:");
  const int64_t position = 24;
  std::memcpy(memory[1].data(), &position, sizeof position);
  ASSERT_TRUE((*method)->execute().ok());
  EXPECT_EQ(driven.audit.violations().back().substr(0, 9), "capacity:");
}

}  // namespace
}  // namespace pteron::llm
