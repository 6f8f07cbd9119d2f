#include "partition/partition.h"

#include <gtest/gtest.h>

#include <set>

#include "ir/parser.h"
#include "ir/printer.h"
#include "ir/verifier.h"

namespace pteron::partition {
namespace {

// Takes the operators of a list, and keeps the text of each region it compiles.
class TestBackend : public CompileBackend {
 public:
  explicit TestBackend(std::set<ir::Op> ops) : ops_(std::move(ops)) {}
  std::string_view name() const override { return "test"; }
  std::string_view delegate_id() const override { return "TestDelegate"; }
  std::string_view summary() const override { return "for tests"; }
  Result<std::unique_ptr<BackendOptions>> parse_options(std::span<const KeyValue>) const override { return std::make_unique<BackendOptions>(); }
  std::vector<Claim> claim(const ir::Module&, const ir::Graph& graph, const BackendOptions&) const override {
    std::vector<Claim> out;
    for (const ir::Node& node : graph.nodes) out.push_back(ops_.count(node.op) ? Claim{true, ""} : Claim{false, "not in the list"});
    if (short_by_one) out.pop_back();
    return out;
  }
  Result<Payload> compile(const Region& region, const BackendOptions&, NamedDataStore& data) const override {
    EXPECT_TRUE(ir::verify(region.module, region.graph).ok()) << ir::verify(region.module, region.graph).message();
    regions.push_back(ir::print(region.module, region.graph));
    PTERON_TRY(data.add_bytes("shared", {std::byte{1}}));
    return Payload{{std::byte{static_cast<unsigned char>(regions.size())}}, {}, {}};
  }
  mutable std::vector<std::string> regions;
  bool short_by_one = false;

 private:
  std::set<ir::Op> ops_;
};

constexpr const char* kChain = R"(const @w : float32[2] = values [1.0, 2.0]
method @m {
  input %0 "x" user : float32[2]
  %1 : float32[2] = aten::neg.out(%0)
  %2 : float32[2] = aten::tanh.out(%1)
  %3 : float32[2] = aten::mul.out(%1, @w)
  %4 : float32[2] = aten::add.out(%2, %3)
  output %4 "y" user
}
)";

struct Split {
  ir::Module module;
  MethodPartition split;
  NamedDataStore data;
};

Split run(const TestBackend& backend, const char* text) {
  Split out;
  auto module = ir::parse(text);
  EXPECT_TRUE(module.ok()) << module.status().message();
  out.module = std::move(*module);
  auto split = partition(out.module, out.module.methods[0], backend, BackendOptions(), out.data);
  EXPECT_TRUE(split.ok()) << split.status().message();
  out.split = std::move(*split);
  EXPECT_TRUE(ir::verify(out.module).ok()) << ir::verify(out.module).message();
  return out;
}

TEST(Partition, NothingClaimedLeavesTheGraphAndSaysWhy) {
  TestBackend backend({});
  const Split r = run(backend, kChain);
  EXPECT_EQ(*ir::print(r.module), kChain);
  EXPECT_TRUE(r.split.delegates.empty());
  ASSERT_EQ(r.split.refused.size(), 4u);
  EXPECT_EQ(r.split.refused[0].op, "aten::neg.out");
  EXPECT_EQ(r.split.refused[0].reason, "not in the list");
}

TEST(Partition, EverythingClaimedIsOneRegion) {
  TestBackend backend({ir::Op::aten_neg, ir::Op::aten_tanh, ir::Op::aten_mul, ir::Op::aten_add});
  const Split r = run(backend, kChain);
  EXPECT_EQ(ir::print(r.module, r.module.methods[0]), R"(method @m {
  input %0 "x" user : float32[2]
  %1 : float32[2] = pteron::delegate([%0], index=0, mutates=[], aliases=[-1])
  output %1 "y" user
}
)");
  ASSERT_EQ(backend.regions.size(), 1u);
  EXPECT_NE(backend.regions[0].find("aten::mul.out(%1, @w)"), std::string::npos) << backend.regions[0];
  EXPECT_EQ(r.split.taken, 4);
  EXPECT_EQ(r.split.region_nodes, std::vector<int64_t>{4});
  EXPECT_EQ(r.split.delegates[0].id, "TestDelegate");
}

