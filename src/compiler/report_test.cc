#include "compiler/report.h"

#include <gtest/gtest.h>

#include <tuple>

#include "ir/parser.h"

namespace pteron::compiler {
namespace {

TEST(Stages, AreTimedInOrderAndShown) {
  std::vector<std::tuple<std::string, uint64_t, uint64_t>> seen;
  CompileRequest request;
  request.progress = [&](std::string_view stage, uint64_t done, uint64_t total) {
    seen.emplace_back(stage, done, total);
    return done != 4;
  };
  Stages stages(request);
  EXPECT_TRUE(stages.begin("import").ok());
  EXPECT_TRUE(stages.begin("emit").ok());
  EXPECT_TRUE(stages.progress(3, 9).ok());
  EXPECT_EQ(stages.progress(4, 9).code(), Code::cancelled);
  stages.end();
  stages.end();
  using Seen = std::vector<std::tuple<std::string, uint64_t, uint64_t>>;
  EXPECT_EQ(seen, (Seen{{"import", 0, 0}, {"emit", 0, 0}, {"emit", 3, 9}, {"emit", 4, 9}}));
  const auto times = stages.json();
  ASSERT_EQ(times.size(), 2u) << "a stage ends once";
  EXPECT_EQ(times.begin().key(), "import");
  for (const auto& [name, ms] : times.items()) EXPECT_GE(ms.get<double>(), 0) << name;
}

TEST(Stages, ThePeakOfMemoryIsWhatWasInUseWhenItWasLookedAt) {
  CompileRequest request;
  Stages stages(request);
  stages.note_memory();
  const uint64_t before = stages.peak_anonymous();
  EXPECT_GT(before, 0u);
  EXPECT_GE(stages.peak_rss(), before);
  {
    std::vector<char> much(size_t{32} << 20, 'x');
    ASSERT_EQ(much[much.size() / 2], 'x');
    stages.note_memory();
  }
  stages.note_memory();
  EXPECT_GE(stages.peak_anonymous(), before + (uint64_t{24} << 20)) << "what is gone again counts";
}

TEST(Report, SaysWhatBecameOfEachMethod) {
  const auto module = ir::parse("method @a {\n  input %0 \"x\" user : float32[2]\n  output %0 \"y\" user\n}\nmethod @b {\n  input %0 \"x\" user : float32[2]\n  output %0 \"y\" user\n}\n");
  ASSERT_TRUE(module.ok());
  partition::MethodPartition taken;
  taken.method = "a";
  taken.nodes = 9;
  taken.taken = 7;
  taken.region_nodes = {4, 3};
  taken.refused = {{"aten::neg.out", "no reason", 2}};
  taken.delegates.resize(2);
  taken.delegates[1].payload.bytes.resize(5);
  const std::vector<partition::MethodPartition> partitions = {taken};
  emit::EmitReport emitted;
  emitted.methods.resize(2);
  emitted.methods[0].name = "a";
  emitted.methods[0].arena_bytes = 64;
  emitted.methods[1].name = "b";
  emitted.constant_bytes = 10;
  CompileRequest request;
  const auto out = report_json({"cpu", &*module, &partitions, &emitted, {{"quant", "int4"}}, {"a note"}, {"a warning"}, 99}, Stages(request));
  EXPECT_EQ(out["backend"], "cpu");
  EXPECT_EQ(out["options"]["quant"], "int4");
  const auto& a = out["methods"][0];
  EXPECT_EQ(a["memory_plan"]["arena_bytes"], 64);
  EXPECT_EQ(a["claimed_nodes"], 7);
  EXPECT_EQ(a["regions"][1]["nodes"], 3);
  EXPECT_EQ(a["regions"][1]["payload_bytes"], 5);
  EXPECT_EQ(a["refused"][0]["operator"], "aten::neg.out");
  EXPECT_EQ(a["refused"][0]["count"], 2);
  EXPECT_FALSE(out["methods"][1].contains("regions")) << "nothing was asked to take it";
  EXPECT_EQ(out["bytes"]["file"], 99);
  EXPECT_EQ(out["bytes"]["constants"], 10);
  EXPECT_EQ(out["notes"][0], "a note");
  EXPECT_EQ(out["warnings"][0], "a warning");
}

}  // namespace
}  // namespace pteron::compiler