// neg and add are claimed, what lies between only in part: add must not be in neg's region, or the region would wait for itself.
TEST(Partition, RegionsAreConvex) {
  TestBackend backend({ir::Op::aten_neg, ir::Op::aten_mul, ir::Op::aten_add});
  const Split r = run(backend, kChain);
  EXPECT_EQ(ir::print(r.module, r.module.methods[0]), R"(method @m {
  input %0 "x" user : float32[2]
  %1 : float32[2], %2 : float32[2] = pteron::delegate([%0], index=0, mutates=[], aliases=[-1, -1])
  %3 : float32[2] = aten::tanh.out(%1)
  %4 : float32[2] = pteron::delegate([%3, %2], index=1, mutates=[], aliases=[-1])
  output %4 "y" user
}
)");
  EXPECT_EQ(backend.regions.size(), 2u);
}

constexpr const char* kCache = R"(method @m {
  input %0 "k" key_cache layer=0 : float32[1,1,4,2]
  input %1 "rows" user : float32[1,1,1,2]
  input %2 "positions" position_ids : int64[1,1]
  %3 : float32[1,1,4,2] = pteron::cache_write(%0, %1, %2)
  %4 : float32[1,1,4,2] = aten::neg.out(%3)
  %5 : float32[1,1,4,2] = aten::tanh.out(%4)
  output %5 "y" user
  output %3 "k_state" key_state layer=0 alias=0
}
)";

TEST(Partition, CacheWritesInsideARegionHappenInPlace) {
  TestBackend backend({ir::Op::cache_write, ir::Op::aten_neg});
  const Split r = run(backend, kCache);
  EXPECT_EQ(ir::print(r.module, r.module.methods[0]), R"(method @m {
  input %0 "k" key_cache layer=0 : float32[1,1,4,2]
  input %1 "rows" user : float32[1,1,1,2]
  input %2 "positions" position_ids : int64[1,1]
  %3 : float32[1,1,4,2], %4 : float32[1,1,4,2] = pteron::delegate([%0, %1, %2], index=0, mutates=[0], aliases=[0, -1])
  %5 : float32[1,1,4,2] = aten::tanh.out(%4)
  output %5 "y" user
  output %3 "k_state" key_state layer=0 alias=0
}
)");
  EXPECT_NE(backend.regions[0].find("key_cache layer=0"), std::string::npos) << "inputs keep their roles: " << backend.regions[0];
  EXPECT_NE(backend.regions[0].find("key_state layer=0 alias=0"), std::string::npos) << backend.regions[0];
}

TEST(Partition, AWriteWhoseOldValueIsReadStaysOutside) {
  TestBackend backend({ir::Op::cache_write, ir::Op::aten_neg, ir::Op::aten_tanh});
  std::string text = kCache;
  text.replace(text.find("aten::tanh.out(%4)"), 18, "aten::tanh.out(%0)");
  text.replace(text.find("output %5 \"y\""), 13, "output %4 \"a\" user\n  output %5 \"y\"");
  const Split r = run(backend, text.c_str());
  EXPECT_NE(ir::print(r.module, r.module.methods[0]).find("cache_write"), std::string::npos);
  EXPECT_EQ(r.split.refused[0].reason, "the cache is read before the write too");
}

TEST(Partition, ABackendMustAnswerForEachNode) {
  TestBackend backend({});
  backend.short_by_one = true;
  auto module = ir::parse(kChain);
  NamedDataStore data;
  EXPECT_FALSE(partition(*module, module->methods[0], backend, BackendOptions(), data).ok());
}

}  // namespace
}  // namespace pteron::partition
